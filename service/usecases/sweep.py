"""Announce jobs that nobody announced, end or resume jobs that nobody renews, end uploads that never came.

The sparse index only nominates: every act re-reads the row and is conditional on it, so any number of sweepers may run.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import structlog

from service.domain.errors import Unavailable
from service.domain.failures import CANCELLED, UPLOAD_EXPIRED, WORKER_LOST, Failure
from service.domain.lease import TracingLease
from service.domain.movie import UPLOADING, Movie
from service.store import conditions as when
from service.store.expressions import Condition
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.store.table import ConditionFailed, TransactionRefused, Write
from service.usecases.end_job import commit_end, count_end, failed_writes

log = structlog.get_logger()


@dataclass(slots=True)
class Swept:
    """How many jobs were announced, resumed and ended, and how many uploads expired."""

    announced: int = 0
    resumed: int = 0
    failed: int = 0
    uploads_expired: int = 0


async def sweep(stores: Stores) -> Swept:
    """One pass over all shards. A row that cannot be helped just now is left to the next pass."""
    swept = Swept()
    for shard in stores.movies.shards():
        try:
            nominated = [movie_id async for movie_id in stores.movies.due(shard, stores.clock.now())]
        except Unavailable:
            log.warning("sweep.unavailable", shard=shard)
            continue
        for movie_id in nominated:
            try:
                await _look_at(stores, movie_id, swept)
            except (Unavailable, ConditionFailed, TransactionRefused):
                log.info("sweep.left_to_the_next_pass", movie_id=movie_id)
            except Exception:  # one row that cannot be read must not keep all the others from being helped
                log.exception("sweep.row_failed", movie_id=movie_id)
    return swept


async def _look_at(stores: Stores, movie_id: str, swept: Swept) -> None:
    movie = await stores.movies.get(movie_id)
    if movie is None:
        return
    now = stores.clock.now()
    job = movie.tracing
    if job is None:
        if movie.status == UPLOADING and int(movie.row.get("sweep_due_at") or 0) <= now:
            await _expire_upload(stores, movie, now)
            swept.uploads_expired += 1
    elif movie.deleted and job.kind == "trace" and (job.state == "queued" or not job.live(now)):
        await _end(stores, movie, job, Failure(CANCELLED), now, when.job_is(job))
        swept.failed += 1
    elif job.state == "queued":
        if job.due_at <= now and await stores.movies.announce(movie_id, job, now):
            await stores.queue.send(JobMessage(movie_id, job.job_id, job.attempt), job.kind, movie.turn)
            swept.announced += 1
            log.info("job.announced_again", movie_id=movie_id, job_id=job.job_id, attempt=job.attempt)
    elif not job.live(now):
        if job.resumes(stores.policy.max_attempts):
            await _resume(stores, movie, job, now)
            swept.resumed += 1
        else:
            await _end(stores, movie, job, Failure(WORKER_LOST), now, when.job_is_stale(job, now))
            swept.failed += 1


async def _end(
    stores: Stores, movie: Movie, job: TracingLease, failure: Failure, now: int, condition: Condition
) -> None:
    await commit_end(stores, failed_writes(stores, movie, job, failure, now, condition))
    count_end(job, failure)
    log.warning("job.ended", **await _names(stores, movie, job), outcome="failed", code=failure.code)


async def _names(stores: Stores, movie: Movie, job: TracingLease) -> dict[str, str | None]:
    """By which the job and its request are found in the log; the request's is None if it cannot be read just now."""
    receipt = None
    with suppress(Unavailable):
        receipt = await stores.receipts.get(job.receipt_id)
    return {
        "movie_id": movie.movie_id,
        "job_id": job.job_id,
        "request_key": receipt.request_key if receipt else None,
    }


async def _resume(stores: Stores, movie: Movie, job: TracingLease, now: int) -> None:
    write = stores.movies.requeue_write(
        movie.movie_id, job, now, when.job_is_stale(job, now), failures=job.failures + 1
    )
    await stores.database.write(write)
    log.warning("job.resumed", **await _names(stores, movie, job), attempt=job.attempt + 1)
    await stores.queue.send(JobMessage(movie.movie_id, job.job_id, job.attempt + 1), job.kind, movie.turn)


async def _expire_upload(stores: Stores, movie: Movie, now: int) -> None:
    failure = Failure(UPLOAD_EXPIRED)
    writes: list[Write] = [stores.movies.upload_expired_write(movie.movie_id, failure, now)]
    receipt = await stores.receipts.get(movie.row.get("upload_receipt_id", ""))
    if receipt and receipt.state == "accepted":
        writes.append(stores.receipts.failed_write(receipt.receipt_id, receipt.job_id, failure, now))
    await stores.transact(writes)
    log.info("upload.expired", movie_id=movie.movie_id)
