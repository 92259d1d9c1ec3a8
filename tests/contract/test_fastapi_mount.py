"""A lab's FastAPI application takes the whole service in under a prefix."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import fastapi
import flask
import httpx

from service.bridge import Bridge
from tests.support.asgi_server import serving
from tests.support.wsgi_apps import Closing, happened, streamed


def service(opened: list[str]) -> Bridge:
    """A small Flask service whose lifespan holds what its views need."""
    app = flask.Flask("service")

    @asynccontextmanager
    async def runtime() -> AsyncIterator[None]:
        opened.append(f"open on {id(asyncio.get_running_loop())}")
        yield
        opened.append("closed")

    @app.get("/movies/<name>")
    async def movie(name: str) -> dict[str, Any]:
        return {
            "url": flask.url_for("movie", name=name),
            "external": flask.url_for("movie", name=name, _external=True),
            "script_name": flask.request.environ["SCRIPT_NAME"],
            "path": flask.request.path,
            "opened": list(opened),
        }

    return Bridge(app, lifespan=runtime)


async def test_a_mounted_service_keeps_its_prefix_and_the_host_opens_its_runtime() -> None:
    opened: list[str] = []
    bridge = service(opened)

    @asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        async with bridge.lifespan():
            yield

    host = fastapi.FastAPI(lifespan=lifespan)

    @host.get("/own")
    async def own() -> dict[str, bool]:
        return {"own": True}

    host.mount("/lab", bridge)
    async with (
        serving(host, lifespan="on") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        assert (await client.get("/own")).json() == {"own": True}
        seen = (await client.get("/lab/movies/bean%20one")).json()
        missing = await client.get("/movies/bean")
    assert seen == {
        "url": "/lab/movies/bean%20one",
        "external": f"http://127.0.0.1:{port}/lab/movies/bean%20one",
        "script_name": "/lab",
        "path": "/movies/bean one",
        "opened": [f"open on {id(asyncio.get_running_loop())}"],
    }
    assert missing.status_code == 404
    assert opened[-1] == "closed"


async def test_a_mount_within_a_served_prefix_adds_both() -> None:
    host = fastapi.FastAPI()
    host.mount("/lab", service([]))
    async with (
        serving(host, root_path="/proxy") as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        seen = (await client.get("/lab/movies/bean")).json()
    assert (seen["script_name"], seen["path"], seen["url"]) == ("/proxy/lab", "/movies/bean", "/proxy/lab/movies/bean")


def with_middleware(app: Any) -> fastapi.FastAPI:
    """A host whose middleware stands between server and mount, and wraps both directions."""
    host = fastapi.FastAPI()

    @host.middleware("http")
    async def stamp(request: fastapi.Request, call_next: Any) -> Any:
        answer = await call_next(request)
        answer.headers["x-host"] = "yes"
        return answer

    host.mount("/lab", app)
    return host


async def test_many_requests_through_a_host_with_middleware_all_succeed() -> None:
    host = with_middleware(service([]))
    async with serving(host) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        answers = await asyncio.gather(*(client.get("/lab/movies/bean") for _ in range(40)))
    assert {(answer.status_code, answer.headers["x-host"]) for answer in answers} == {(200, "yes")}


async def test_a_stream_through_a_host_with_middleware_arrives_piece_by_piece_and_ends_when_the_client_leaves() -> None:
    more = threading.Event()

    def chunks() -> Iterator[bytes]:
        yield b"first"
        assert more.wait(10)
        while True:
            yield b"x" * 1000

    response = Closing(chunks())
    host = with_middleware(Bridge(streamed(response)))
    async with serving(host) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        async with client.stream("GET", "/lab/export") as answer:
            received = answer.aiter_raw()
            assert await anext(received) == b"first"
            more.set()
            assert await anext(received)
        assert await happened(response.was_closed)
    assert response.closed == 1
