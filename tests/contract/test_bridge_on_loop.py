"""Quick requests are answered on the event loop itself: no thread, nothing else different."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from flask import g, request

from service.bridge import Bridge
from service.web.application import Application


def quick(app: Application, **settings: Any) -> httpx.AsyncClient:
    bridge = Bridge(app, on_loop=lambda scope: app.answer if scope["path"].startswith("/quick") else None, **settings)
    return httpx.AsyncClient(transport=httpx.ASGITransport(bridge), base_url="http://test")


@pytest.fixture
def app() -> Application:
    made = Application("quick")

    @made.before_request
    def remember() -> None:
        g.seen_in_before = threading.get_ident()

    @made.get("/quick/<name>")
    async def view(name: str) -> dict[str, Any]:
        await asyncio.sleep(0.01 if name == "slow" else 0)
        return {"name": request.view_args["name"], "thread": threading.get_ident(), "before": g.seen_in_before}  # type: ignore[index]

    @made.get("/quick-fault")
    async def fault() -> str:
        await asyncio.sleep(0)
        raise LookupError

    @made.errorhandler(LookupError)
    def told(_: Exception) -> tuple[str, int]:
        return "told", 418

    @made.get("/elsewhere")
    async def elsewhere() -> dict[str, Any]:
        return {"thread": threading.get_ident(), "before": g.seen_in_before}

    return made


async def test_hooks_and_the_async_view_run_on_the_loop_and_share_one_request(app: Application) -> None:
    async with quick(app) as client:
        answers = await asyncio.gather(*(client.get(f"/quick/{name}") for name in ("slow", "b", "slow", "d")))
    here = threading.get_ident()
    assert [answer.json() for answer in answers] == [
        {"name": name, "thread": here, "before": here} for name in ("slow", "b", "slow", "d")
    ]


async def test_other_requests_still_have_a_thread_of_their_own(app: Application) -> None:
    async with quick(app) as client:
        told = (await client.get("/elsewhere")).json()
    assert told["thread"] == threading.get_ident() != told["before"]


async def test_an_error_of_the_view_reaches_flasks_handler(app: Application) -> None:
    async with quick(app) as client:
        answer = await client.get("/quick-fault")
    assert (answer.status_code, answer.text) == (418, "told")


async def test_what_no_view_answers_is_answered_by_flask(app: Application) -> None:
    async with quick(app) as client:
        assert (await client.post("/quick/x")).status_code == 405
        assert (await client.get("/quick-nowhere")).status_code == 404
        assert (await client.options("/quick/x")).headers["allow"]


async def test_every_request_is_torn_down_whatever_came_of_it(app: Application) -> None:
    torn: list[Any] = []
    app.teardown_request(torn.append)
    async with quick(app) as client:
        for path in ("/quick-nowhere", "/quick/b", "/quick-fault"):
            await client.get(path)
    assert torn == [None, None, None]


async def test_too_many_at_once_are_told_to_come_back(app: Application) -> None:
    async with quick(app, on_loop_at_once=2) as client:
        answers = await asyncio.gather(*(client.get("/quick/slow") for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 503, 503, 503]
        assert (await client.get("/quick/slow")).status_code == 200, "places are given back"


async def test_a_cancelled_quick_request_does_not_cut_its_view(app: Application) -> None:
    reached, ended, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @app.get("/quick-write")
    async def write() -> str:
        reached.set()
        await go_on.wait()
        ended.set()
        return "done"

    async with quick(app) as client:
        asking = asyncio.create_task(client.get("/quick-write"))
        await reached.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        go_on.set()
        await asyncio.wait_for(ended.wait(), 5)


async def test_without_a_bridge_flask_does_as_ever(app: Application) -> None:
    ask: Callable[[], Any] = lambda: app.test_client().get("/quick/x").json["name"]  # noqa: E731
    assert await asyncio.to_thread(ask) == "x"


async def test_the_word_of_a_trusted_proxy_counts_on_either_way(app: Application) -> None:
    """And only what that proxy added itself."""

    @app.get("/quick-who")
    @app.get("/who")
    async def who() -> dict[str, Any]:
        return {"from": request.remote_addr, "scheme": request.scheme}

    headers = {"x-forwarded-for": "192.0.2.1, 203.0.113.7", "x-forwarded-proto": "https"}
    async with quick(app) as client:
        assert (await client.get("/quick-who", headers=headers)).json()["scheme"] == "http"
    app.believe_proxies(1)
    async with quick(app) as client:
        for path in ("/who", "/quick-who"):
            told = (await client.get(path, headers=headers)).json()
            assert told == {"from": "203.0.113.7", "scheme": "https"}, path
