"""A process that works on jobs and does nothing else."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable

import structlog

from service.emf import metrics_told
from service.local.joining import joined_endpoint
from service.runtime import open_runtime
from service.settings import Settings
from service.worker.pool import Pool

log = structlog.get_logger()


async def work(settings: Settings, slots: int, *, up: Callable[[Callable[[int], None]], None] | None = None) -> int:
    """Drain the queue with so many slots until SIGTERM or SIGINT; returns 0, the exit code.

    `up` is told once it works, and gets what stops it. Raises NothingRuns, as of service.local.joining.
    """
    async with (
        joined_endpoint(settings) as (endpoint, gone),
        open_runtime(settings, endpoint=endpoint) as runtime,
        metrics_told(settings, "worker"),
    ):
        pool = Pool(runtime.stores, settings, slots)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, pool.stop)
        log.info("worker.started", slots=slots)
        if up:
            up(lambda _: pool.stop())
        watching = asyncio.create_task(gone.wait())
        watching.add_done_callback(lambda _: pool.stop())
        await pool.run()
        watching.cancel()
        log.info("worker.stopped")
    return 0
