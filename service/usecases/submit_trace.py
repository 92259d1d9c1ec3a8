"""Admit a trace, once, however often a lost reply makes the browser ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from service.domain.access import Actor, check_edit
from service.domain.errors import (
    BeingEdited,
    BeingTraced,
    EditedMeanwhile,
    InvalidParameter,
    KeyReused,
    LeaseLost,
    MarkersMissing,
    MovieDeleted,
    MovieNotFound,
    NotReady,
    OutcomeUnknown,
    TooMany,
)
from service.domain.failures import WORKER_LOST, Failure
from service.domain.job import PLAN_VERSION, checked_options
from service.domain.markers import shown_point
from service.domain.movie import (
    COMPLETED,
    FAILED,
    READY,
    TRACING,
    Hidden,
    Movie,
    condition,
    frame_shows,
    hide,
    movie_from_row,
)
from service.domain.receipt import UNSAID, Receipt, Sender, input_digest, receipt_id
from service.store import conditions as when
from service.store.stores import Stores
from service.store.table import TransactionRefused, Write
from service.usecases.end_job import commit_end, count_end, replaced_writes
from service.usecases.known_markers import known_markers
from service.usecases.start_job import accepted_receipt, announce, queued_lease, start_event

log = structlog.get_logger()
_ROUNDS = 4
_MAX_ANCHOR_POINTS = 2_000
_MOST_HIDDEN = 50
"""Traces of other frames each that were ordered and given up before a worker had begun one of them."""


@dataclass(frozen=True, slots=True)
class TraceOrder:
    """What a person asked for. `sent` is the request as it came, without credentials and key; its digest names it."""

    movie_id: str
    request_key: str
    sent: Mapping[str, Any]
    frame_start: int = 0
    frame_end: int | None = None
    analysis_lease_id: str | None = None
    keep_placed: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    course_id: str | None = None
    sender: Sender = UNSAID
    ipaddr: str | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The receipt of the order; `replayed` if it was there before, `retired` if its key had been used long ago."""

    receipt: Receipt
    replayed: bool
    retired: bool = False


async def submit(stores: Stores, actor: Actor, order: TraceOrder) -> Submitted:
    """Start a trace, or return the one that this key started.

    One transaction creates the receipt, replaces the caller's analysis lease by the job's, hides the later frames and
    writes the event. Raises what the contract names: MovieNotFound, NoRight, WrongCourse, KeyReused, NotReady,
    MovieDeleted, MarkersMissing, InvalidParameter, LeaseLost, BeingEdited, BeingTraced, TooMany, Unavailable.
    """
    checked_options(order.options)
    digest = input_digest(order.sent)
    key_id = receipt_id(actor.user_id, order.request_key)
    for _ in range(_ROUNDS):
        movie = check_edit(actor, await stores.movies.get(order.movie_id), order.course_id)
        now = stores.clock.now()
        existing = await stores.receipts.get(key_id)
        if existing and not existing.retired(now):
            return replay(existing, digest)
        _check_ready(stores, movie, now)
        first, last = _frame_range(movie, order)
        inputs, unwritten = await _inputs(stores, movie, order, first, last)
        receipt = accepted_receipt(
            stores,
            actor,
            "trace",
            order.request_key,
            digest,
            movie.movie_id,
            now,
            order.sender,
            inputs,
        )
        if await _admitted(stores, actor, movie, order, receipt, unwritten, now):
            await announce(stores, movie, receipt, "trace", order.sender)
            return Submitted(receipt, replayed=False, retired=existing is not None)
    raise EditedMeanwhile


def replay(existing: Receipt, digest: str) -> Submitted:
    """The same request again, or KeyReused if the key stood for another one."""
    if existing.input_digest != digest:
        raise KeyReused
    names = {"movie_id": existing.movie_id, "job_id": existing.job_id, "request_key": existing.request_key}
    log.info("job.replayed", state=existing.state, **names)
    return Submitted(existing, replayed=True)


def _check_ready(stores: Stores, movie: Movie, now: int) -> None:
    if movie.deleted:
        raise MovieDeleted
    status = condition(movie, now, stores.policy.max_attempts).status
    if status == TRACING:
        raise BeingTraced
    if status not in (READY, COMPLETED, FAILED):
        raise NotReady(status=status)


def _frame_range(movie: Movie, order: TraceOrder) -> tuple[int, int]:
    last_frame = movie.total_frames - 1
    first = order.frame_start
    last = movie.trim_end if order.frame_end is None else order.frame_end
    if not 0 <= first <= last_frame:
        raise InvalidParameter("frame_start", f"must be a frame of the movie, 0 to {last_frame}")
    if not first <= last <= last_frame:
        raise InvalidParameter("frame_end", f"must be between frame_start and {last_frame}")
    return first, last


