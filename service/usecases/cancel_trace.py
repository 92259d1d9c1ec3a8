"""Stop a trace that waits or runs."""

from __future__ import annotations

from service.domain.access import Actor, check_edit
from service.domain.errors import EditedMeanwhile, NothingToCancel, OutcomeUnknown
from service.domain.failures import CANCELLED, Failure
from service.domain.movie import Movie
from service.store import conditions as when
from service.store.stores import Stores
from service.store.table import TransactionRefused
from service.usecases.end_job import commit_end, count_end, failed_writes


async def cancel(
    stores: Stores, actor: Actor, movie_id: str, *, job_id: str | None = None, course_id: str | None = None
) -> Movie:
    """End the movie's trace as failed, code `cancelled`; the worker's fence stops it. Returns the movie as it was.

    With a `job_id` only that job is ended: a request that arrives late does not stop the next trace. Asking again is
    harmless, since a movie whose last trace was cancelled is left alone. A stale trace that would resume can be
    cancelled too. Raises MovieNotFound, NoRight, NothingToCancel, Unavailable.
    """
    for _ in range(4):
        movie = check_edit(actor, await stores.movies.get(movie_id), course_id)
        job = movie.tracing
        if job is None and movie.row.get("failure_code") == CANCELLED:
            return movie
        if job is None or job.kind != "trace" or job_id not in (None, job.job_id):
            raise NothingToCancel
        now, failure = stores.clock.now(), Failure(CANCELLED)
        writes = failed_writes(
            stores, movie, job, failure, now, when.job_is_named(job.job_id), acting_user_id=actor.user_id
        )
        try:
            await commit_end(stores, writes)
            count_end(job, failure)
            return movie
        except TransactionRefused:
            continue
        except OutcomeUnknown:
            receipt = await stores.receipts.get(job.receipt_id)
            if receipt and receipt.failure_code == CANCELLED and receipt.job_id == job.job_id:
                return movie
            raise
    raise EditedMeanwhile
