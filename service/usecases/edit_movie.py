"""What a person changes about a movie. Every write is fenced by the live analysis lease, inside the same write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.domain.access import Actor, check_edit
from service.domain.errors import (
    BeingTraced,
    EditedMeanwhile,
    FrameNotFound,
    InvalidParameter,
    LeaseLost,
    LeaseRequired,
    MovieDeleted,
    NotReady,
    OutcomeUnknown,
    TiptraceError,
)
from service.domain.markers import MARKER_MAP, MarkerMap, checked_points, renamed, unmoved_kept
from service.domain.movie import Hidden, Movie, condition, frame_shows, hidden_row, hide, movie_from_row
from service.domain.receipt import Intent
from service.store import conditions as when
from service.store.expressions import Update
from service.store.stores import Stores
from service.store.table import Item, TransactionRefused, Write
from service.usecases.known_markers import known_markers

_ROUNDS = 4
Frames = Mapping[int, Item | None]
"""Items of a movie by frame number, None where there is none."""
Plan = Callable[[Movie, Frames], Awaitable[tuple[Update, list[Write]]]]
"""Given the row as it is now and what was asked to be read with it: what to change on the row, and what else to write
in the same transaction."""


async def put_frame_trackpoints(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    lease_id: str | None,
    frame_number: int,
    trackpoints: Any,
    *,
    course_id: str | None = None,
    intent: Intent | None = None,
) -> Movie:
    """Replace one frame's whole set of points; those that moved count as placed. Later frames need tracing again.

    The frame and the markers are read together with the row, so either may be older than it. Hence nothing is
    written unless both are still what was read.
    """

    async def plan(movie: Movie, read: Frames) -> tuple[Update, list[Write]]:
        if not 0 <= frame_number < max(1, movie.total_frames):
            raise FrameNotFound(frame=frame_number)
        stored, map_item = read[frame_number], read[MARKER_MAP]
        held: MarkerMap = dict(map_item["markers"]) if map_item else {}
        known, unwritten = await known_markers(stores, movie, held)
        sent, labels = checked_points(trackpoints, known, stores.ids.token)
        points = unmoved_kept(sent, frame_shows(movie, stored, known)) if stored else sent
        time = stored.get("time") if stored else None  # a frame keeps its timestamp
        seq = movie.edit_seq + 1
        same, same_map = when.frame_is_as_read(stored), when.frame_is_as_read(map_item)
        writes: list[Write] = [stores.frames.placed_write(movie_id, frame_number, points, seq, time, same)]
        if labels != known or unwritten:
            writes.append(stores.frames.marker_map_write(movie_id, labels, seq, same_map))
        else:
            writes.append(stores.frames.marker_map_check(movie_id, same_map))
        return Update(set={"needs_retracing": 1}), writes

    edit = _Edit(stores, actor, movie_id, lease_id, course_id, intent)
    return await edit.made(plan, reads=(frame_number, MARKER_MAP))


async def set_trim(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    lease_id: str | None,
    *,
    start: int | None = None,
    end: int | None = None,
    course_id: str | None = None,
    intent: Intent | None = None,
) -> Movie:
    """Move one end of the trim, bounds inclusive. A start on a frame without markers takes the old start's along."""
    if (start is None) == (end is None):
        raise InvalidParameter("trim_start_frame", "send exactly one of trim_start_frame and trim_end_frame")

    async def plan(movie: Movie, _frames: Frames) -> tuple[Update, list[Write]]:
        first = movie.trim_start if start is None else start
        last = movie.trim_end if end is None else end
        if not 0 <= first <= last < movie.total_frames:
            name = "trim_start_frame" if end is None else "trim_end_frame"
            raise InvalidParameter(name, f"needs 0 <= start <= end < {movie.total_frames}")
        writes: list[Write] = []
        if start is not None and start != movie.trim_start:
            writes = await _seed_new_start(stores, movie, start)
        changed = {"trim_start_frame": first} if end is None else {"trim_end_frame": last}
        return Update(set=changed), writes

    return await _Edit(stores, actor, movie_id, lease_id, course_id, intent).made(plan)


async def _seed_new_start(stores: Stores, movie: Movie, start: int) -> list[Write]:
    stored = await stores.frames.get(movie.movie_id, start)
    if stored and frame_shows(movie, stored):
        return []
    labels, unwritten = await known_markers(stores, movie)
    old = await stores.frames.get(movie.movie_id, movie.trim_start)
    points = frame_shows(movie, old, labels) if old else []
    if not points:
        return []
    placed = [{**point, "placed": "user", "status": 1, "err": 0.0} for point in points]
    time = stored.get("time") if stored else None
    return [stores.frames.placed_write(movie.movie_id, start, placed, movie.edit_seq + 1, time), *unwritten]


async def set_fpm(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    lease_id: str | None,
    fpm: float,
    *,
    course_id: str | None = None,
    intent: Intent | None = None,
) -> Movie:
    """The capture interval as frames per minute, 0 < fpm <= 6000. Nothing has to be traced again."""
    if not 0 < fpm <= 6000:
        raise InvalidParameter("fpm", "must be above 0 and at most 6000 frames per minute")

    async def plan(movie: Movie, _frames: Frames) -> tuple[Update, list[Write]]:
        return Update(set={"fpm": f"{fpm:.10g}"}), []

    return await _Edit(stores, actor, movie_id, lease_id, course_id, intent).made(plan)


