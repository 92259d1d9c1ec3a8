"""`tiptrace serve`, `tiptrace worker` and `tiptrace emulator`."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click
import structlog

from service.asgi import cores, worker_slots
from service.cli.manners import data_option, ends_plainly, read_settings
from service.cli.web_processes import serve_with
from service.cli.web_server import WebServer, listening, rest_memory
from service.cli.work import work
from service.local.datadir import DataDirInUse, find_running
from service.local.emulator import Emulator
from service.local.joining import Emulated
from service.metrics_server import metrics_served
from service.runtime import make_everything

log = structlog.get_logger()


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port to listen on.")
@click.option("--workers", type=click.IntRange(min=0), help="Worker slots.")
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Web processes on the one port. With more than one, workers have a process of their own.",
)
@click.option("--join", is_flag=True, help="Use the storage that `tiptrace emulator` keeps; end when it ends.")
@data_option
@ends_plainly
async def serve(host: str, port: int, workers: int | None, processes: int, join: bool, data: Path | None) -> int:
    """The web service. Embedded: also the database, the queue, the storage and the workers."""
    settings = read_settings(data=data, workers=workers)
    how: Emulated = "joined" if join else "own"
    if settings.backend == "embedded" and not join and (running := find_running(settings.data)):
        raise DataDirInUse(settings.data, running)
    if processes > 1:
        await serve_with(settings, host, port, processes, worker_slots(settings), how)
        return 0
    with listening(host, port) as opened:
        server = WebServer(settings, emulator=how)
        serving = asyncio.create_task(server.serve(sockets=[opened]))
        if await server.is_up(serving):
            rest_memory()
            click.echo(f"tiptrace is at {server.address} (Ctrl-C stops it)")
        await serving
    if not server.started or server.service.failure:
        raise click.ClickException(server.failure)
    return 0


@click.command()
@data_option
@ends_plainly
async def emulator(data: Path | None) -> None:
    """The embedded database, queue and storage alone, for `serve --join` and `worker` beside it."""
    settings = read_settings(data=data)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with Emulator(settings.data) as running:
        await make_everything(settings, endpoint=running.endpoint)
        click.echo(f"{settings.data} is kept at {running.endpoint} (Ctrl-C stops it)")
        ends = [asyncio.create_task(event.wait()) for event in (stopping, running.given_up)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
    if running.given_up.is_set():
        raise click.ClickException(f"The storage died and did not start again; {running.log_path} may say why.")


@click.command()
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    help="Jobs at a time, and one inspection beside them. Default: one per core.",
)
@click.option("--metrics-port", type=click.IntRange(0, 65535), help="Port for /metrics. Default: none.")
@click.option("--metrics-host", default="127.0.0.1", show_default=True, help="Address for --metrics-port.")
@data_option
@ends_plainly
async def worker(concurrency: int | None, metrics_port: int | None, metrics_host: str, data: Path | None) -> int:
    """Drain the queue of jobs; stops cleanly on SIGTERM."""
    settings = read_settings(data=data, workers=concurrency)
    slots = concurrency or settings.workers or cores()
    if metrics_port is None:
        return await work(settings, slots)
    with metrics_served(metrics_host, metrics_port) as address:
        log.info("metrics.served", address=address)
        return await work(settings, slots)
