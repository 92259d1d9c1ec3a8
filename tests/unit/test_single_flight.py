"""Reads of one key: one at a time, shared, and none older than its question."""

from __future__ import annotations

import asyncio

import pytest

from service.store.single_flight import SingleFlight


class Book:
    """Reads see what stands there when they begin, and end when they are let go."""

    def __init__(self) -> None:
        self.page, self.begun = 0, 0
        self.let_go = asyncio.Event()

    async def read(self) -> int:
        self.begun += 1
        seen = self.page
        await self.let_go.wait()
        if seen < 0:
            raise LookupError
        return seen


async def asked(flight: SingleFlight[str, int], book: Book, key: str = "a") -> asyncio.Task[int]:
    task = asyncio.create_task(flight.get(key, book.read))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_who_asks_while_a_read_is_under_way_shares_the_next_one_and_sees_what_was_written_before() -> None:
    flight: SingleFlight[str, int] = SingleFlight()
    book = Book()
    first = await asked(flight, book)
    book.page = 1
    others = [await asked(flight, book) for _ in range(5)]
    assert book.begun == 1
    book.page = 2
    book.let_go.set()
    assert await first == 0
    assert await asyncio.gather(*others) == [2] * 5
    assert book.begun == 2
    assert await flight.get("a", book.read) == 2
    assert book.begun == 3, "an answer is not kept"


async def test_keys_do_not_wait_for_each_other() -> None:
    flight: SingleFlight[str, int] = SingleFlight()
    slow, quick = Book(), Book()
    quick.let_go.set()
    waiting = await asked(flight, slow, "slow")
    assert await asyncio.wait_for(flight.get("quick", quick.read), 1) == 0
    slow.let_go.set()
    assert await waiting == 0


async def test_who_leaves_takes_nothing_from_the_others_and_a_failure_is_told_to_all() -> None:
    flight: SingleFlight[str, int] = SingleFlight()
    book = Book()
    leaving = await asked(flight, book)
    leaving.cancel()
    book.page = 1
    also_leaving, staying = await asked(flight, book), await asked(flight, book)
    also_leaving.cancel()
    book.let_go.set()
    assert await staying == 1
    book.let_go.clear()
    book.page = -1
    failing = [await asked(flight, book) for _ in range(3)]
    book.let_go.set()
    for task in failing:
        with pytest.raises(LookupError):
            await task
    book.page = 3
    assert await flight.get("a", book.read) == 3
    assert not flight._next
    assert not flight._under_way
