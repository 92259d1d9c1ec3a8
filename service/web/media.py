"""Pictures and files of a movie."""

from __future__ import annotations

from flask import Blueprint, Response, redirect

from service.domain.errors import FrameNotFound, NotFound
from service.domain.movie import Movie
from service.store.objects import ObjectMissing
from service.usecases.frame_archive import picture
from service.usecases.read_movie import links
from service.web.auth import caller, reachable
from service.web.context import polled_movie, stores, web
from service.web.render import fingerprint, revalidated, said, unchanged
from service.web.schemas import FramePicture, MovieData, OfMovie, parsed

media = Blueprint("media", __name__, url_prefix="/resize-api/v1")

_LINK = {"zip": "movie_zipfile_url", "redirect": "movie_data_url"}


class FileNotThere(NotFound):
    """This movie has no such file yet."""

    code = "file_not_found"


@media.get("/first-frame")
async def first_frame() -> Response:
    actor, asked = await caller(), parsed(OfMovie)
    movie = await polled_movie(actor, asked.movie_id, asked.course_id)
    return await _picture(movie, 0)


@media.get("/frame")
async def frame() -> Response:
    actor, asked = await caller(), parsed(FramePicture)
    movie = await polled_movie(actor, asked.movie_id, asked.course_id)
    return await _picture(movie, asked.frame_number)


async def _picture(movie: Movie, number: int) -> Response:
    """One JPEG. Its archive never changes, so a kept picture is good as long as the movie names that archive."""
    tag = fingerprint(movie.row.get("movie_zipfile_urn"), number)
    same = unchanged(tag)
    if same is not None:
        return same
    try:
        data = await picture(stores(), web().runtime.directories, movie, number)
    except ObjectMissing:
        raise FrameNotFound(frame=number) from None
    return revalidated(Response(data, mimetype="image/jpeg"), tag)


@media.get("/movie-data")
async def movie_data() -> Response:
    """`json`: all signed links; `redirect`: to the movie as it was uploaded; `zip`: to the archive of its frames."""
    actor, asked = await caller(), parsed(MovieData)
    movie = await polled_movie(actor, asked.movie_id, asked.course_id)
    found = {name: reachable(link) for name, link in (await links(stores(), movie)).items()}
    if asked.format == "json":
        return said(movie_id=movie.movie_id, **found)
    name = _LINK[asked.format]
    if name not in found:
        raise FileNotThere
    answer = redirect(found[name])
    answer.headers["Cache-Control"] = "no-store"
    assert isinstance(answer, Response)
    return answer
