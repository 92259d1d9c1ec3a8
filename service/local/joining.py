"""Who works on the data of an embedded service without owning it: a worker, or a web service in another container."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import structlog

from service.local.connection import endpoint_of
from service.local.datadir import Endpoint, NothingRuns, find_running, still_runs
from service.settings import Settings

LOOK_SECONDS = 1.0

Emulated = Literal["own", "found", "joined"]
"""`own` refuses a data folder on which another service runs; `found` joins what runs there, or starts one; `joined`
never starts one, and ends with the one that it joined.
"""

log = structlog.get_logger(__name__)


@asynccontextmanager
async def emulator_of(settings: Settings, how: Emulated) -> AsyncIterator[tuple[str | None, asyncio.Event]]:
    """As `endpoint_of` or, if it is to be joined, as `joined_endpoint`; what is not joined never counts as gone."""
    if how == "joined":
        async with joined_endpoint(settings) as found:
            yield found
    else:
        async with endpoint_of(settings, own=how == "own") as endpoint:
            yield endpoint, asyncio.Event()


@asynccontextmanager
async def joined_endpoint(settings: Settings) -> AsyncIterator[tuple[str | None, asyncio.Event]]:
    """The emulator that somebody else keeps running on the data directory, and what is set within seconds of its end.

    For AWS None, and what is never set. Whoever joined must end then and be started again, as a successor has another
    address: NothingRuns is raised at the end. It is raised at once if there is none to join: one that was started here
    would keep the service itself out.
    """
    gone = asyncio.Event()
    if settings.backend == "aws":
        yield None, gone
        return
    joined = await asyncio.to_thread(find_running, settings.data)
    if joined is None:
        raise NothingRuns(
            f"No service runs on the data directory {settings.data}. "
            "Start `tiptrace serve` there, or `tiptrace emulator`."
        )
    watching = asyncio.create_task(_watch(settings.data, joined, gone), name="joined-service-watch")
    try:
        yield joined.endpoint, gone
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    if gone.is_set():
        raise NothingRuns(f"The service on the data directory {settings.data} has ended, and so does this process.")


async def _watch(data_dir: Path, joined: Endpoint, gone: asyncio.Event) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        if not still_runs(data_dir, joined):
            log.error("joined_service_gone", endpoint=joined.endpoint)
            gone.set()
            return
