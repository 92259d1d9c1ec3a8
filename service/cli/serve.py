"""`tiptrace serve` and `tiptrace worker`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import structlog
import uvicorn

from service.asgi import cores, create_app
from service.cli.manners import data_option, ends_plainly, read_settings
from service.local.connection import endpoint_of
from service.local.datadir import DataDirInUse, find_running
from service.runtime import open_runtime
from service.settings import Settings
from service.worker.pool import Pool

log = structlog.get_logger()


class WebServer(uvicorn.Server):
    """The web service with its workers; its lifespan opens and closes everything. A stop asked for ends with code 0."""

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        self.service = create_app(settings)
        super().__init__(
            uvicorn.Config(
                self.service,
                host=host,
                port=port,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # TIPTRACE_TRUSTED_PROXIES says whom to believe
                timeout_keep_alive=75,
                timeout_graceful_shutdown=int(settings.grace_seconds) + 5,
            )
        )

        self._up = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._up.set()

    async def is_up(self, serving: asyncio.Task[None]) -> bool:
        """Wait until it listens; False if `serving`, the task that runs it, ended before."""
        waiting = asyncio.create_task(self._up.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        return self.started and not serving.done()

    @property
    def address(self) -> str:
        """Where it listens, once it does."""
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn would end the process by the very signal that asked it to stop; here that is a success."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


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
    server = WebServer(settings, host, port)
    serving = asyncio.create_task(server.serve())
    if await server.is_up(serving):
        click.echo(f"tiptrace is at {server.address} (Ctrl-C stops it)")
    await serving
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