async def rename_marker(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    lease_id: str | None,
    old_label: str,
    new_label: str,
    *,
    course_id: str | None = None,
    intent: Intent | None = None,
) -> Movie:
    """One write to the marker map: frames name markers by id, so the new name shows everywhere at once."""

    async def plan(movie: Movie, _frames: Frames) -> tuple[Update, list[Write]]:
        known, _ = await known_markers(stores, movie)
        labels = renamed(known, old_label, new_label)
        return Update(), [stores.frames.marker_map_write(movie_id, labels, movie.edit_seq + 1)]

    return await _Edit(stores, actor, movie_id, lease_id, course_id, intent).made(plan)


async def reset_tracing(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    lease_id: str | None,
    *,
    course_id: str | None = None,
    intent: Intent | None = None,
) -> Movie:
    """Clear all frames but the first of the trim, logically, in one write."""

    async def plan(movie: Movie, _frames: Frames) -> tuple[Update, list[Write]]:
        # A token of its own hides every stored frame; the next trace's worker cleans them.
        span = Hidden(0, max(0, movie.total_frames - 1), stores.ids.token(), movie.edit_seq, keep_placed=False)
        writes: list[Write] = []
        kept = await stores.frames.get(movie_id, movie.trim_start)
        if kept:
            labels, writes = await known_markers(stores, movie)
            points = frame_shows(movie, kept, labels)
            if points:
                seq = movie.edit_seq + 1
                writes.append(stores.frames.placed_write(movie_id, movie.trim_start, points, seq, kept.get("time")))
        hidden = {
            **hidden_row(hide(movie.hidden, span)),
            "last_frame_tracked": movie.trim_start,
            "needs_retracing": 1,
            "status": "ready",
        }
        gone = ("results_job_id", "movie_traced_urn", "failure_code", "tracing_failure_summary", "tracing_failed_at")
        return Update(set=hidden, remove=gone), writes

    return await _Edit(stores, actor, movie_id, lease_id, course_id, intent).made(plan)


@dataclass(frozen=True, slots=True)
class _Edit:
    """One edit of one page, which makes it or learns why not."""

    stores: Stores
    actor: Actor
    movie_id: str
    lease_id: str | None
    course_id: str | None
    intent: Intent | None

    async def made(self, plan: Plan, reads: Sequence[int] = ()) -> Movie:
        """Plan and commit the edit; with an `intent`, once however often it arrives. `reads`: what `plan` is given.

        A page that got no answer may send its edit again: until another edit follows it changes nothing, whoever holds
        the lease by then. A refusal is looked at twice, since what refuses may be this very edit, made by its other
        arrival. Raises what `_committed` does.
        """
        try:
            return await self._committed(plan, reads)
        except TiptraceError:
            if self.intent is None:
                raise
            movie = await self.stores.movies.get(self.movie_id)
            after = check_edit(self.actor, movie, self.course_id)  # who may no longer edit learns nothing
            if not self.intent.made(after.row):
                raise
            return after

    async def _committed(self, plan: Plan, reads: Sequence[int]) -> Movie:
        """Commit the edit; look again if the same page's other edit came first.

        Raises MovieNotFound, NoRight, KeyReused, LeaseRequired, LeaseLost, BeingTraced, MovieDeleted, NotReady,
        Unavailable, and what `plan` raises. After a lost reply the row tells by the edit's own id whether it was made:
        its counter alone could have been moved by another edit of the same page.
        """
        stores, intent = self.stores, self.intent
        edit_id = intent.edit_id if intent else stores.ids.token()
        for _ in range(_ROUNDS):
            found, read = await self._read(reads)
            movie = check_edit(self.actor, found, self.course_id)
            if intent and intent.made(movie.row):
                return movie
            now = stores.clock.now()
            if not self.lease_id:
                raise LeaseRequired
            _explain(movie, self.lease_id, now, stores.policy.max_attempts)
            update, writes = await plan(movie, read)
            try:
                await stores.transact([stores.movies.edit_write(movie, self.lease_id, now, update, edit_id), *writes])
            except TransactionRefused:
                continue
            except OutcomeUnknown:
                after = await stores.movies.get(self.movie_id)
                if after is None or after.row.get("edit_id") != edit_id:
                    raise
            changed = {**movie.row, **update.set, "edit_seq": movie.edit_seq + 1, "edit_id": edit_id}
            return _as_edited(changed, update.remove)
        raise EditedMeanwhile

    async def _read(self, numbers: Sequence[int]) -> tuple[Movie | None, Frames]:
        if not numbers:
            return await self.stores.movies.get(self.movie_id), {}
        return await self.stores.with_frames(self.movie_id, numbers)


def _as_edited(row: Mapping[str, Any], removed: Sequence[str]) -> Movie:
    return movie_from_row({name: value for name, value in row.items() if name not in removed})


def _holds(movie: Movie, lease_id: str) -> bool:
    return movie.analysis is not None and movie.analysis.lease_id == lease_id


def _explain(movie: Movie, lease_id: str, now: int, max_attempts: int) -> None:
    """Refuse early, with the right words, what the write's own condition would refuse."""
    if movie.deleted:
        raise MovieDeleted
    if movie.tracing and movie.tracing.live(now):
        raise BeingTraced
    if not (_holds(movie, lease_id) and movie.analysis and movie.analysis.live(now)):
        raise LeaseLost
    status = condition(movie, now, max_attempts).status
    if status in ("uploading", "processing", "unusable"):
        raise NotReady(status=status)
