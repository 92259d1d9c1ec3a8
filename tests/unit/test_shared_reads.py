"""Reads that many pages share: few of them, and none older than the question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from service.store.shared_reads import SharedReads


class Shelf:
    """A store whose reads take a snapshot when they begin and answer when they are let go."""

    def __init__(self) -> None:
        self.value = 0
        self.reads: list[list[str]] = []
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()

    async def read(self, keys: Sequence[str]) -> dict[str, int]:
        self.reads.append(list(keys))
        seen = self.value
        self.begun.set()
        await self.let_go.wait()
        if seen < 0:
            raise LookupError
        return {key: seen for key in keys if key != "unknown"}


async def asked(shared: SharedReads[str, int], *keys: str) -> list[asyncio.Task[int | None]]:
    """Questions that have all been asked when this returns."""
    tasks = [asyncio.create_task(shared.get(key)) for key in keys]
    await asyncio.sleep(0)
    return tasks


async def test_whatever_is_asked_at_one_moment_is_one_read_and_each_key_is_in_it_once() -> None:
    shelf = Shelf()
    shelf.let_go.set()
    shared = SharedReads(shelf.read)
    assert await asyncio.gather(*(shared.get(key) for key in ("a", "b", "a", "unknown"))) == [0, 0, 0, None]
    assert shelf.reads == [["a", "b", "unknown"]]


async def test_several_keys_of_one_caller_are_one_read_even_where_a_single_key_would_be_read_by_itself() -> None:
    shelf = Shelf()
    shelf.let_go.set()

    async def one(key: str) -> int | None:
        raise AssertionError(key)

    shared = SharedReads(shelf.read, read_one=one)
    assert await shared.get_all(["a", "unknown", "a", "b"]) == [0, None, 0, 0]
    assert shelf.reads == [["a", "unknown", "b"]]


async def test_what_is_asked_while_all_reads_are_under_way_shares_the_next() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read, at_once=1)
    first = await asked(shared, "a")
    await shelf.begun.wait()
    rest = await asked(shared, *"ab" * 50)
    shelf.let_go.set()
    assert await asyncio.gather(*first, *rest) == [0] * 101
    assert shelf.reads == [["a"], ["a", "b"]]


@pytest.mark.parametrize("at_once", [1, 4])
async def test_nobody_gets_an_answer_from_before_his_question(at_once: int) -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read, at_once=at_once)
    early = await asked(shared, "a")
    await shelf.begun.wait()
    shelf.value = 1
    late = await asked(shared, "a", "b")
    shelf.let_go.set()
    assert await asyncio.gather(*early, *late) == [0, 1, 1]


async def test_only_so_many_reads_run_at_once_and_only_so_many_keys_are_in_each() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read, at_once=2, most=3)
    tasks = await asked(shared, "a")
    await asyncio.sleep(0)
    tasks += await asked(shared, "b")
    await asyncio.sleep(0)
    tasks += await asked(shared, *"cdefg")
    await asyncio.sleep(0)
    assert shelf.reads == [["a"], ["b"]]
    shelf.let_go.set()
    await asyncio.gather(*tasks)
    assert sorted(map(len, shelf.reads)) == [1, 1, 2, 3]


async def test_a_fault_reaches_everybody_who_shares_it_and_nobody_after() -> None:
    shelf = Shelf()
    shelf.let_go.set()
    shared = SharedReads(shelf.read)
    shelf.value = -1
    answers = await asyncio.gather(*(shared.get("a") for _ in range(5)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [LookupError] * 5
    shelf.value = 7
    assert await shared.get("a") == 7


async def test_a_caller_that_leaves_does_not_take_the_others_answer_along() -> None:
    shelf = Shelf()
    shared = SharedReads(shelf.read)
    leaver, stayer = await asked(shared, "a", "a")
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    shelf.let_go.set()
    assert await stayer == 0


async def test_few_questions_are_read_each_by_itself_and_what_comes_meanwhile_together() -> None:
    shelf = Shelf()
    alone: list[str] = []

    async def one(key: str) -> int:
        alone.append(key)
        await shelf.let_go.wait()
        return 7

    shared = SharedReads(shelf.read, read_one=one, at_once=2)
    tasks = await asked(shared, *"abcdc")
    assert alone == ["a", "b"]
    assert shelf.reads == []
    shelf.let_go.set()
    assert await asyncio.gather(*tasks) == [7, 7, 0, 0, 0]
    assert shelf.reads == [["c", "d"]]
    assert await shared.get("e") == 7, "and then there is nobody to share with"


async def test_a_read_that_fails_alone_lets_the_others_go_on() -> None:
    shelf = Shelf()
    shelf.let_go.set()

    async def one(key: str) -> int:
        await asyncio.sleep(0)
        raise LookupError(key)

    shared = SharedReads(shelf.read, read_one=one, at_once=1)
    answers = await asyncio.gather(*(shared.get(key) for key in "ab"), return_exceptions=True)
    assert isinstance(answers[0], LookupError)
    assert answers[1] == 0


class Ended(BaseException):
    """What is no Exception, and must reach whoever waits all the same."""


@pytest.mark.parametrize(("fault", "told"), [(Ended, Ended), (asyncio.CancelledError, asyncio.CancelledError)])
async def test_whatever_ends_a_read_nobody_waits_for_ever(
    fault: type[BaseException], told: type[BaseException]
) -> None:
    async def ending(_: Sequence[str]) -> dict[str, int]:
        raise fault

    shared = SharedReads(ending)
    waiting = [asyncio.create_task(shared.get_all(["a", "b"])) for _ in range(3)]
    done, late = await asyncio.wait(waiting, timeout=5)
    assert (len(done), late) == (3, set())
    for task in done:
        with pytest.raises(told):
            task.result()