async def _inputs(
    stores: Stores, movie: Movie, order: TraceOrder, first: int, last: int
) -> tuple[dict[str, Any], list[Write]]:
    """Everything the job needs to know, resolved now: a message that is lost costs nothing.

    Also what must be written with it: the marker map, where the movie has none. Traced frames hold no labels.
    """
    labels, unwritten = await known_markers(stores, movie)
    markers: list[dict[str, Any]] = []
    anchors: dict[str, list[dict[str, Any]]] = {}
    source = await stores.frames.get(movie.movie_id, first)
    if source:
        markers = [shown_point(point, labels, first) for point in frame_shows(movie, source, labels)]
    if not markers:
        raise MarkersMissing(frame=first)
    if order.keep_placed and last > first:
        async for item in stores.frames.span(movie.movie_id, first + 1, last, consistent=True):
            placed = [
                shown_point(p, labels, item["frame_number"])
                for p in frame_shows(movie, item, labels)
                if p.get("placed") == "user"
            ]
            if placed:
                anchors[str(item["frame_number"])] = placed
        if sum(map(len, anchors.values())) > _MAX_ANCHOR_POINTS:
            raise InvalidParameter("keep_placed", f"more than {_MAX_ANCHOR_POINTS} points were placed on later frames")
    inputs = {
        "frame_start": first,
        "frame_end": last,
        "options": dict(order.options),
        "keep_placed": order.keep_placed,
        "markers": markers,
        "anchors": anchors,
        "source": movie.row.get("movie_data_urn", ""),
        "rotation": movie.rotation,
        "plan_version": PLAN_VERSION,
        "inspection_version": int(movie.row.get("inspection_version") or 0),
    }
    return inputs, unwritten


async def _admitted(
    stores: Stores,
    actor: Actor,
    movie: Movie,
    order: TraceOrder,
    receipt: Receipt,
    unwritten: Sequence[Write],
    now: int,
) -> bool:
    """The start transaction. False if something changed meanwhile and it is worth looking again."""
    first, last = receipt.inputs["frame_start"], receipt.inputs["frame_end"]
    spans = hide(movie.hidden, Hidden(first + 1, last, receipt.job_id, movie.edit_seq, order.keep_placed))
    if len(spans) > _MOST_HIDDEN:
        raise TooMany
    job = queued_lease(stores, actor, receipt, "trace", now)
    if order.analysis_lease_id:
        right = when.holds_live_analysis_lease(order.analysis_lease_id, now)
    else:
        right = when.no_live_analysis_lease(now)
    condition = when.can_be_edited() & right
    writes: list[Write] = [
        stores.receipts.admit_write(receipt, now),
        stores.movies.start_write(movie, job, now, condition, spans, (first, last)),
        start_event(
            stores, actor, movie, receipt, "movie.tracing.started", now, ipaddr=order.ipaddr, frames=last - first
        ),
        *unwritten,
    ]
    if movie.tracing:
        writes += replaced_writes(stores, movie, movie.tracing, Failure(WORKER_LOST), now)
    try:
        await commit_end(stores, writes)
    except TransactionRefused as refusal:
        existing = await stores.receipts.get(receipt.receipt_id)
        if existing and not existing.retired(now):
            return False  # the next round replays it, or says that the key was reused
        if 1 in refusal.refused:
            _explain(refusal.refused[1], order.analysis_lease_id, now)
        return False
    except OutcomeUnknown:
        existing = await stores.receipts.get(receipt.receipt_id)
        if existing is None or existing.job_id != receipt.job_id:
            raise
    if movie.tracing:
        count_end(movie.tracing, Failure(WORKER_LOST))
    return True


def _explain(row: Mapping[str, Any] | None, lease_id: str | None, now: int) -> None:
    """Raise what refused the start, if it is something that looking again cannot cure."""
    if row is None:
        raise MovieNotFound
    movie = movie_from_row(row)
    if movie.deleted:
        raise MovieDeleted
    if movie.tracing and movie.tracing.live(now):
        raise BeingTraced
    held = movie.analysis if movie.analysis and movie.analysis.live(now) else None
    if lease_id and (held is None or held.lease_id != lease_id):
        raise LeaseLost
    if not lease_id and held is not None:
        raise BeingEdited(name=held.user_name or "Somebody")
