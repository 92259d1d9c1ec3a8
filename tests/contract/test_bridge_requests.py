"""Requests through the bridge, over real sockets: what the application sees, and bodies refused as they come in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import flask
import httpx
import pytest

from service import request_body
from service.bridge import Bridge
from service.request_body import IN_MEMORY_BYTES
from tests.support.asgi_server import client_of, one_answer, raw, serving
from tests.support.wsgi_apps import echo


async def test_the_environment_is_what_a_wsgi_application_expects() -> None:
    request = (
        b"GET /a%2Fb/%C3%A4?q=%C3%A4&raw=a+b HTTP/1.1\r\nHost: lab.example\r\nX-One: 1\r\nX-One: 2\r\n"
        b"X_One: spoofed\r\nCookie: a=1\r\nCookie: b=2\r\nContent-Type: text/x\r\n\r\n"
    )
    async with serving(Bridge(echo)) as port:
        reader, writer = await raw(port, request)
        _, body = await one_answer(reader)
        writer.close()
    seen = json.loads(body)
    assert seen["PATH_INFO"].encode("latin-1").decode() == "/a/b/ä"
    assert seen["QUERY_STRING"] == "q=%C3%A4&raw=a+b"
    assert (seen["SCRIPT_NAME"], seen["REQUEST_METHOD"]) == ("", "GET")
    assert (seen["REMOTE_ADDR"], seen["SERVER_NAME"], seen["SERVER_PORT"]) == ("127.0.0.1", "127.0.0.1", str(port))
    assert (seen["wsgi.url_scheme"], seen["SERVER_PROTOCOL"]) == ("http", "HTTP/1.1")
    assert (seen["HTTP_X_ONE"], seen["HTTP_COOKIE"], seen["CONTENT_TYPE"]) == ("1,2", "a=1; b=2", "text/x")
    assert "CONTENT_LENGTH" not in seen


@pytest.mark.parametrize(("root", "url", "path"), [("/lab", "/lab/x", "/x"), ("/lab", "/labour", "/labour")])
async def test_the_root_path_becomes_the_script_name(root: str, url: str, path: str) -> None:
    transport = httpx.ASGITransport(Bridge(echo), root_path=root)
    async with httpx.AsyncClient(transport=transport, base_url="https://lab.example") as client:
        seen = (await client.get(url)).json()
    assert (seen["SCRIPT_NAME"], seen["PATH_INFO"], seen["wsgi.url_scheme"]) == (root, path, "https")


@pytest.mark.parametrize("size", [0, 10, IN_MEMORY_BYTES + 1])
async def test_a_body_arrives_whole_whether_counted_or_chunked(size: int) -> None:
    body = bytes(i % 251 for i in range(size))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, size, 10_000):
            yield body[start : start + 10_000]

    async with client_of(echo) as client:
        for content in (body, pieces()):
            seen = (await client.post("/", content=content)).json()
            assert seen["body"].encode("latin-1") == body
            assert seen.get("CONTENT_LENGTH", "0") == str(size)
            assert "HTTP_TRANSFER_ENCODING" not in seen


async def test_a_large_body_lies_in_a_file_and_a_form_in_it_is_read() -> None:
    app = flask.Flask("views")
    on_disk: list[bool] = []

    @app.post("/")
    async def view() -> dict[str, Any]:
        on_disk.append(flask.request.environ["wsgi.input"]._rolled)
        return {"length": len(flask.request.form["text"])}

    async with client_of(app) as client:
        assert (await client.post("/", data={"text": "x"})).json() == {"length": 1}
        assert (await client.post("/", data={"text": "x" * 400_000})).json() == {"length": 400_000}
    assert on_disk == [False, True]


async def test_a_client_that_waits_for_100_continue_gets_it() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    async with serving(Bridge(echo)) as port:
        reader, writer = await raw(port, head)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(b"hello")
        _, body = await one_answer(reader)
        writer.close()
    assert json.loads(body)["body"] == "hello"


async def test_a_body_that_promises_too_much_is_refused_unread_and_the_connection_goes_on() -> None:
    async with serving(Bridge(echo, max_body_bytes=1000)) as port:
        reader, writer = await raw(port, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n")
        head, body = await one_answer(reader)  # not one byte of the body is sent yet
        writer.write(b"x" * 200_000 + b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
        _, after = await one_answer(reader)
        writer.close()
    assert "413" in head.splitlines()[0]
    assert json.loads(body) == {
        "error": True,
        "message": "The request is larger than the 1000 bytes this service takes.",
        "code": "too_large",
    }
    assert json.loads(after)["PATH_INFO"] == "/next"


async def test_a_client_that_waits_for_100_continue_is_refused_without_it() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\nExpect: 100-continue\r\n\r\n"
    async with serving(Bridge(echo, max_body_bytes=1000)) as port:
        reader, writer = await raw(port, head)
        answer, _ = await one_answer(reader)
        assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
    assert "413" in answer.splitlines()[0]
    assert "connection: close" in answer


async def test_an_uncounted_body_is_refused_at_the_chunk_that_crosses_the_cap() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    async with serving(Bridge(echo, max_body_bytes=1500)) as port:
        reader, writer = await raw(port, head + chunk + chunk)
        answer, body = await one_answer(reader)  # the body is not over
        writer.write(chunk * 20 + b"0\r\n\r\n")
        assert await asyncio.wait_for(reader.read(), 5) == b""  # closed in order, not reset
        writer.close()
    assert "413" in answer.splitlines()[0]
    assert "connection: close" in answer
    assert json.loads(body)["code"] == "too_large"


@pytest.mark.parametrize("ends", [True, False])
async def test_a_refused_sender_is_read_to_its_end_or_for_its_time_before_the_connection_closes(
    monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    monkeypatch.setattr(request_body, "LINGER_SECONDS", 0.05)
    order: list[str] = []

    async def receive() -> Any:
        order.append("read")
        if order.count("read") < 3:
            return {"type": "http.request", "body": b"x", "more_body": True}
        if not ends:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": b"x", "more_body": False}

    async def send(message: Any) -> None:
        order.append(f"{message['type']} {message.get('more_body', '')}".strip())

    scope = {"headers": [(b"transfer-encoding", b"chunked")]}
    await request_body.refuse(scope, receive, send, 413, code="too_large", message="No.", unread=None)
    assert order == ["http.response.start", "http.response.body True", "read", "read", "read", "http.response.body"]


async def test_a_body_longer_than_it_promised_is_refused() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b"x" * 1000

    transport = httpx.ASGITransport(Bridge(echo, max_body_bytes=1500))
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        answer = await client.post("/", content=pieces(), headers={"content-length": "10"})
    assert answer.status_code == 413


async def test_nothing_is_dispatched_for_a_client_that_leaves_before_its_body_is_complete() -> None:
    calls: list[str] = []

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        calls.append(environ["PATH_INFO"])
        return echo(environ, start_response)

    bridge = Bridge(app)
    answered = asyncio.Event()

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        await bridge(scope, receive, send)
        answered.set()

    async with serving(watched) as port:
        _, writer = await raw(port, b"POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        writer.close()
        await asyncio.wait_for(answered.wait(), 10)
    assert calls == []
