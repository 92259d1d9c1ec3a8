"""The web service in one process, from its start to an end in order: not ready first, then closed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import structlog
import uvicorn

from service.asgi import create_app
from service.local.joining import Emulated
from service.metrics_server import CannotListen
from service.settings import Settings

BACKLOG = 2048

log = structlog.get_logger()


def rest_memory() -> None:
    """Let the collector leave alone what stays for good: modules, models of the SDK, the application.

    Looking through all of it again and again, in the middle of requests, made one poll in a hundred wait twice as long,
    and every poll cost a twentieth more.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


class WebServer(uvicorn.Server):
    """The web service with its workers; its lifespan opens and closes everything. A stop asked for ends with code 0.

    On SIGTERM `/readyz` says 503 and workers take no more jobs, while requests are served for another
    `drain_seconds`: so a balancer sends them elsewhere before connections are closed. Ctrl-C, or a second signal, ends
    that wait. `emulator`: as of service.asgi.Service. `takes`: how many connections at most are taken at a time.
    """

    def __init__(
        self,
        settings: Settings,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        emulator: Emulated = "own",
        takes: int = BACKLOG,
    ) -> None:
        self.service = create_app(settings, emulator=emulator)
        self.service.on_gone = self._close
        super().__init__(
            uvicorn.Config(
                self.service,
                host=host,
                port=port,
                backlog=takes,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # TIPTRACE_TRUSTED_PROXIES says whom to believe
                timeout_keep_alive=75,
                timeout_graceful_shutdown=int(settings.grace_seconds) + 5,
            )
        )
        self._drain_seconds = settings.drain_seconds
        self._told = False
        self._up = asyncio.Event()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop; returns too if it does not come up: see `started` and `failure`."""
        with suppress(SystemExit):  # with which uvicorn would end the process from within a task
            await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._up.set()

    async def is_up(self, serving: asyncio.Task[None]) -> bool:
        """Wait until it listens; False if `serving`, the task that runs it, ended before."""
        waiting = asyncio.create_task(self._up.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        return self.started and not serving.done()

    @property
    def failure(self) -> str:
        """Why it did not come up, for a person."""
        fault = self.service.failure
        if isinstance(fault, OSError) and fault.filename:
            return f"{fault.filename}: {fault.strerror}."
        return str(fault) if fault else "The service did not start; the lines above say why."

    @property
    def address(self) -> str:
        """Where it listens, once it does."""
        return address_of(self.servers[0].sockets[0])

    def stop(self, number: int) -> None:
        """Stop as the signal `number` asks: SIGTERM lets balancers know first."""
        self.service.stop_being_ready()
        if number == signal.SIGTERM and not self._told:
            self._told = True
            log.info("web.stopping", drain_seconds=self._drain_seconds)
            asyncio.get_running_loop().call_later(self._drain_seconds, self._close)
        else:
            self.handle_exit(number, None)

    def _close(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn would end the process by the very signal that asked it to stop; here that is a success."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop, number)
        yield


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens. Raises CannotListen, before anything else is started."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as fault:
        why = os.strerror(fault.errno) if fault.errno and fault.errno > 0 else fault.strerror
        raise CannotListen(f"{host}:{port} cannot be listened on: {why}. Choose another with --port.") from None
    with opened:
        yield opened


def address_of(listening: Any) -> str:
    """The address of a listening socket, as one types it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
