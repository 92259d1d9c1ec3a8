"""The life of one claimed job, from its receipt to the transaction that publishes its end."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import structlog

from service.domain.errors import EngineCrashed, FenceLost, Unavailable
from service.domain.failures import INTERNAL, Failure
from service.domain.receipt import TERMINAL, Receipt
from service.store.objects import ObjectMissing
from service.store.stores import Stores
from service.usecases.inspect_job import inspect
from service.usecases.job_lease import JobLease
from service.usecases.leave_job import fail, try_again
from service.usecases.trace_job import trace
from service.usecases.workplace import JobFailed, Workplace

log = structlog.get_logger()


async def run(stores: Stores, lease: JobLease, place: Workplace) -> str:
    """Do the job and publish its end; returns `completed`, `failed` or `handed back`.

    Raises FenceLost when the job is no longer this worker's: then nothing more was written. Any other failure ends the
    job with a safe summary, except an engine that died: its attempt is given back and counted as a failure.
    """
    with ExitStack() as names:
        try:
            receipt = await stores.receipts.get(lease.job.receipt_id)
            if receipt is None or receipt.job_id != lease.job.job_id or receipt.state in TERMINAL:
                raise JobFailed(Failure(INTERNAL))
            # From here on every line of the log joins the job with the request that wished for it.
            wished = {"request_key": receipt.request_key, "request_id": receipt.request_id}
            known = {name: value for name, value in wished.items() if value}
            names.enter_context(structlog.contextvars.bound_contextvars(**known))
            await _note_attempt(stores, lease, receipt)
            work = inspect if lease.job.kind == "inspect" else trace
            return await work(stores, lease, receipt, place)
        except (FenceLost, asyncio.CancelledError):
            raise
        except EngineCrashed as crash:
            return await try_again(stores, lease, Failure("engine_crashed"), crash)
        except JobFailed as failed:
            return await fail(stores, lease, failed.failure)
        except ObjectMissing:
            log.exception("job.source_missing")
            return await fail(stores, lease, Failure("storage_unavailable"))
        except Unavailable as outage:
            log.exception("job.storage_failed")
            return await try_again(stores, lease, Failure("storage_unavailable"), outage)
        except Exception:
            log.exception("job.failed")
            return await fail(stores, lease, Failure(INTERNAL))


async def _note_attempt(stores: Stores, lease: JobLease, receipt: Receipt) -> None:
    """The receipt says `running`. One that is terminal already means that the job is over."""
    attempt = lease.job.attempt
    await lease.write(
        lambda now: stores.receipts.note_attempt(receipt.receipt_id, receipt.job_id, attempt, now), renews=False
    )
