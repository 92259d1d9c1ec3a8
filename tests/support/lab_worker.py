"""A worker that a test drives by hand: receive one message, claim, run."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from service.domain.errors import FenceLost
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.usecases import run_job
from service.usecases.job_lease import JobLease, claim
from service.usecases.submit_trace import Submitted
from service.usecases.workplace import Workplace
from tests.support.engines import ScriptedEngine


def message_of(submitted: Submitted, attempt: int = 1) -> JobMessage:
    return JobMessage(submitted.receipt.movie_id, submitted.receipt.job_id, attempt)


async def claimed(stores: Stores, message: JobMessage) -> JobLease:
    lease = await claim(stores, message)
    assert lease is not None
    return lease


async def run(
    stores: Stores, lease: JobLease, engine: ScriptedEngine | None = None, stop: asyncio.Event | None = None
) -> str:
    """Returns run_job's outcome, or `lost` when the fence refused."""
    with tempfile.TemporaryDirectory() as folder:
        place = Workplace(engine or ScriptedEngine(), Path(folder), stop or asyncio.Event())
        try:
            return await run_job.run(stores, lease, place)
        except FenceLost:
            return "lost"
