"""The life of one message: read it, claim what it names, delete it, do the job."""

from __future__ import annotations

import asyncio

import structlog

from service import metrics
from service.domain.errors import FenceLost, Unavailable
from service.store.queue import Delivery, MalformedMessage
from service.store.stores import Stores
from service.usecases import run_job
from service.usecases.job_lease import JobLease, claim
from service.usecases.workplace import Workplace
from service.worker import heartbeat
from service.worker.engine import Engine
from service.worker.job_folder import job_folder

log = structlog.get_logger()


async def handle(stores: Stores, delivery: Delivery, engine: Engine, stop: asyncio.Event, preset: str) -> str:
    """Returns what became of it: `foreign`, `nothing to do`, `completed`, `failed`, `handed back`, `lost`, `abandoned`.

    A message is deleted after a claim or a proven no-op: from then on the row and the sweeper keep the job. A foreign
    one is left to the queue's dead letters. `abandoned`: something that nobody foresaw, and the job's end could not be
    written either; the sweeper takes it up. Raises Unavailable, with the message left in the queue.
    """
    try:
        message = delivery.message()
    except MalformedMessage as fault:
        if delivery.receives == 1:
            log.error("queue.foreign_message", why=str(fault), length=len(delivery.body))
        return "foreign"
    with structlog.contextvars.bound_contextvars(
        movie_id=message.movie_id, job_id=message.job_id, attempt=message.attempt
    ):
        try:
            lease = await claim(stores, message)
            await _delete(stores, delivery)
            if lease is None:
                log.info("job.nothing_to_do", receives=delivery.receives)
                return "nothing to do"
            waited = lease.job.waited(stores.clock.now())
            metrics.QUEUE_WAIT.labels(kind=lease.job.kind).observe(waited)
            log.info("job.claimed", kind=lease.job.kind, waited=waited)
            started = stores.clock.monotonic()
            outcome = await _hold_and_run(stores, lease, engine, stop, preset)
            took = stores.clock.monotonic() - started
            metrics.JOB_SECONDS.labels(kind=lease.job.kind, outcome=outcome).observe(took)
            return outcome
        except Unavailable:
            raise
        except Exception:  # logged here, where the job's ids are bound
            log.exception("job.abandoned")
            return "abandoned"


async def _delete(stores: Stores, delivery: Delivery) -> None:
    try:
        await stores.queue.delete(delivery)
    except Unavailable:
        log.warning("queue.delete_failed")  # it will come again, and be a no-op
    except Exception:  # no reason to leave a claimed job undone either
        log.exception("queue.delete_failed")


async def _hold_and_run(stores: Stores, lease: JobLease, engine: Engine, stop: asyncio.Event, preset: str) -> str:
    """Run the job while a task beside it renews the lease; a lost lease cancels the run."""
    outcome = "lost"
    with job_folder() as folder:
        place = Workplace(engine, folder, stop, preset)
        try:
            async with asyncio.TaskGroup() as group:
                beat = group.create_task(heartbeat.keep(lease, stores.policy.heartbeat_seconds))
                outcome = await run_job.run(stores, lease, place)
                beat.cancel()
        except* FenceLost:
            metrics.LEASES_LOST.labels(kind="tracing").inc()
            log.warning("job.lease_lost")
            outcome = "lost"
    return outcome
