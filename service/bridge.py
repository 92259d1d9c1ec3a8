"""Flask under ASGI: the only file that knows how.

One request is one `Exchange` with the WSGI application. Its steps (call, next chunk, close) run one at a time in
threads of a bounded pool and in one fresh `contextvars.Context`; everything that is sent goes out from the event loop,
in the request's own task. Between two steps a request holds no thread: a client that reads slowly costs memory, never a
slot. An `async def` view is posted by asgiref from its thread to the serving loop, so views share the loop's clients.

A request for which the application has an async way of answering takes no thread at all: it is answered on the loop
itself. What pages at work ask for, again and again by the thousand, costs half that way; what computes or blocks must
not take it.

Three things that are easy to get wrong, and why they are as they are:

* `SyncToAsync` gets its own executor and `thread_sensitive=False`: the default runs every request on one thread. It is
  still asgiref's, because it leaves the serving loop where `async_to_sync` (Flask's `ensure_sync`) finds it.
* The context is empty, not a copy of the task's. A server starts a keep-alive connection's next request from within
  the one before, so a copy inherits asgiref's dead executor ("CurrentThreadExecutor already quit") and log bindings.
* A step is shielded from cancellation: a view is not cut in the middle by a client that leaves, and `close()` of the
  response is called after it, once, in the same context.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, TypeVar

import structlog
from asgiref.sync import SyncToAsync

from service.request_body import (
    BodyTooLarge,
    ClientLeft,
    Message,
    Receive,
    Send,
    answer,
    declared_length,
    read_body,
    refuse,
)
from service.wsgi_exchange import AsyncApp, Exchange, WsgiApp, environ_of

T = TypeVar("T")

# A request changes threads four times, and each change may wait this long for a thread that computes. Beside a
# computing export, a poll that reads the store for 5 ms took 3.6 times as long as alone with Python's own 5 ms, and
# 2.0 times with this; the export itself was not slower.
HANDOVER_SECONDS = 0.0005

log = structlog.get_logger(__name__)


class Bridge:
    """An ASGI 3 application that serves one WSGI application.

    threads: requests that run at the same time. waiting: requests that may wait for a thread before others are
    answered 503 with `Retry-After: retry_after` (seconds). max_body_bytes: larger requests are answered 413 while they
    stream in. lifespan: entered at start-up and left at shutdown; a host that mounts the bridge enters
    `bridge.lifespan()` in its own lifespan, since servers tell only the outermost application. stall_seconds: how long
    a client may leave a chunk of a streamed response unread before the response is given up. on_loop: what
    answers a request of this ASGI scope on the loop, at most `on_loop_at_once` at a time; None for one that takes a
    thread, as all do by default. on_refusal: told the status of each answer that the bridge gives itself, of which the
    application learns nothing. expected: failures of the lifespan whose message says all, so that no
    traceback is logged.
    """

    def __init__(
        self,
        wsgi_app: WsgiApp,
        *,
        threads: int = 32,
        waiting: int = 256,
        max_body_bytes: int = 8 * 1024 * 1024,
        lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None,
        retry_after: int = 1,
        stall_seconds: float = 30.0,
        on_loop: Callable[[Message], AsyncApp | None] | None = None,
        on_loop_at_once: int = 2048,
        on_refusal: Callable[[int], None] = lambda status: None,
        expected: tuple[type[Exception], ...] = (),
    ) -> None:
        self.lifespan: Callable[[], AbstractAsyncContextManager[Any]] = lifespan or nullcontext
        self._app = wsgi_app
        self._pool = Pool(threads, waiting)
        self._loop = Loop(on_loop_at_once)
        self._on_loop = on_loop or (lambda scope: None)
        self._max_body_bytes = max_body_bytes
        self._retry_after = retry_after
        self._stall_seconds = stall_seconds
        self._on_refusal = on_refusal
        self._expected = expected
        self._leaving: set[asyncio.Task[None]] = set()
        sys.setswitchinterval(min(sys.getswitchinterval(), HANDOVER_SECONDS))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": ""})
        else:
            raise ValueError(f"no such ASGI scope here: {scope['type']}")

    async def _live(self, receive: Receive, send: Send) -> None:
        """The lifespan protocol around the context manager. A failure is logged in full and named to the server."""
        phase = "startup"
        await receive()
        try:
            async with self.lifespan():
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                await receive()
        except Exception as error:
            told = isinstance(error, self._expected)
            log.error("lifespan_failed", phase=phase, error=str(error), exc_info=not told)
            await send({"type": f"lifespan.{phase}.failed", "message": f"{type(error).__name__}: {error}"})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        declared = declared_length(scope["headers"])
        app = self._on_loop(scope)
        place = self._loop if app else self._pool
        if place.full:  # before a body is taken in that nobody will act on
            await self._overloaded(scope, receive, send, unread=declared)
            return
        try:
            body, size = await read_body(receive, limit=self._max_body_bytes, declared=declared)
        except ClientLeft:
            return
        except BodyTooLarge as error:
            self._on_refusal(413)
            await refuse(scope, receive, send, 413, code=error.code, message=str(error), unread=error.unread)
            return
        if place.full:
            body.close()
            await self._overloaded(scope, receive, send, unread=0)
            return
        exchange = Exchange(self._app, environ_of(scope, body, size))
        await self._converse(scope, receive, send, exchange, app)

    async def _overloaded(self, scope: Message, receive: Receive, send: Send, *, unread: int | None) -> None:
        self._on_refusal(503)
        await refuse(
            scope,
            receive,
            send,
            503,
            code="overloaded",
            message="Too many requests are waiting. Try again in a moment.",
            unread=unread,
            headers=[(b"retry-after", str(self._retry_after).encode())],
        )

    async def _converse(
        self, scope: Message, receive: Receive, send: Send, exchange: Exchange, app: AsyncApp | None
    ) -> None:
        """Run the exchange to its end; whatever happens, it is closed exactly once."""
        steps = Steps(self._pool, self._loop)
        try:
            try:
                if app is None:
                    first = await steps.run(exchange.begin)
                else:
                    first = await steps.run_on_loop(exchange.begin_on_loop(app))
            except Exception:
                # Flask answers its own errors; this is one that even its error handler did not survive.
                log.exception("wsgi_app_raised", method=scope["method"], path=scope["path"])
                self._on_refusal(500)
                await answer(send, 500, code="internal", message="Something went wrong on the server.")
                return
            status, headers = exchange.head
            await send({"type": "http.response.start", "status": status, "headers": headers})
            if exchange.closed:
                await send({"type": "http.response.body", "body": first})
            else:
                await self._stream(receive, send, exchange, steps, first)
        finally:
            if not exchange.closed:
                leaving = asyncio.create_task(steps.finish_with(exchange.close))
                self._leaving.add(leaving)  # the loop itself holds tasks only weakly
                leaving.add_done_callback(self._leaving.discard)

    async def _stream(self, receive: Receive, send: Send, exchange: Exchange, steps: Steps, first: bytes) -> None:
        """Send chunks as they are drawn, one at a time: the next is drawn when the server took the one before.

        An error in the application is raised on, which makes the server cut the connection: a response that was not
        produced whole must not look whole.
        """
        left = asyncio.ensure_future(receive())  # the body is read, so only a disconnect can come
        try:
            chunk = first
            while chunk and not left.done():
                try:
                    async with asyncio.timeout(self._stall_seconds):
                        await send({"type": "http.response.body", "body": chunk, "more_body": True})
                except TimeoutError:
                    log.warning("client_reads_too_slowly", stall_seconds=self._stall_seconds)
                    return
                except OSError:  # how newer ASGI servers say that the client left
                    return
                chunk = await steps.run(exchange.more)
            if not left.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            left.cancel()


class Loop:
    """The event loop itself, with so many places."""

    def __init__(self, places: int) -> None:
        self._places = places
        self._taken = 0

    @property
    def full(self) -> bool:
        return self._taken >= self._places

    def start(self, step: Coroutine[Any, Any, T], context: contextvars.Context) -> asyncio.Task[T]:
        self._taken += 1
        task = asyncio.get_running_loop().create_task(step, context=context)
        task.add_done_callback(self._one_less)
        return task

    def _one_less(self, _: asyncio.Task[Any]) -> None:
        self._taken -= 1


class Pool(ThreadPoolExecutor):
    """A thread pool that knows how much it has to do. Threads start when needed."""

    def __init__(self, threads: int, waiting: int) -> None:
        super().__init__(max_workers=threads, thread_name_prefix="flask")
        self._limit = threads + waiting
        self._unfinished = 0
        self._count = threading.Lock()

    @property
    def full(self) -> bool:
        """True if every thread is busy and every place in the queue is taken."""
        return self._unfinished >= self._limit

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future = super().submit(fn, *args, **kwargs)
        with self._count:
            self._unfinished += 1
        future.add_done_callback(self._one_less)
        return future

    def _one_less(self, _: Future[Any]) -> None:
        with self._count:
            self._unfinished -= 1


class Steps:
    """The steps of one exchange: one at a time, each in some thread or on the loop, all in one fresh context.

    Cancelling a caller does not cancel his step: `finish_with` waits for it.
    """

    def __init__(self, pool: Pool, loop: Loop) -> None:
        self._pool = pool
        self._loop = loop
        self._context = contextvars.Context()
        self._running: asyncio.Task[Any] | None = None

    async def run(self, step: Callable[[], T]) -> T:
        """Run one step in a thread."""
        call = SyncToAsync(step, thread_sensitive=False, executor=self._pool, context=self._context)
        return await self._shielded(asyncio.ensure_future(call()))

    async def run_on_loop(self, step: Coroutine[Any, Any, T]) -> T:
        return await self._shielded(self._loop.start(step, self._context))

    async def _shielded(self, running: asyncio.Task[T]) -> T:
        self._running = running
        return await asyncio.shield(running)

    async def finish_with(self, close: Callable[[], None]) -> None:
        """Run `close` after the step that may still be running: two cannot be in one context."""
        if self._running is not None:
            await asyncio.wait([self._running])
        await self.run(close)
