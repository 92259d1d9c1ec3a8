"""A movie as a page polls it: metadata, locks, frames, signed links."""

from __future__ import annotations

import asyncio
from typing import Any

from flask import Blueprint, Response, request

from service.domain.access import Actor
from service.domain.movie import COMPLETED, Movie, condition
from service.store.objects import SIGNED_SECONDS
from service.usecases.read_movie import MAX_FRAMES_AT_ONCE, frames, links, metadata, settled, version
from service.web.auth import caller, reachable
from service.web.compressing import compressed
from service.web.context import polled_movie, stores, web
from service.web.release import RELEASE
from service.web.render import fingerprint, revalidated, said, unchanged
from service.web.schemas import Metadata, parsed

reading = Blueprint("reading", __name__, url_prefix="/api")
_MANY_FRAMES = 50


@reading.route("/get-movie-metadata", methods=["GET", "POST"])
async def get_movie_metadata() -> Response:
    """A GET carries an ETag over all that it tells but the links, which are signed anew each time.

    A kept answer's links must still work, so its tag changes twice in the life of a link. While nothing is written the
    row alone tells that its frames are the same, and they are not read for it.
    """
    actor, asked = await caller(), parsed(Metadata)
    movie = await polled_movie(actor, asked.movie_id, asked.course_id)
    if request.method == "POST":
        return await _told(actor, movie, asked, await _frames(movie, asked))
    now = stores().clock.now()
    calm = settled(movie, now)
    shown = None if calm else await _frames(movie, asked)
    seen = version(stores(), actor, movie, lease_id=asked.analysis_lease_id)
    tag = fingerprint(RELEASE, seen, calm, shown, now // (SIGNED_SECONDS // 2))
    return unchanged(tag) or await _made_once(tag, actor, movie, asked, shown)


async def _made_once(tag: str, actor: Actor, movie: Movie, asked: Metadata, shown: dict[str, Any] | None) -> Response:
    """The answer of this tag, made by whoever needs it first."""
    asks = asked.frame_start, asked.frame_count, asked.get_all_if_tracking_completed
    made = tag, asks, reachable("/")  # links say where we are, as the asker sees us
    body = web().kept.get(made)
    if body is not None:
        return revalidated(Response(body, mimetype="application/json"), tag)
    answer = await _told(actor, movie, asked, await _frames(movie, asked) if shown is None else shown, tag)
    if not answer.content_encoding:
        web().kept.keep(made, answer.get_data())
    return answer


async def _told(
    actor: Actor, movie: Movie, asked: Metadata, shown: dict[str, Any] | None, tag: str | None = None
) -> Response:
    told = metadata(stores(), actor, movie, lease_id=asked.analysis_lease_id)
    told |= {name: reachable(link) for name, link in (await links(stores(), movie)).items()}
    if shown is None:
        return _answer(tag, metadata=told)
    if len(shown) < _MANY_FRAMES:
        return _answer(tag, metadata=told, frames=shown)
    return await asyncio.to_thread(_answer, tag, metadata=told, frames=shown)  # polls do not wait for it


def _answer(tag: str | None, **told: Any) -> Response:
    answer = said(**told)
    return compressed(revalidated(answer, tag) if tag else answer)


async def _frames(movie: Movie, asked: Metadata) -> dict[str, Any] | None:
    """The frames asked for, if any were."""
    if asked.frame_start is not None and asked.frame_count is not None:
        return await frames(stores(), movie, asked.frame_start, asked.frame_count)
    if asked.get_all_if_tracking_completed:
        status = condition(movie, stores().clock.now(), stores().policy.max_attempts).status
        if status == COMPLETED:
            return await frames(stores(), movie, 0, min(max(1, movie.total_frames), MAX_FRAMES_AT_ONCE))
    return None
