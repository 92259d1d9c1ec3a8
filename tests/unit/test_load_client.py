"""The client and the pace of a load: what comes over the wire is understood, and a schedule waits for nobody."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from service.bench.pace import at_rate, closed
from service.bench.processor import since, used_by
from service.bench.wire import Client, Unanswered, Unreadable, get, post

REQUEST = get(b"host", "/")


@asynccontextmanager
async def answering(answer: Callable[[int, asyncio.StreamWriter], None]) -> AsyncIterator[Client]:
    """A client of a server that lets `answer` write to each request, whose number it is told."""
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                count += 1
                answer(count, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        client = Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        yield client
        client.close()


async def test_answers_that_come_in_pieces_or_without_a_body_are_told_apart() -> None:
    def answer(number: int, writer: asyncio.StreamWriter) -> None:
        if number == 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            writer.get_extra_info("socket").setsockopt(6, 1, 1)
            asyncio.get_running_loop().call_later(0.01, writer.write, b'ngth: 5\r\nETag: "a"\r\n\r\nhel')
            asyncio.get_running_loop().call_later(0.02, writer.write, b"lo")
        else:
            writer.write(b'HTTP/1.1 304 NOT MODIFIED\r\netag: "a"\r\n\r\n')

    async with answering(answer) as client:
        whole, unchanged = await client.ask(REQUEST), await client.ask(REQUEST)
        assert (whole.status, whole.body, whole.header(b"etag")) == (200, b"hello", b'"a"')
        assert (unchanged.status, unchanged.body, unchanged.header(b"x-other")) == (304, b"", None)
        assert client.connections == 1


async def test_a_connection_that_was_lost_is_made_again() -> None:
    def answer(number: int, writer: asyncio.StreamWriter) -> None:
        if number == 1:
            writer.close()
        else:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    async with answering(answer) as client:
        with pytest.raises(Unanswered):
            await client.ask(REQUEST)
        assert (await client.ask(REQUEST)).status == 200
        assert client.connections == 2


async def test_an_answer_of_unknown_length_is_no_answer() -> None:
    async with answering(lambda _, writer: writer.write(b"HTTP/1.1 200 OK\r\n\r\nendless")) as client:
        with pytest.raises(Unreadable):
            await client.ask(REQUEST)


def test_requests_are_written_whole() -> None:
    assert get(b"h:1", "/a?b", b"X: y\r\n") == b"GET /a?b HTTP/1.1\r\nHost: h:1\r\nAccept: */*\r\nX: y\r\n\r\n"
    head, _, body = post(b"h:1", "/a", b"b=c").partition(b"\r\n\r\n")
    assert b"Content-Length: 3" in head.split(b"\r\n")
    assert body == b"b=c"


class Slow:
    """Takes `seconds` for a turn; when each was due and began."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.due = asyncio.Queue[float]()
        self.turns: list[tuple[float, float]] = []

    async def turn(self, due: float) -> float:
        self.turns.append((due, time.monotonic()))
        await asyncio.sleep(self.seconds)
        return 0.0


async def test_what_is_due_while_a_client_is_busy_waits_and_is_late() -> None:
    start = time.monotonic()
    asker = Slow(0.05)
    never = await at_rate([asker], 100.0, start, 0.0, start + 0.2)
    assert never == []
    assert 8 <= len(asker.turns) <= 40, "about twenty, however slow the client is"
    assert [due for due, _ in asker.turns] == sorted(due for due, _ in asker.turns)
    assert all(due < start + 0.2 for due, _ in asker.turns)
    assert asker.turns[-1][1] - asker.turns[-1][0] > 0.1, "the last one waited for those before it"


async def test_a_closed_loop_asks_when_it_has_been_answered() -> None:
    start = time.monotonic()
    asker = Slow(0.02)
    await closed(asker, start, start + 0.1)
    begun = [at for _, at in asker.turns]
    assert 1 <= len(begun) <= 5
    assert all(later - earlier >= 0.019 for earlier, later in pairwise(begun))


def test_the_time_of_a_process_is_its_own() -> None:
    before = used_by(os.getpid())
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    spent = since(before, used_by(os.getpid()))[os.getpid()]
    assert spent.role == "web"
    assert 0.03 <= spent.seconds < 5
