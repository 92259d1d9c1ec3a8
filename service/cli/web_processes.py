"""`tiptrace serve --processes N`: N web processes on one socket and a worker process, kept alive by a parent.

The parent binds the socket, starts the embedded database if there is one, and does nothing else: a child that died is
replaced, on the same socket, where connections wait meanwhile. A stop goes to all children, and the database ends last.
No child outlives the parent, however it ends: see service.cli.child.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click
import structlog

import service
from service.cli.child import READY, Order
from service.cli.web_server import address_of, listening
from service.local.joining import Emulated, emulator_of
from service.runtime import make_everything
from service.settings import Settings
from service.shared_counts import environment, forget

HEALTHY_SECONDS = 10.0
"""A child that lived this long is replaced at once; deaths in quicker succession are answered with growing pauses."""
LONGEST_PAUSE = 5.0
SPARE_SECONDS = 15.0
"""What a child may need to stop beyond what the settings grant; then it is killed."""

log = structlog.get_logger()


async def serve_with(
    settings: Settings, host: str, port: int, processes: int, slots: int, emulator: Emulated = "own"
) -> None:
    """Serve until SIGTERM or SIGINT. Raises CannotListen, and ClickException if a child does not come up.

    With an emulator that is joined it ends when that is gone: NothingRuns.
    """
    with listening(host, port) as opened, tempfile.TemporaryDirectory(prefix="tiptrace-metrics-") as counts:
        async with emulator_of(settings, emulator) as (endpoint, gone):
            if endpoint:
                await make_everything(settings, endpoint=endpoint)  # else all children would at once
            data = str(settings.data)
            orders = [Order(socket_fd=opened.fileno(), data=data)] * processes
            if slots:
                orders.append(Order(slots=slots, data=data))
            children = Children(settings, orders, Path(counts))
            watching = asyncio.create_task(gone.wait())
            watching.add_done_callback(lambda watch: None if watch.cancelled() else children.stop(signal.SIGTERM))
            came_up = await children.run(address_of(opened))
            watching.cancel()
            if not came_up and not gone.is_set():
                raise click.ClickException("The service did not start; the lines above say why.")


class Children:
    """One process for each order, replaced when it dies, until a signal stops all."""

    def __init__(self, settings: Settings, orders: list[Order], counts: Path) -> None:
        self._patience = settings.drain_seconds + settings.grace_seconds + SPARE_SECONDS
        self._orders = orders
        self._counts = counts
        self._running: set[Process] = set()
        self._stopping = asyncio.Event()
        self._failed = False
        self._waiting = len(orders)

    async def run(self, address: str) -> bool:
        """Says `address` when all are up. Leaves no child behind. False if one ended before it was ever up."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop, number)
        self._address = address
        try:
            async with asyncio.TaskGroup() as group:
                killing = group.create_task(self._kill_who_stays())
                keepers = [group.create_task(self._keep(order)) for order in self._orders]
                await asyncio.wait(keepers)
                killing.cancel()
        finally:
            await self._end_all()
        return not self._failed

    def stop(self, number: int) -> None:
        """Pass the signal on; nobody is replaced any more."""
        self._stopping.set()
        for process in self._running:
            with suppress(ProcessLookupError):
                process.send_signal(number)

    async def _keep(self, order: Order) -> None:
        deaths, came_up = 0, False
        while not self._stopping.is_set():
            began = time.monotonic()
            process = await self._start(order)
            came_up = await self._came_up(process, came_up) or came_up
            code = await process.wait()
            self._running.discard(process)
            forget(process.pid, self._counts)
            if self._stopping.is_set():
                return
            log.error("child.died", pid=process.pid, exit_code=code, works=order.socket_fd is None)
            if not came_up:
                self._failed = True
                self.stop(signal.SIGTERM)
                return
            deaths = 1 if time.monotonic() - began > HEALTHY_SECONDS else deaths + 1
            await self._pause(0 if deaths == 1 else min(0.1 * 2**deaths, LONGEST_PAUSE))

    async def _start(self, order: Order) -> Process:
        root = str(Path(service.__file__).parent.parent)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "service.cli.child"),
            stdin=PIPE,  # its end tells the child that we are gone
            stdout=PIPE,
            env={
                **os.environ,
                **environment(self._counts),
                "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])]),
            },
            pass_fds=() if order.socket_fd is None else (order.socket_fd,),
            start_new_session=True,  # Ctrl-C is for us; we tell the children
        )
        self._running.add(process)
        assert process.stdin is not None
        with suppress(ConnectionError):  # one that died at once is noticed by its end
            process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
            await process.stdin.drain()
        if self._stopping.is_set():
            process.terminate()
        return process

    async def _came_up(self, process: Process, before: bool) -> bool:
        """Wait until the child is up or dead. The first time that all are up, say where."""
        assert process.stdout is not None
        up = await process.stdout.readline() == READY
        if up and not before:
            self._waiting -= 1
            if not self._waiting and not self._stopping.is_set():
                click.echo(f"tiptrace is at {self._address} (Ctrl-C stops it)")
        elif up:
            log.info("child.replaced", pid=process.pid)
        return up

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _kill_who_stays(self) -> None:
        await self._stopping.wait()
        await asyncio.sleep(self._patience)
        for process in self._running:
            log.error("child.killed", pid=process.pid, after_seconds=self._patience)
            with suppress(ProcessLookupError):
                process.kill()

    async def _end_all(self) -> None:
        """Only after an error that nobody foresaw is anybody left here."""
        self.stop(signal.SIGTERM)
        for process in list(self._running):
            try:
                await asyncio.wait_for(process.wait(), self._patience)
            except TimeoutError:
                process.kill()
                await process.wait()
