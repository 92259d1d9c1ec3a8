"""Where the database, queue and storage of these settings answer: a running emulator, a new one, or AWS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.local.datadir import find_running
from service.local.emulator import Emulator
from service.settings import Settings


@asynccontextmanager
async def endpoint_of(settings: Settings, *, own: bool = False) -> AsyncIterator[str | None]:
    """The emulator's endpoint for the embedded default, None for AWS.

    An emulator that runs on the data directory is joined; with `own` (a service that owns the directory) DataDirInUse
    is raised instead. Without one it is started, and stopped again at the end.
    """
    if settings.backend == "aws":
        yield None
        return
    running = None if own else find_running(settings.data)
    if running is not None:
        yield running.endpoint
        return
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    async with Emulator(settings.data) as emulator:
        yield emulator.endpoint
