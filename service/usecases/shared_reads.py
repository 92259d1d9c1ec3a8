"""Many pages poll: those that ask while reads are under way share the next one, whichever movies they ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedReads(Generic[T]):
    """Few reads for many questions: each takes all keys that were asked for before it began, each key once.

    Nobody gets an answer that is older than his question, so a page that has just written sees what it wrote. For
    readers alone, never for a decision. At most `at_once` reads run at a time, of at most `most` keys each. All callers
    are on one event loop.
    """

    def __init__(
        self, read: Callable[[Sequence[str]], Awaitable[Mapping[str, T]]], *, at_once: int = 2, most: int = 100
    ) -> None:
        self._read = read
        self._at_once = at_once
        self._most = most
        self._asked: dict[str, list[asyncio.Future[T | None]]] = {}
        self._reading: set[asyncio.Task[None]] = set()
        self._about_to_read = False

    async def get(self, key: str) -> T | None:
        """What a read begun no earlier than this call says of the key, or raises; None if it says nothing of it."""
        answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(key, []).append(answer)
        if not self._about_to_read and len(self._reading) < self._at_once:
            self._about_to_read = True
            task = asyncio.create_task(self._read_on())
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)
        return await answer

    async def _read_on(self) -> None:
        """Read until nothing is asked for any more."""
        self._about_to_read = False
        while self._asked:
            taken = {key: self._asked.pop(key) for key in list(self._asked)[: self._most]}
            try:
                found = await self._read(list(taken))
            except Exception as error:  # everybody who waits is told
                for answer in _waiting(taken):
                    answer.set_exception(error)
            else:
                for key, answers in taken.items():
                    for answer in _waiting({key: answers}):
                        answer.set_result(found.get(key))


def _waiting(asked: Mapping[str, list[asyncio.Future[T | None]]]) -> list[asyncio.Future[T | None]]:
    """Those whose callers have not left meanwhile."""
    return [answer for answers in asked.values() for answer in answers if not answer.done()]
