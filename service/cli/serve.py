"""`tiptrace serve` and `tiptrace worker`."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import click
import structlog
import uvicorn

from service.asgi import create_app
from service.cli.manners import data_option, ends_plainly, read_settings
from service.local.connection import endpoint_of
from service.local.datadir import DataDirInUse, find_running
from service.runtime import open_runtime
from service.settings import Settings
from service.worker.pool import Pool

log = structlog.get_logger()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def web_server(settings: Settings, host: str, port: int) -> uvicorn.Server:
    """The web service with its workers, ready to `serve()`; its lifespan opens and closes everything."""
    config = uvicorn.Config(
        create_app(settings),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.grace_seconds) + 5,
    )
    return uvicorn.Server(config)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port to listen on.")
@click.option("--workers", type=click.IntRange(min=0), help="Worker slots in this process.")
@data_option
@ends_plainly
async def serve(host: str, port: int, workers: int | None, data: Path | None) -> int:
    """The web service. Embedded: also the database, the queue, the storage and the workers."""
    settings = read_settings(data=data, workers=workers)
    if settings.backend == "embedded" and (running := find_running(settings.data)):
        raise DataDirInUse(settings.data, running)
    server = web_server(settings, host, port)
    await server.serve()
    return 0 if server.started else 1


@click.command()
@click.option("--concurrency", type=click.IntRange(min=1), help="Jobs at a time. Default: one per core.")
@data_option
@ends_plainly
async def worker(concurrency: int | None, data: Path | None) -> None:
    """Drain the queue of jobs; stops cleanly on SIGTERM."""
    settings = read_settings(data=data, workers=concurrency)
    count = concurrency or settings.workers or cores()
    async with endpoint_of(settings) as endpoint, open_runtime(settings, endpoint=endpoint) as runtime:
        pool = Pool(runtime.stores, settings, count)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, pool.stop)
        log.info("worker.started", slots=count)
        await pool.run()
        log.info("worker.stopped")
