"""How a worker leaves a job other than by completing it: failed, given back, or to be tried again."""

from __future__ import annotations

import asyncio

import structlog

from service.domain.errors import Unavailable
from service.domain.failures import Failure
from service.domain.receipt import Receipt
from service.store import conditions as when
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.usecases.end_job import commit_end, count_end, failed_writes
from service.usecases.job_lease import JobLease

log = structlog.get_logger()


async def fail(stores: Stores, lease: JobLease, failure: Failure) -> str:
    """Publish the job's failure, by its holder only."""

    async def attempt(now: int) -> None:
        condition = when.holds_fence(lease.fence, now)
        await commit_end(stores, failed_writes(stores, lease.movie, lease.job, failure, now, condition))

    async def applied() -> bool:
        receipt = await _own_receipt(stores, lease)
        return receipt is not None and receipt.state == "failed" and receipt.failure_code == failure.code

    await asyncio.shield(lease.write(attempt, applied, ends=True))
    count_end(lease.job, failure)
    log.info("job.ended", outcome="failed", code=failure.code)
    return "failed"


async def try_again(stores: Stores, lease: JobLease, failure: Failure, why: Exception) -> str:
    """What failed is not the movie's fault: another attempt if some are left, else the job ends with `failure`."""
    failures = lease.job.failures + 1
    if failures >= stores.policy.max_attempts:
        return await fail(stores, lease, failure)
    await _requeue(stores, lease, failures)
    if not isinstance(why, Unavailable):  # else the sweeper announces it: at once would find the same outage
        await _announce(stores, lease)
    log.warning("job.tried_again", code=failure.code, failures=failures)
    return "handed back"


async def hand_back(stores: Stores, lease: JobLease) -> str:
    """Give the job back as its next attempt, announced; this counts as no failure."""
    await _requeue(stores, lease, lease.job.failures)
    await _announce(stores, lease)
    log.info("job.handed_back")
    return "handed back"


async def _requeue(stores: Stores, lease: JobLease, failures: int) -> None:
    async def attempt(now: int) -> None:
        condition = when.holds_fence(lease.fence, now)
        write = stores.movies.requeue_write(lease.movie.movie_id, lease.job, now, condition, failures)
        await stores.database.write(write)

    async def applied() -> bool:
        movie = await stores.movies.get(lease.movie.movie_id)
        job = movie.tracing if movie else None
        return bool(job and job.job_id == lease.job.job_id and job.attempt == lease.job.attempt + 1)

    await asyncio.shield(lease.write(attempt, applied, ends=True))


async def _announce(stores: Stores, lease: JobLease) -> None:
    job, movie = lease.job, lease.movie
    try:
        await stores.queue.send(JobMessage(movie.movie_id, job.job_id, job.attempt + 1), job.kind, movie.turn)
    except Unavailable:
        log.warning("job.announce_failed")


async def _own_receipt(stores: Stores, lease: JobLease) -> Receipt | None:
    receipt = await stores.receipts.get(lease.job.receipt_id)
    return receipt if receipt and receipt.job_id == lease.job.job_id else None


async def published(stores: Stores, lease: JobLease) -> bool:
    """After a lost reply: did our publishing transaction come through? A job that somebody cancelled is over too."""
    receipt = await _own_receipt(stores, lease)
    return receipt is not None and receipt.state == "done" and receipt.attempts == lease.job.attempt
