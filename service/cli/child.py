"""A child of `tiptrace serve --processes`: a web process on the parent's socket, or the worker process beside them.

Its standard input is the line of life: the first line is its order in JSON, and the end of the stream means that the
parent is gone, however it went; the child then ends too. It writes one line when it is up, and ends with 0 when it was
told to stop.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from service.cli.manners import ends_plainly, read_settings
from service.cli.web_server import WebServer, rest_memory
from service.cli.work import work
from service.settings import Settings

READY = b"ready\n"
_ORPHAN_SECONDS = 3.0
"""Embedded: the database goes with the parent, so there is nothing to wait for. Over AWS jobs are handed back first."""

Stop = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What the parent says: the socket of a web process, or how many slots a worker has; the data folder if given."""

    socket_fd: int | None = None
    slots: int | None = None
    data: str | None = None


class Listening(socket.socket):
    """A socket on which several processes listen, with one queue of connections that none of them may shorten."""

    def listen(self, backlog: int = 0, /) -> None:
        """It listens already. An event loop calls this with the number of connections that it takes at a time."""


@ends_plainly
async def child() -> int:
    """Do what the first line of standard input says until told to stop."""
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    data = Path(order.data) if order.data else None
    if order.socket_fd is None:
        settings = read_settings(data=data, workers=order.slots)
        return await work(settings, order.slots or 0, up=lambda stop: _is_up(settings, stop))
    settings = read_settings(data=data, workers=0)
    server = WebServer(settings, emulator="joined", takes=1)
    serving = asyncio.create_task(server.serve(sockets=[Listening(fileno=order.socket_fd)]))
    if await server.is_up(serving):
        rest_memory()
        _is_up(settings, server.stop)
    await serving
    return 0 if server.started and server.service.failure is None else 1


def _is_up(settings: Settings, stop: Stop) -> None:
    os.write(sys.stdout.fileno(), READY)
    patience = _ORPHAN_SECONDS if settings.backend == "embedded" else settings.grace_seconds + 10
    loop = asyncio.get_running_loop()

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        loop.call_soon_threadsafe(stop, signal.SIGINT)
        threading.Event().wait(patience)
        os._exit(1)

    threading.Thread(target=wait, name="parent-watch", daemon=True).start()


if __name__ == "__main__":
    try:
        child()
    except click.ClickException as told:
        told.show()
        sys.exit(told.exit_code)
