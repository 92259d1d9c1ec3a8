"""Composition root: opens everything, builds the Flask application over it, and hands out one ASGI application.

`uvicorn service.asgi:app` serves it. A host mounts the same `app` and enters `runtime()` in its own lifespan, because a
server tells only the outermost application when to start and stop:

    @asynccontextmanager
    async def lifespan(host):
        async with service.asgi.runtime():
            yield
    host = FastAPI(lifespan=lifespan)
    host.mount("/lab", service.asgi.app)
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import structlog

from service.bridge import Bridge
from service.local.datadir import find_running
from service.local.emulator import Emulator
from service.runtime import Runtime, open_runtime
from service.settings import Settings
from service.web.app import build_app
from service.worker.pool import Pool

MAX_BODY_BYTES = 1 << 20
"""No request carries a movie: movies go to the object store."""

log = structlog.get_logger(__name__)


class Service:
    """A WSGI application that is there only while its runtime is open. Holds nothing else."""

    def __init__(self) -> None:
        self._app: Any = None
        self.runtime: Runtime | None = None

    def open(self, runtime: Runtime) -> None:
        self._app, self.runtime = build_app(runtime), runtime

    def close(self) -> None:
        self._app, self.runtime = None, None

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        app = self._app
        if app is not None:
            answer: Iterable[bytes] = app(environ, start_response)
            return answer
        told = {"error": True, "code": "not_running", "message": "The service is not running. Try again in a moment."}
        start_response("503 Service Unavailable", [("Content-Type", "application/json"), ("Retry-After", "2")])
        return [json.dumps(told).encode()]


def create_app(settings: Settings) -> Bridge:
    """The whole service as an ASGI application; its lifespan (or `bridge.lifespan()`) opens what the settings name."""
    service = Service()

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[Runtime]:
        async with opened(settings) as runtime, workers(runtime, worker_slots(settings)):
            service.open(runtime)
            try:
                yield runtime
            finally:
                service.close()

    return Bridge(service, lifespan=lifespan, max_body_bytes=MAX_BODY_BYTES)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Runtime]:
    """The runtime that the settings name. Embedded: over the emulator that runs on the data folder, or a new one.

    Raises EmulatorFailed, DataDirInUse.
    """
    async with AsyncExitStack() as stack:
        endpoint = None
        if settings.backend == "embedded":
            running = await asyncio.to_thread(find_running, settings.data)
            endpoint = running.endpoint if running else None
            if endpoint is None:
                endpoint = (await stack.enter_async_context(Emulator(settings.data))).endpoint
        yield await stack.enter_async_context(open_runtime(settings, endpoint=endpoint))


def worker_slots(settings: Settings) -> int:
    """How many jobs run beside the web service: as set, else one per core for the embedded default and none on AWS."""
    if settings.workers is not None:
        return settings.workers
    return (os.cpu_count() or 1) if settings.backend == "embedded" else 0


@asynccontextmanager
async def workers(runtime: Runtime, slots: int) -> AsyncIterator[None]:
    """Drain the queue meanwhile. At the end running jobs get their grace period and are handed back."""
    if slots == 0:
        yield
        return
    pool = Pool(runtime.stores, runtime.settings, slots)
    draining = asyncio.create_task(pool.run(), name="worker-pool")
    try:
        yield
    finally:
        pool.stop()
        await draining


_app: Bridge | None = None


def _the_app() -> Bridge:
    global _app
    if _app is None:
        _app = create_app(Settings())  # type: ignore[call-arg]  # every field has a default
    return _app


def __getattr__(name: str) -> Any:
    """`app` is made when a server or host asks for it, so that importing this module reads no settings."""
    if name == "app":
        return _the_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def runtime() -> AbstractAsyncContextManager[Runtime]:
    """Open what `app` serves; for a host's lifespan."""
    return _the_app().lifespan()
