"""What a person changes about a movie in Analyze. Every one of these writes is fenced by the analysis lease.

A request key is optional here: with one, a page that got no answer may send the same edit again.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from service.domain.access import Actor
from service.domain.markers import checked_label
from service.domain.movie import Movie
from service.usecases import edit_movie
from service.usecases.read_movie import marker_reach, metadata
from service.usecases.rotate_movie import rotate
from service.web import intent
from service.web.auth import caller
from service.web.context import stores
from service.web.render import said
from service.web.schemas import Edit, PutTrackpoints, RenameMarker, Rotate, SetFpm, SetTrim, parsed

editing = Blueprint("editing", __name__, url_prefix="/api")


@editing.post("/put-frame-trackpoints")
async def put_frame_trackpoints() -> Response:
    actor, asked = await caller(), parsed(PutTrackpoints)
    movie = await edit_movie.put_frame_trackpoints(
        stores(),
        actor,
        asked.movie_id,
        asked.analysis_lease_id,
        asked.frame_number,
        asked.trackpoints,
        course_id=asked.course_id,
        intent=intent.of(actor),
    )
    return _edited(actor, movie, asked.analysis_lease_id, frame_number=asked.frame_number)


@editing.post("/rename-marker")
async def rename_marker() -> Response:
    """One write; the two counts say in how many frames and points the new name now shows."""
    actor, asked = await caller(), parsed(RenameMarker)
    movie = await edit_movie.rename_marker(
        stores(),
        actor,
        asked.movie_id,
        asked.analysis_lease_id,
        asked.old_label,
        asked.new_label,
        course_id=asked.course_id,
        intent=intent.of(actor),
    )
    reach = await marker_reach(stores(), movie, checked_label(asked.new_label, "new_label"))
    return _edited(actor, movie, asked.analysis_lease_id, frames_updated=reach, trackpoints_updated=reach)


@editing.post("/reset-movie-tracing")
async def reset_movie_tracing() -> Response:
    actor, asked = await caller(), parsed(Edit)
    movie = await edit_movie.reset_tracing(
        stores(),
        actor,
        asked.movie_id,
        asked.analysis_lease_id,
        course_id=asked.course_id,
        intent=intent.of(actor),
    )
    return _edited(actor, movie, asked.analysis_lease_id)


@editing.post("/set-movie-trim")
async def set_movie_trim() -> Response:
    actor, asked = await caller(), parsed(SetTrim)
    movie = await edit_movie.set_trim(
        stores(),
        actor,
        asked.movie_id,
        asked.analysis_lease_id,
        start=asked.trim_start_frame,
        end=asked.trim_end_frame,
        course_id=asked.course_id,
        intent=intent.of(actor),
    )
    return _edited(actor, movie, asked.analysis_lease_id)


@editing.post("/set-movie-fpm")
async def set_movie_fpm() -> Response:
    actor, asked = await caller(), parsed(SetFpm)
    movie = await edit_movie.set_fpm(
        stores(),
        actor,
        asked.movie_id,
        asked.analysis_lease_id,
        asked.fpm,
        course_id=asked.course_id,
        intent=intent.of(actor),
    )
    return _edited(actor, movie, asked.analysis_lease_id)


@editing.post("/rotate-movie")
async def rotate_movie() -> Response:
    """The page's lease is spent on an inspection; the metadata reads `processing` until that has ended."""
    actor, asked = await caller(), parsed(Rotate)
    movie = await rotate(
        stores(),
        actor,
        asked.movie_id,
        asked.analysis_lease_id,
        asked.rotation,
        course_id=asked.course_id,
        intent=intent.of(actor),
        ipaddr=request.remote_addr,
        sender=intent.sender(),
    )
    return _edited(actor, movie, asked.analysis_lease_id)


def _edited(actor: Actor, movie: Movie, lease_id: str | None, **more: Any) -> Response:
    return said(movie_id=movie.movie_id, metadata=metadata(stores(), actor, movie, lease_id=lease_id), **more)
