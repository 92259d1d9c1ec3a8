"""What a reader is told about a movie: the truth derived from its leases, without any token."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from service.domain.access import Actor, check_read, may_edit
from service.domain.attachment import called_after
from service.domain.errors import InvalidParameter
from service.domain.markers import MarkerMap, default_points, shown_point, with_markers_of
from service.domain.movie import FAILED, Movie, condition, frame_shows
from service.store.movies import ANALYSIS, HIDDEN, JOB
from service.store.stores import Stores
from service.usecases.known_markers import known_markers

MAX_FRAMES_AT_ONCE = 10_000
POINTS_AT_ONCE = 500
"""Trackpoints that an export reads at once. Taking a reply of the database apart holds the loop, about 50 µs a point,
and making it the embedded database, several times that; polls wait for both."""
_INTERNAL = frozenset(
    {
        *ANALYSIS,
        *JOB,
        *HIDDEN,
        "movie_data_sha256",
        "upload_receipt_id",
        "edit_id",
        "former_edit_ids",
        "first_frame_urn",
    }
)
SETTLED_SECONDS = 5
_WRITTEN = ("last_activity_at", "tracing_heartbeat_at", "created_at")
LINKS = {
    "movie_data_urn": "movie_data_url",
    "movie_zipfile_urn": "movie_zipfile_url",
    "movie_traced_urn": "movie_traced_url",
}


async def readable(
    stores: Stores, actor: Actor, movie_id: str, *, course_id: str | None = None, consistent: bool = False
) -> Movie:
    """A movie that this person may see; polls need not read consistently. Raises as check_read does."""
    return check_read(actor, await stores.movies.get(movie_id, consistent=consistent), course_id)


def metadata(stores: Stores, actor: Actor, movie: Movie, *, lease_id: str | None = None) -> dict[str, Any]:
    """The contract's `metadata`: the row without tokens, with derived status, locks and defaults."""
    now = stores.clock.now()
    told = condition(movie, now, stores.policy.max_attempts)
    row = {name: value for name, value in movie.row.items() if name not in _INTERNAL}
    row |= {
        "status": told.status,
        "can_edit": may_edit(actor, movie) and not movie.deleted,
        "can_take_over": actor.administers(movie.course_id) and not movie.deleted,
        "trim_start_frame": movie.trim_start,
        "trim_end_frame": movie.trim_end,
        "rotation": movie.rotation,
        "needs_retracing": bool(movie.row.get("needs_retracing")),
        "edit_seq": movie.edit_seq,
    }
    for name in ("failure_code", "tracing_failure_summary", "status_reason"):
        row.pop(name, None)
    if told.failure_code:
        row["failure_code"] = told.failure_code
        row["tracing_failure_summary" if told.status == FAILED else "status_reason"] = told.failure_summary
        row["resuming"] = told.resuming
    elif told.resuming:
        row["resuming"] = True
    lock = tracking_lock(movie, now)
    if lock:
        row["tracking_lock"] = lock
    held = analysis_lock(movie, now, actor, lease_id)
    if held:
        row["analysis_lock"] = held
    if "frame_width" not in row and row.get("width") and row.get("height"):
        row["frame_width"], row["frame_height"] = movie.frame_size
    return row


