"""A real uvicorn server in the test's own event loop, on a port that the system picks, and clients for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn

from service.bridge import Bridge


class _Quiet(uvicorn.Server):
    """Leaves the process's signals to pytest and says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def serve(self, sockets: Any = None) -> None:
        await self._serve(sockets)


@asynccontextmanager
async def serving(app: Any, **options: Any) -> AsyncIterator[int]:
    """Serve `app` on 127.0.0.1 and give the port. Connections that a test leaves open are cut after a second."""
    settings = {"lifespan": "off", "access_log": False, "log_config": None, "timeout_graceful_shutdown": 1}
    server = _Quiet(uvicorn.Config(app, host="127.0.0.1", port=0, **{**settings, **options}))
    running = asyncio.create_task(server.serve())
    waiting = asyncio.create_task(server.listening.wait())
    try:
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
            raise RuntimeError("the server stopped before it listened")
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        waiting.cancel()
        server.should_exit = True
        await running


@asynccontextmanager
async def client_of(app: Any, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A browser-like client with one keep-alive connection at most per request in flight."""
    bridge = app if isinstance(app, Bridge) else Bridge(app, **options)
    async with serving(bridge) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
        yield client


async def raw(port: int, request: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send bytes as they are; for what a well-behaved client library would not send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    return reader, writer


async def one_answer(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """Head and body of one answer with a Content-Length."""
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode("latin-1").lower()
    length = int(head.split("content-length:")[1].split("\r\n")[0])
    return head, await asyncio.wait_for(reader.readexactly(length), 10)
