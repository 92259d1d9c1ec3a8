"""A movie as a page polls it: metadata, locks, frames, signed links."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from service.domain.access import Actor
from service.domain.movie import COMPLETED, Movie
from service.store.objects import SIGNED_SECONDS
from service.usecases.read_movie import MAX_FRAMES_AT_ONCE, frames, links, metadata
from service.web.auth import caller, reachable
from service.web.context import polled_movie, stores
from service.web.render import fingerprint, revalidated, said, unchanged
from service.web.schemas import Metadata, parsed

reading = Blueprint("reading", __name__, url_prefix="/api")


@reading.route("/get-movie-metadata", methods=["GET", "POST"])
async def get_movie_metadata() -> Response:
    """A GET carries an ETag over all that it tells but the links, which are signed anew each time.

    A kept answer's links must still work, so its tag changes twice in the life of a link.
    """
    actor, asked = await caller(), parsed(Metadata)
    movie = await polled_movie(actor, asked.movie_id, asked.course_id)
    told = await _told(actor, movie, asked)
    if request.method == "POST":
        told["metadata"] |= await _links(movie)
        return said(**told)
    period = stores().clock.now() // (SIGNED_SECONDS // 2)
    tag = fingerprint(told, actor.user_id, period)
    same = unchanged(tag)
    if same is not None:
        return same
    told["metadata"] |= await _links(movie)
    return revalidated(said(**told), tag)


async def _links(movie: Movie) -> dict[str, str]:
    return {name: reachable(link) for name, link in (await links(stores(), movie)).items()}


async def _told(actor: Actor, movie: Movie, asked: Metadata) -> dict[str, Any]:
    told: dict[str, Any] = {"metadata": metadata(stores(), actor, movie, lease_id=asked.analysis_lease_id)}
    if asked.frame_start is not None and asked.frame_count is not None:
        told["frames"] = await frames(stores(), movie, asked.frame_start, asked.frame_count)
    elif asked.get_all_if_tracking_completed and told["metadata"]["status"] == COMPLETED:
        told["frames"] = await frames(stores(), movie, 0, min(max(1, movie.total_frames), MAX_FRAMES_AT_ONCE))
    return told
