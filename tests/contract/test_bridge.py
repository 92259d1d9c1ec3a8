"""Flask under ASGI, over real sockets: speed, isolation, overload, and the life of the server."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import statistics
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import flask
import httpx
import pytest
import structlog
import uvicorn
from structlog.testing import capture_logs

from service.bridge import HANDOVER_SECONDS, Bridge
from tests.support.asgi_server import client_of, one_answer, raw, serving
from tests.support.wsgi_apps import Closing, echo, happened, streamed

LAST_SEEN: contextvars.ContextVar[str] = contextvars.ContextVar("last_seen")


class Submissions:
    """Counts what a bridge gives to its pool, and says when a number is reached."""

    def __init__(self, bridge: Bridge, expected: int) -> None:
        self.count = 0
        self.reached = asyncio.Event()
        submit = bridge._pool.submit

        def counted(*args: Any, **kwargs: Any) -> Any:
            future = submit(*args, **kwargs)
            self.count += 1
            if self.count == expected:
                self.reached.set()
            return future

        bridge._pool.submit = counted  # type: ignore[method-assign]


async def test_an_async_view_runs_on_the_serving_loop() -> None:
    app = flask.Flask("views")

    @app.get("/loop")
    async def loop() -> dict[str, Any]:
        return {"loop": id(asyncio.get_running_loop()), "thread": threading.get_ident()}

    async with client_of(app) as client:
        seen = (await client.get("/loop")).json()
    assert seen == {"loop": id(asyncio.get_running_loop()), "thread": threading.get_ident()}


async def test_two_hundred_requests_on_one_connection_all_succeed() -> None:
    app = flask.Flask("views")

    @app.get("/")
    async def view() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"port": flask.request.environ["REMOTE_PORT"]}

    async with client_of(app) as client:
        answers = [await client.get("/") for _ in range(200)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["port"] for answer in answers}) == 1


async def test_sixteen_views_are_inside_at_the_same_time() -> None:
    app = flask.Flask("views")
    inside, all_in = 0, asyncio.Event()

    @app.get("/")
    async def view() -> dict[str, Any]:
        nonlocal inside
        inside += 1
        if inside == 16:
            all_in.set()
        await asyncio.wait_for(all_in.wait(), 10)
        return {}

    async with client_of(app) as client:
        answers = await asyncio.gather(*(client.get("/") for _ in range(16)))
    assert [answer.status_code for answer in answers] == [200] * 16


async def test_sixteen_views_that_wait_50_ms_wait_together() -> None:
    app = flask.Flask("views")

    @app.get("/")
    async def view() -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return {}

    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    async with serving(Bridge(app)) as port:
        connections = [await raw(port, b"") for _ in range(16)]
        took: list[float] = []
        while not took or (min(took) >= 0.3 and len(took) < 20):  # the machine may be busy, the bridge may not
            start = time.perf_counter()
            for _, writer in connections:
                writer.write(request)
            await asyncio.gather(*(one_answer(reader) for reader, _ in connections))
            took.append(time.perf_counter() - start)
        for _, writer in connections:
            writer.close()
    assert min(took) < 0.3  # one after the other: 0.8


@pytest.mark.parametrize("export", ["computes", "blocks"])
async def test_a_slow_export_leaves_the_polls_beside_it_quick_c17(export: str) -> None:
    app = flask.Flask("views")
    stop = threading.Event()

    @app.get("/poll")
    async def poll() -> dict[str, Any]:
        await asyncio.sleep(0.01)  # what one read of the store takes
        return {}

    @app.get("/export")
    def write_export() -> flask.Response:
        def chunks() -> Iterator[bytes]:
            deadline = time.monotonic() + 10
            while not stop.is_set() and time.monotonic() < deadline:
                if export == "computes":
                    sum(i * i for i in range(100_000))
                else:
                    stop.wait(0.2)
                yield b"row\r\n"

        return flask.Response(chunks())

    async def typical_poll(client: httpx.AsyncClient) -> float:
        took = []
        for _ in range(25):
            start = time.perf_counter()
            assert (await client.get("/poll")).status_code == 200
            took.append(time.perf_counter() - start)
        return statistics.median(took[5:])

    async with client_of(app) as client:
        alone = await typical_poll(client)
        async with client.stream("GET", "/export") as answer:
            rows = answer.aiter_raw()
            await anext(rows)
            beside = await typical_poll(client)
            stop.set()
    assert beside < 3 * alone


async def test_each_request_has_a_fresh_context() -> None:
    app = flask.Flask("views")

    @app.get("/<name>")
    async def view(name: str) -> dict[str, Any]:
        before = LAST_SEEN.get("nobody"), structlog.contextvars.get_contextvars()
        LAST_SEEN.set(name)
        structlog.contextvars.bind_contextvars(movie_id=name)
        return {"before": before}

    @app.after_request
    def same_context(response: flask.Response) -> flask.Response:
        response.headers["x-seen"] = LAST_SEEN.get("nobody")
        return response

    LAST_SEEN.set("the server itself")  # what a server task or a host's middleware may carry
    structlog.contextvars.bind_contextvars(job_id="the server's")
    async with client_of(app, threads=1) as client:
        for name in ("a", "b", "c"):
            answer = await client.get(f"/{name}")
            assert answer.json() == {"before": ["nobody", {}]}
            assert answer.headers["x-seen"] == name


def test_a_bridge_shortens_how_long_threads_wait_for_each_other_and_never_lengthens_it() -> None:
    before = sys.getswitchinterval()
    try:
        for found, left in ((0.005, HANDOVER_SECONDS), (0.0001, 0.0001)):
            sys.setswitchinterval(found)
            Bridge(echo)
            assert sys.getswitchinterval() == pytest.approx(left, rel=0.05)
    finally:
        sys.setswitchinterval(before)


async def test_overload_is_answered_503_with_a_time_to_come_back() -> None:
    app = flask.Flask("views")
    go = asyncio.Event()

    @app.route("/", methods=["GET", "POST"])
    async def view() -> dict[str, Any]:
        await go.wait()
        return {}

    told: list[int] = []
    bridge = Bridge(app, threads=1, waiting=1, retry_after=7, on_refusal=told.append)
    waiting = Submissions(bridge, expected=2)
    async with client_of(bridge) as client:
        first = [asyncio.create_task(client.get("/")) for _ in range(2)]
        await asyncio.wait_for(waiting.reached.wait(), 10)
        refused = await client.post("/", content=b"x" * 1000)
        go.set()
        assert [(await task).status_code for task in first] == [200, 200]
        assert (await client.get("/")).status_code == 200
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "7"
    assert refused.json()["error"] is True
    assert refused.json()["code"] == "overloaded"
    assert told == [503]


async def test_a_small_finished_response_takes_one_way_through_the_pool() -> None:
    bridge = Bridge(echo)
    ways = Submissions(bridge, expected=1)
    async with client_of(bridge) as client:
        assert (await client.get("/")).status_code == 200
    assert ways.count == 1


async def test_the_lifespan_is_entered_before_the_first_request_and_left_after_the_last() -> None:
    events: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        events.append("open")
        yield
        events.append("closed")

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        events.append("request")
        return echo(environ, start_response)

    async with (
        serving(Bridge(app, lifespan=lifespan), lifespan="on") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        await client.get("/")
    assert events == ["open", "request", "closed"]


@pytest.mark.parametrize("phase", ["startup", "shutdown"])
async def test_a_failing_lifespan_is_reported_to_the_server_and_logged(phase: str) -> None:
    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        if phase == "startup":
            raise OSError("no store")
        yield
        raise OSError("no store")

    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "lifespan.startup" if not sent else "lifespan.shutdown"}

    async def send(message: Any) -> None:
        sent.append(message)

    with capture_logs() as logs:
        await Bridge(echo, lifespan=lifespan)({"type": "lifespan"}, receive, send)
    assert sent[-1] == {"type": f"lifespan.{phase}.failed", "message": "OSError: no store"}
    assert [(entry["event"], entry["phase"]) for entry in logs] == [("lifespan_failed", phase)]


async def test_a_server_whose_lifespan_fails_does_not_start() -> None:
    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        raise OSError("no store")
        yield

    bridge = Bridge(echo, lifespan=lifespan)
    with pytest.raises(SystemExit):
        await asyncio.to_thread(uvicorn.run, bridge, host="127.0.0.1", port=0, log_config=None)


async def test_a_cancelled_request_lets_its_view_end_and_closes_the_response_after_it() -> None:
    entered, go = threading.Event(), threading.Event()
    response = Closing(iter([b"a", b"b"]))
    order: list[str] = []

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        entered.set()
        assert go.wait(10)
        order.append("view")
        return streamed(response)(environ, start_response)

    transport = httpx.ASGITransport(Bridge(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        request = asyncio.create_task(client.get("/"))
        await happened(entered)
        request.cancel()
        with suppress(asyncio.CancelledError):
            await request
        assert response.closed == 0
        go.set()
        assert await happened(response.was_closed)
    assert (order, response.closed) == (["view"], 1)


async def test_a_cancelled_request_does_not_cut_its_async_view() -> None:
    app = flask.Flask("views")
    entered, go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @app.get("/")
    async def view() -> dict[str, Any]:
        entered.set()
        await go.wait()
        ended.set()
        return {}

    async with httpx.AsyncClient(transport=httpx.ASGITransport(Bridge(app)), base_url="http://x") as client:
        request = asyncio.create_task(client.get("/"))
        await asyncio.wait_for(entered.wait(), 10)
        request.cancel()
        with suppress(asyncio.CancelledError):
            await request
        go.set()
        await asyncio.wait_for(ended.wait(), 10)


async def test_a_websocket_is_closed() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await Bridge(echo)({"type": "websocket"}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_an_unused_bridge_lets_its_threads_go() -> None:
    async with client_of(echo) as client:
        await client.get("/")
        mine = [thread for thread in threading.enumerate() if thread.name.startswith("flask")]
    assert mine
    gc.collect()
    for thread in mine:
        await asyncio.to_thread(thread.join, 10)
    assert not any(thread.is_alive() for thread in mine)
