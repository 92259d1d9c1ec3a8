"""Reads that many pages share: few of them, and none older than the question."""

from __future__ import annotations

import asyncio

import pytest

from service.web.shared_reads import SharedReads


class Shelf:
    """A store whose reads take a snapshot when they begin and answer when they are let go."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()

    async def read(self, key: str) -> tuple[str, int]:
        self.reads += 1
        seen = self.value
        self.begun.set()
        await self.let_go.wait()
        if seen < 0:
            raise LookupError(key)
        return key, seen


async def test_a_hundred_questions_that_come_during_a_read_share_the_next() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read)
    first = asyncio.create_task(shared.get("a"))
    await shelf.begun.wait()
    rest = [asyncio.create_task(shared.get("a")) for _ in range(100)]
    await asyncio.sleep(0)
    shelf.let_go.set()
    assert await asyncio.gather(first, *rest) == [("a", 0)] * 101
    assert shelf.reads == 2


async def test_nobody_gets_an_answer_from_before_his_question() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read)
    early = asyncio.create_task(shared.get("a"))
    await shelf.begun.wait()
    shelf.value = 1
    late = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0)
    shelf.let_go.set()
    assert await asyncio.gather(early, late) == [("a", 0), ("a", 1)]


async def test_a_question_during_the_shared_read_waits_for_one_more() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read)
    first = asyncio.create_task(shared.get("a"))
    await shelf.begun.wait()
    second = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0)
    shelf.begun.clear()
    shelf.let_go.set()
    await first
    shelf.let_go.clear()
    await shelf.begun.wait()
    shelf.value = 2
    third = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0)
    shelf.let_go.set()
    assert await asyncio.gather(second, third) == [("a", 0), ("a", 2)]
    assert shelf.reads == 3


async def test_other_keys_wait_for_nobody() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read)
    tasks = [asyncio.create_task(shared.get(key)) for key in "abc"]
    await shelf.begun.wait()
    await asyncio.sleep(0)
    assert shelf.reads == 3
    shelf.let_go.set()
    assert await asyncio.gather(*tasks) == [("a", 0), ("b", 0), ("c", 0)]


async def test_a_fault_reaches_everybody_who_shares_it_and_nobody_after() -> None:
    shelf = Shelf()
    shelf.let_go.set()
    shared = SharedReads(shelf.read)
    shelf.value = -1
    answers = await asyncio.gather(*(shared.get("a") for _ in range(5)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [LookupError] * 5
    shelf.value = 7
    assert await shared.get("a") == ("a", 7)


async def test_a_caller_that_leaves_does_not_take_the_others_answer_along() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read)
    first = asyncio.create_task(shared.get("a"))
    await shelf.begun.wait()
    leaver, stayer = (asyncio.create_task(shared.get("a")) for _ in range(2))
    await asyncio.sleep(0)
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    shelf.let_go.set()
    assert await asyncio.gather(first, stayer) == [("a", 0)] * 2
