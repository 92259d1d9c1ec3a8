"""Responses through the bridge, over real sockets: closed once, streamed with back-pressure, headers kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import flask
import httpx
import pytest
from structlog.testing import capture_logs

from service.bridge import Bridge
from tests.support.asgi_server import client_of, raw, serving
from tests.support.wsgi_apps import Closing, happened, streamed


@pytest.mark.parametrize("chunks", [[], [b"one"], [b"a"] * 50])
async def test_a_response_is_closed_once_when_it_ends(chunks: list[bytes]) -> None:
    response = Closing(iter(chunks))
    async with client_of(streamed(response)) as client:
        assert (await client.get("/")).content == b"".join(chunks)
    assert response.closed == 1


async def test_a_response_that_breaks_before_its_first_byte_is_closed_once_and_answered_500() -> None:
    def chunks() -> Iterator[bytes]:
        raise ValueError("secret")
        yield b""

    response = Closing(chunks())
    with capture_logs() as logs:
        async with client_of(streamed(response)) as client:
            answer = await client.get("/")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "secret" not in answer.text
    assert response.closed == 1
    assert [(entry["event"], entry["exc_info"]) for entry in logs] == [("wsgi_app_raised", True)]


async def test_a_response_that_breaks_midway_is_closed_once_and_visibly_cut() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"half"
        raise ValueError

    response = Closing(chunks())
    async with client_of(streamed(response)) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/")
    assert response.closed == 1


async def test_a_client_that_leaves_midway_ends_the_response() -> None:
    def chunks() -> Iterator[bytes]:
        while True:
            yield b"x" * 1000

    response = Closing(chunks())
    async with client_of(streamed(response), threads=1) as client:
        async with client.stream("GET", "/") as answer:
            await anext(answer.aiter_raw())
        assert await happened(response.was_closed)
    assert response.closed == 1


async def test_a_flask_stream_keeps_its_request_and_is_torn_down_when_the_client_leaves() -> None:
    app = flask.Flask("views")
    torn_down: list[str] = []
    done = threading.Event()

    @app.get("/<name>")
    def view(name: str) -> flask.Response:
        def chunks() -> Iterator[str]:
            try:
                while True:
                    yield flask.request.path
            finally:
                torn_down.append(flask.request.path)

        response = flask.Response(flask.stream_with_context(chunks()))
        response.call_on_close(done.set)
        return response

    with capture_logs() as logs:
        async with client_of(app) as client:
            async with client.stream("GET", "/plant") as answer:
                assert (await anext(answer.aiter_raw())).startswith(b"/plant")
            assert await happened(done)
    assert torn_down == ["/plant"]
    assert logs == []


async def test_chunks_go_out_as_they_are_made() -> None:
    more = threading.Event()

    def chunks() -> Iterator[bytes]:
        yield b"first"
        assert more.wait(10)
        yield b"second"

    async with client_of(streamed(chunks())) as client, client.stream("GET", "/") as answer:
        received = answer.aiter_raw()
        assert await anext(received) == b"first"
        more.set()
        assert await anext(received) == b"second"


async def test_a_slow_reader_holds_back_the_stream_but_no_thread_and_is_given_up() -> None:
    made = 0

    def chunks() -> Iterator[bytes]:
        nonlocal made
        for _ in range(4000):  # 256 MB, far beyond what sockets buffer
            made += 1
            yield b"x" * 65536

    response = Closing(chunks())

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        return streamed(response if environ["PATH_INFO"] == "/big" else [b"small"])(environ, start_response)

    with capture_logs() as logs:
        async with serving(Bridge(app, threads=1, stall_seconds=1.0)) as port:
            _, writer = await raw(port, b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                assert (await client.get("/small")).text == "small"  # the only thread is free again
            assert await happened(response.was_closed)
            writer.transport.abort()
    assert made < 1000
    assert response.closed == 1
    assert [entry["event"] for entry in logs] == ["client_reads_too_slowly"]


async def test_a_file_is_sent_whole(tmp_path: Any) -> None:
    app = flask.Flask("views")
    content = bytes(range(256)) * 2000
    (tmp_path / "movie.bin").write_bytes(content)

    @app.get("/")
    def view() -> flask.Response:
        return flask.send_file(tmp_path / "movie.bin", conditional=True)

    async with client_of(app) as client:
        assert (await client.get("/")).content == content
        part = await client.get("/", headers={"Range": "bytes=100-199999"})
    assert part.status_code == 206
    assert part.content == content[100:200_000]


async def test_head_and_empty_answers_keep_their_headers_and_have_no_body() -> None:
    app = flask.Flask("views")
    app.add_url_rule("/full", view_func=lambda: "x" * 1234, endpoint="full")
    app.add_url_rule("/none", view_func=lambda: ("", 204), endpoint="none")
    app.add_url_rule("/empty", view_func=lambda: "", endpoint="empty")
    async with client_of(app) as client:
        head, none, empty = await client.head("/full"), await client.get("/none"), await client.get("/empty")
        after = await client.get("/full")
    assert (head.headers["content-length"], head.content) == ("1234", b"")
    assert (none.status_code, none.content) == (204, b"")
    assert (empty.headers["content-length"], empty.content) == ("0", b"")
    assert (after.headers["content-length"], len(after.content)) == ("1234", 1234)


async def test_two_cookies_stay_two_headers() -> None:
    app = flask.Flask("views")

    @app.get("/")
    def view() -> flask.Response:
        response = flask.Response("")
        response.set_cookie("a", "1")
        response.set_cookie("b", "2")
        return response

    async with client_of(app) as client:
        answer = await client.get("/")
    assert [value.split(";")[0] for value in answer.headers.get_list("set-cookie")] == ["a=1", "b=2"]


async def test_headers_in_latin_1_pass_both_ways_and_others_go_out_as_utf_8_and_are_named_in_the_log() -> None:
    app = flask.Flask("views")

    @app.get("/")
    def view() -> flask.Response:
        return flask.Response("", headers={"X-Back": flask.request.headers["X-Name"], "X-Title": "豆の芽"})

    with capture_logs() as logs:
        async with client_of(app) as client:
            answer = await client.get("/", headers=[(b"x-name", "Grün".encode("latin-1"))])
    raw_headers = dict(answer.headers.raw)
    assert answer.status_code == 200
    assert raw_headers[b"x-back"] == "Grün".encode("latin-1")
    assert raw_headers[b"x-title"] == "豆の芽".encode()
    assert [(entry["event"], entry["header"]) for entry in logs] == [("header_is_not_latin_1", "X-Title")]
