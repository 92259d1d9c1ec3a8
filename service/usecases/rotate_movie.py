"""Turn a movie upright: one transaction that clears its tracing and admits a fresh inspection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from service.domain.access import Actor, check_edit
from service.domain.errors import (
    BeingTraced,
    Conflict,
    EditedMeanwhile,
    InvalidParameter,
    KeyReused,
    LeaseLost,
    LeaseRequired,
    MovieDeleted,
    MovieNotFound,
    NotReady,
    OutcomeUnknown,
)
from service.domain.failures import WORKER_LOST, Failure
from service.domain.movie import Hidden, Movie, condition, hide, movie_from_row
from service.domain.receipt import UNSAID, Intent, Receipt, Sender
from service.store import conditions as when
from service.store.objects import Stored
from service.store.stores import Stores
from service.store.table import Change, TransactionRefused, Write
from service.usecases.end_job import commit_end, count_end, replaced_writes
from service.usecases.start_job import announce, queued_lease, start_event
from service.usecases.upload_movie import inspection_inputs, inspection_receipt

ROTATIONS = (0, 90, 180, 270)
_RESULTS = ("results_job_id", "results_plan_version", "movie_traced_urn")


class SourceMissing(Conflict):
    """The file of this movie cannot be read again, so it cannot be turned. Upload it once more."""

    code = "source_missing"


async def rotate(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    lease_id: str | None,
    rotation: int,
    *,
    course_id: str | None = None,
    intent: Intent | None = None,
    ipaddr: str | None = None,
    sender: Sender = UNSAID,
) -> Movie:
    """Show the movie turned by `rotation` degrees clockwise from how the file lies.

    Markers go, since their places mean nothing in the turned picture. The caller's editing lease becomes the lease of
    an inspection, which makes the archive and first frame anew; until that has ended the movie reads as `processing`.
    A movie that lies that way already is left alone, and so is one that this very `intent` has turned before: the
    inspection's receipt carries its request key. Raises InvalidParameter, MovieNotFound, NoRight, KeyReused,
    LeaseRequired, LeaseLost, BeingTraced, MovieDeleted, NotReady, SourceMissing, Unavailable.
    """
    if rotation not in ROTATIONS:
        raise InvalidParameter("rotation", "must be 0, 90, 180 or 270")
    for _ in range(4):
        movie = check_edit(actor, await stores.movies.get(movie_id), course_id)
        now = stores.clock.now()
        if intent and await _turned_before(stores, intent, now):
            return await stores.movies.get(movie_id) or movie
        if not lease_id:
            raise LeaseRequired
        _explain(movie, lease_id, now, stores.policy.max_attempts)
        if movie.rotation == rotation:
            return movie
        inputs = {**inspection_inputs(movie, await _source(stores, movie)), "rotation": rotation}
        receipt = inspection_receipt(stores, actor, movie, inputs, now, sender, intent)
        if await _admitted(stores, actor, movie, lease_id, receipt, now, ipaddr):
            await announce(stores, movie, receipt, "inspect", sender)
            return await stores.movies.get(movie_id) or movie
    raise EditedMeanwhile


async def _turned_before(stores: Stores, intent: Intent, now: int) -> bool:
    existing = await stores.receipts.get(intent.receipt_id)
    if existing is None or existing.retired(now):
        return False
    if existing.input_digest != intent.digest:
        raise KeyReused
    return True


async def _source(stores: Stores, movie: Movie) -> Stored:
    """The movie's own file. Rows of the older service carry no checksum against which it could be verified."""
    urn = movie.row.get("movie_data_urn")
    found = await stores.objects.head(stores.objects.key_of(urn)) if urn else None
    if found is None or not movie.row.get("movie_data_sha256"):
        raise SourceMissing
    return found


async def _admitted(
    stores: Stores, actor: Actor, movie: Movie, lease_id: str, receipt: Receipt, now: int, ipaddr: str | None
) -> bool:
    """The transaction. False if the row changed meanwhile and it is worth looking again."""
    job = queued_lease(stores, actor, receipt, "inspect", now)
    span = Hidden(0, max(0, movie.total_frames - 1), receipt.job_id, movie.edit_seq, keep_placed=False)
    started = stores.movies.start_write(movie, job, now, when.may_edit_now(lease_id, now), hide(movie.hidden, span))
    writes: list[Write] = [
        _turned(started, movie, receipt.inputs),
        stores.receipts.admit_write(receipt, now),
        start_event(stores, actor, movie, receipt, "movie.inspection.started", now, ipaddr=ipaddr),
        stores.frames.marker_map_write(movie.movie_id, {}),
    ]
    if movie.tracing:
        writes += replaced_writes(stores, movie, movie.tracing, Failure(WORKER_LOST), now)
    try:
        await commit_end(stores, writes)
    except TransactionRefused as refusal:
        if 1 in refusal.refused:
            return False  # this key has its receipt by now: the next round says whose
        if 0 in refusal.refused:
            _explain(_row(refusal.refused[0]), lease_id, now, stores.policy.max_attempts)
        return False
    except OutcomeUnknown:
        after = await stores.movies.get(movie.movie_id)
        if not (after and after.tracing and after.tracing.job_id == receipt.job_id):
            raise
    if movie.tracing:
        count_end(movie.tracing, Failure(WORKER_LOST))
    return True


def _turned(started: Change, movie: Movie, inputs: Mapping[str, Any]) -> Change:
    """The start of the inspection, with what turning changes on the row in the same write."""
    changed = {
        "rotation": inputs["rotation"],
        "edit_seq": movie.edit_seq + 1,
        "needs_retracing": 1,
        "last_frame_tracked": 0,
    }
    update = replace(started.update, set={**started.update.set, **changed}, remove=(*started.update.remove, *_RESULTS))
    return replace(started, update=update)


def _row(row: Mapping[str, Any] | None) -> Movie:
    if row is None:
        raise MovieNotFound
    return movie_from_row(row)


def _explain(movie: Movie, lease_id: str, now: int, max_attempts: int) -> None:
    """Raise what refuses the write, if it is something that looking again cannot cure."""
    if movie.deleted:
        raise MovieDeleted
    if movie.tracing and movie.tracing.live(now):
        if movie.tracing.kind == "trace":
            raise BeingTraced
        raise NotReady(status=movie.status)
    held = movie.analysis
    if not (held and held.lease_id == lease_id and held.live(now)):
        raise LeaseLost
    status = condition(movie, now, max_attempts).status
    if status in ("uploading", "processing", "unusable"):
        raise NotReady(status=status)
