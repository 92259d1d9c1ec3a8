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
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import structlog

from service import metrics
from service.bridge import Bridge
from service.emf import metrics_told
from service.local.datadir import DataDirInUse, NothingRuns, NotOurs
from service.local.emulator import EmulatorFailed
from service.local.joining import Emulated, emulator_of
from service.local.storefront import PREFIX, Message, Receive, Send, Storefront
from service.queues import NotSetUp
from service.runtime import Runtime, open_runtime
from service.settings import Settings
from service.web.app import build_app
from service.web.application import Application
from service.web.people import sign_in_link
from service.web.signer import SecretMissing, signer_of
from service.worker.pool import Pool
from service.wsgi_exchange import AsyncApp

MAX_BODY_BYTES = 1 << 20
"""No request carries a movie: movies go to the object store."""

log = structlog.get_logger(__name__)


EXPECTED = (DataDirInUse, EmulatorFailed, NothingRuns, NotOurs, SecretMissing, NotSetUp, OSError)
"""Why a service does not start though nothing is wrong with it. The message is for a person."""


class Service(Bridge):
    """The whole service as an ASGI application. Its lifespan opens what the settings name and builds Flask over it."""

    def __init__(self, settings: Settings, *, emulator: Emulated = "own") -> None:
        """With `joined`, `on_gone` is called and the lifespan ends in NothingRuns when the emulator is gone."""
        super().__init__(
            self._answer,
            lifespan=self._open,
            max_body_bytes=MAX_BODY_BYTES,
            on_loop=self._in_place,
            on_refusal=metrics.refused,
            expected=EXPECTED,
        )
        self.settings = settings
        self.failure: Exception | None = None
        """Why it did not come up, if it did not."""
        self.on_gone: Callable[[], object] = lambda: None
        """Called when the embedded service that this one joined is gone, so that the server ends."""
        self._came_up = False
        self._emulator = emulator
        self._runtime: Runtime | None = None
        self._flask: Application | None = None
        self._front: Storefront | None = None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """What lies in the embedded storage goes through here, whole movies at a time; the rest is Flask's."""
        if scope["type"] == "http" and self._front is not None and self._runtime is not None:
            path = path_of(scope)
            if path.startswith(PREFIX):
                objects, token = self._runtime.stores.objects, path.removeprefix(PREFIX)
                await self._front.serve(objects, scope, receive, send, token)
                return
        await super().__call__(scope, receive, send)

    @property
    def runtime(self) -> Runtime:
        """What is open. Only between start-up and shutdown."""
        if self._runtime is None:
            raise RuntimeError("the service is not running")
        return self._runtime

    def stop_being_ready(self) -> None:
        """The process was told to stop: from now on `/readyz` says so, and its workers take no more jobs."""
        if self._runtime is not None:
            self._runtime.stopping.set()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Runtime]:
        """Raises what is EXPECTED."""
        try:
            async with self._opened() as runtime:
                self._came_up = True
                yield runtime
        except NothingRuns as error:
            self.failure = error
            raise
        except Exception as error:
            self.failure = None if self._came_up else error
            raise

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Runtime]:
        async with (
            self._endpoint() as endpoint,
            self._opened_on(endpoint) as runtime,
            metrics_told(self.settings, "web"),
            workers(runtime, worker_slots(self.settings)),
        ):
            self._flask, self._runtime = build_app(runtime), runtime
            try:
                yield runtime
            finally:
                self._flask = self._runtime = None

    @asynccontextmanager
    async def _opened_on(self, endpoint: str | None) -> AsyncIterator[Runtime]:
        if self.settings.backend == "embedded":
            self._front = Storefront(signer_of(self.settings).secret)  # makes the secret where there is none
        async with open_runtime(self.settings, endpoint=endpoint, front=self._front) as runtime:
            yield runtime

    @asynccontextmanager
    async def _endpoint(self) -> AsyncIterator[str | None]:
        async with emulator_of(self.settings, self._emulator) as (endpoint, gone):
            watching = asyncio.create_task(gone.wait())
            watching.add_done_callback(lambda watch: None if watch.cancelled() else self.on_gone())
            try:
                yield endpoint
            finally:
                watching.cancel()

    def _in_place(self, scope: Message) -> AsyncApp | None:
        flask = self._flask
        return flask.answer if flask is not None and path_of(scope) in flask.quick_paths else None

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if self._flask is not None:
            answer: Iterable[bytes] = self._flask(environ, start_response)
            return answer
        told = {"error": True, "code": "not_running", "message": "The service is not running. Try again in a moment."}
        start_response("503 Service Unavailable", [("Content-Type", "application/json"), ("Retry-After", "2")])
        return [json.dumps(told).encode()]


def path_of(scope: Message) -> str:
    """The path below where this service is mounted."""
    path: str = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))
    return path


def create_app(settings: Settings, *, emulator: Emulated = "own") -> Service:
    """The ASGI application of these settings; nothing is opened before its lifespan starts."""
    return Service(settings, emulator=emulator)


def worker_slots(settings: Settings) -> int:
    """How many jobs run beside the web service: as set, else one per core for the embedded default and none on AWS."""
    if settings.workers is not None:
        return settings.workers
    return cores() if settings.backend == "embedded" else 0


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@asynccontextmanager
async def workers(runtime: Runtime, slots: int) -> AsyncIterator[None]:
    """Drain the queue meanwhile. At the end running jobs get their grace period and are handed back.

    That period begins when the process is told to stop, beside the last requests.
    """
    if slots == 0:
        yield
        return
    pool = Pool(runtime.stores, runtime.settings, slots)
    draining = asyncio.create_task(pool.run(), name="worker-pool")
    draining.add_done_callback(_tell_if_broken)
    told = asyncio.create_task(runtime.stopping.wait(), name="worker-pool-stop")
    told.add_done_callback(lambda _: pool.stop())
    try:
        yield
    finally:
        told.cancel()
        pool.stop()
        await draining


def _tell_if_broken(draining: asyncio.Task[None]) -> None:
    """Pages go on without workers, and jobs wait: somebody should know before shutdown."""
    if not draining.cancelled() and draining.exception():
        log.critical("workers_gave_up", exc_info=draining.exception())


_app: Service | None = None


def _the_app() -> Service:
    """Several server processes may serve one data folder, so this one joins an emulator that is there."""
    global _app
    if _app is None:
        _app = create_app(Settings(), emulator="found")  # type: ignore[call-arg]  # every field has a default
    return _app


def __getattr__(name: str) -> Any:
    """`app` is made when a server or host asks for it, so that importing this module reads no settings."""
    if name == "app":
        return _the_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def runtime() -> AbstractAsyncContextManager[Runtime]:
    """Open what `app` serves; for a host's lifespan."""
    return _the_app().lifespan()


__all__ = ["Service", "create_app", "runtime", "sign_in_link", "worker_slots", "workers"]
