"""The writes that end a job: the row's terminal state, its receipt and its event, always in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from service import metrics
from service.domain import audit
from service.domain.failures import Failure
from service.domain.lease import TracingLease
from service.domain.movie import Movie
from service.store.expressions import Condition
from service.store.schema import RECEIPTS
from service.store.stores import Stores
from service.store.table import TransactionRefused, Write


def end_event(
    stores: Stores,
    movie: Movie,
    job: TracingLease,
    now: int,
    *,
    acting_user_id: str | None = None,
    failure: Failure | None = None,
    frames: int | None = None,
) -> Write:
    """The one completed or failed event of a job."""
    fields: dict[str, Any] = {"elapsed_seconds": max(0, now - job.started_at), "frames": frames}
    if failure is not None:
        fields |= {"error_type": failure.code, "error_summary": failure.summary}
    return stores.audit.event_write(
        audit.event(
            stores.ids.log_id(now),
            audit.ENDED[job.kind, failure is None],
            now,
            user_id=acting_user_id or job.user_id,
            movie_id=movie.movie_id,
            course_id=movie.course_id,
            trace_job_id=job.job_id,
            attempt=job.attempt,
            **fields,
        )
    )


async def commit_end(stores: Stores, writes: Sequence[Write]) -> None:
    """Commit writes that end a job. Raises as Stores.transact does.

    A receipt that was purged with its user holds nothing up: there is no state left to end, but the movie goes on.
    """
    try:
        await stores.transact(writes)
    except TransactionRefused as refusal:
        purged = {i for i, row in refusal.refused.items() if row is None and writes[i].table == RECEIPTS}
        if purged != set(refusal.refused):
            raise
        await stores.transact([write for i, write in enumerate(writes) if i not in purged])


def count_end(job: TracingLease, failure: Failure | None = None) -> None:
    """Count a job that has just ended, after the transaction that says so was made here."""
    metrics.JOBS_ENDED.labels(kind=job.kind, result=failure.code if failure else "completed").inc()


def replaced_writes(stores: Stores, movie: Movie, job: TracingLease, failure: Failure, now: int) -> list[Write]:
    """Receipt and event of a job whose lease the same transaction removes from the row by another write."""
    return [
        stores.receipts.failed_write(job.receipt_id, job.job_id, failure, now),
        end_event(stores, movie, job, now, failure=failure),
    ]


def failed_writes(
    stores: Stores,
    movie: Movie,
    job: TracingLease,
    failure: Failure,
    now: int,
    condition: Condition,
    acting_user_id: str | None = None,
) -> list[Write]:
    """End a job without a result, under `condition` on the row."""
    return [
        stores.movies.failed_write(movie.movie_id, job.kind, failure, now, condition),
        stores.receipts.failed_write(job.receipt_id, job.job_id, failure, now),
        end_event(stores, movie, job, now, acting_user_id=acting_user_id, failure=failure),
    ]


def completed_writes(
    stores: Stores,
    movie: Movie,
    job: TracingLease,
    row_write: Write,
    result: Mapping[str, Any],
    frames: int,
    now: int,
) -> list[Write]:
    """Publish a result: `row_write` carries the fence."""
    return [
        row_write,
        stores.receipts.done_write(job.receipt_id, job.job_id, result, now),
        end_event(stores, movie, job, now, frames=frames),
    ]