def version(stores: Stores, actor: Actor, movie: Movie, *, lease_id: str | None = None) -> str:
    """A short hash that changes whenever `metadata` of the same arguments does: of the row and of what is derived.

    Two people to whom the same is told have the same version.
    """
    now = stores.clock.now()
    job, held = movie.tracing, movie.analysis
    derived = (
        condition(movie, now, stores.policy.max_attempts),
        may_edit(actor, movie),
        actor.administers(movie.course_id),
        job is not None and job.live(now),
        held is not None and held.live(now) and (held.user_id == actor.user_id, held.lease_id == lease_id),
    )
    return hashlib.sha256(repr((movie.row, derived)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def settled(movie: Movie, now: int) -> bool:
    """Has nothing been written for so long that whoever reads any part of the movie now reads what this row knows?

    Every write of a frame writes the row in the same transaction. Readers read eventually, each part by itself, so
    shortly after a write they may see the new row beside an old frame.
    """
    return all(int(movie.row.get(name) or 0) <= now - SETTLED_SECONDS for name in _WRITTEN)


def tracking_lock(movie: Movie, now: int) -> dict[str, Any] | None:
    """Who traces the movie and how far it is; None if no job is live. The job id is a name, not a credential.

    `backward_frame` is there while a retrace between placed frames makes its first pass, from the last of them down.
    """
    job = movie.tracing
    if job is None or not job.live(now):
        return None
    backward = movie.row.get("tracing_backward_frame")
    passing = {} if backward is None else {"backward_frame": int(backward)}
    if "tracing_frame_end" in movie.row:
        passing |= {
            "frame_start": int(movie.row["tracing_frame_start"]),
            "frame_end": int(movie.row["tracing_frame_end"]),
        }
    return {
        **passing,
        "active": True,
        "kind": job.kind,
        "state": job.state,
        "job_id": job.job_id,
        "attempt": job.attempt,
        "acquired_at": job.started_at,
        "expires_at": job.expires_at,
        "started_by_user_name": job.user_name,
        "last_frame_tracked": int(movie.row.get("last_frame_tracked") or 0),
        "total_frames": movie.total_frames,
    }


def analysis_lock(movie: Movie, now: int, actor: Actor, lease_id: str | None = None) -> dict[str, Any] | None:
    """Who edits the movie; None if nobody does. `owned`: the caller showed the live token; `own_user`: it is his."""
    held = movie.analysis
    if held is None or not held.live(now):
        return None
    return {
        "active": True,
        "owned": lease_id is not None and held.lease_id == lease_id,
        "own_user": held.user_id == actor.user_id,
        "acquired_at": held.started_at,
        "expires_at": held.expires_at,
        "started_by_user_name": held.user_name,
    }


async def links(stores: Stores, movie: Movie) -> dict[str, str]:
    """Signed links to what exists. The labelled movie is saved under the movie's title; a player plays it as well."""
    named = {"movie_traced_urn": called_after(movie.row.get("title"), "traced.mp4")}
    return {
        url_name: await stores.objects.link(stores.objects.key_of(urn), disposition=named.get(urn_name))
        for urn_name, url_name in LINKS.items()
        if (urn := movie.row.get(urn_name))
    }


async def frames(stores: Stores, movie: Movie, first: int, count: int) -> dict[str, dict[str, Any]]:
    """`count` frames from `first`: {"n": {"markers": [...]}}. An untouched movie shows its default markers."""
    if first < 0 or not 1 <= count <= MAX_FRAMES_AT_ONCE:
        raise InvalidParameter("frame_count", f"must be between 1 and {MAX_FRAMES_AT_ONCE}, from a frame >= 0")
    labels, window = await asyncio.gather(
        stores.frames.markers(movie.movie_id, consistent=False),
        stores.frames.window(movie.movie_id, first, first + count - 1),
    )
    known = labels
    found: dict[str, dict[str, Any]] = {}
    for item in window:
        shown, known = shown_frame(movie, item, known)
        if shown["markers"]:
            found[str(item["frame_number"])] = shown
    if not labels and movie.trim_start not in map(int, found) and first <= movie.trim_start < first + count:
        points = [shown_point(p, {}, movie.trim_start) for p in default_points(movie.frame_height)]
        found[str(movie.trim_start)] = {"markers": points, "untouched": True}
    return found


def shown_frame(movie: Movie, item: Mapping[str, Any], labels: MarkerMap) -> tuple[dict[str, Any], MarkerMap]:
    """The frame as it is told, and the marker map with what label-only points added to it: a colour for each."""
    number = item["frame_number"]
    points = frame_shows(movie, item, labels)
    labels = with_markers_of(points, labels)
    shown: dict[str, Any] = {"markers": [shown_point(point, labels, number) for point in points]}
    if item.get("time") is not None:
        shown["time"] = item["time"]
    return shown, labels


async def trackpoints(stores: Stores, movie: Movie) -> AsyncIterator[dict[str, Any]]:
    """Every visible trackpoint inside the trim, in frame order, as they come from the store: for exports."""
    labels = await stores.frames.markers(movie.movie_id, consistent=False)
    async for item in _stored_frames(stores, movie, max(10, POINTS_AT_ONCE // max(1, len(labels)))):
        await asyncio.sleep(0)  # others' turn
        shown, labels = shown_frame(movie, item, labels)
        time = shown.get("time")
        for point in shown["markers"]:
            yield point if time is None else {**point, "time": time}


async def _stored_frames(stores: Stores, movie: Movie, page: int) -> AsyncIterator[Mapping[str, Any]]:
    """The frames inside the trim, `page` at a time. A traced movie has nearly all of them, another one few."""
    if "last_frame_tracked" not in movie.row:
        async for item in stores.frames.span(movie.movie_id, movie.trim_start, movie.trim_end, page=page):
            yield item
        return
    for first in range(movie.trim_start, movie.trim_end + 1, page):
        for item in await stores.frames.numbered(movie.movie_id, range(first, min(first + page, movie.trim_end + 1))):
            yield item


async def marker_reach(stores: Stores, movie: Movie, label: str) -> int:
    """In how many frames a reader sees the marker of this label."""
    labels, _ = await known_markers(stores, movie)
    wanted = {marker for marker, entry in labels.items() if entry.get("label") == label}
    count = 0
    async for item in stores.frames.span(movie.movie_id, 0, max(0, movie.total_frames - 1), consistent=True):
        count += any(point["marker_id"] in wanted for point in frame_shows(movie, item, labels))
    return count
