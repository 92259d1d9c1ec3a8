"""Many ask at once: those that ask while reads are under way share the next one, whatever they ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class SharedReads(Generic[K, T]):
    """Few reads for many questions: each takes all keys that were asked for before it began, each key once.

    Nobody gets an answer that is older than his question, so a page that has just written sees what it wrote, and a
    read that is consistent stays so. At most `at_once` reads run at a time, of at most `most` keys each. With
    `read_one` a question that finds fewer under way is read by itself, by its own caller. All callers are on one event
    loop.
    """

    def __init__(
        self,
        read: Callable[[Sequence[K]], Awaitable[Mapping[K, T]]],
        *,
        read_one: Callable[[K], Awaitable[T | None]] | None = None,
        at_once: int = 2,
        most: int = 100,
    ) -> None:
        self._read = read
        self._read_one = read_one
        self._at_once = at_once
        self._most = most
        self._asked: dict[K, list[asyncio.Future[T | None]]] = {}
        self._reading = 0
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself holds them only weakly

    async def get(self, key: K) -> T | None:
        """What a read begun no earlier than this call says of the key, or raises; None if it says nothing of it."""
        if self._read_one is not None and self._reading < self._at_once and not self._asked:
            self._reading += 1
            try:
                return await self._read_one(key)
            finally:
                self._reading -= 1
                self._go_on()
        (answer,) = await self.get_all([key])
        return answer

    async def get_all(self, keys: Sequence[K]) -> list[T | None]:
        """The same for several keys, in one read if it takes so many."""
        answers: list[asyncio.Future[T | None]] = [asyncio.get_running_loop().create_future() for _ in keys]
        for key, answer in zip(keys, answers, strict=True):
            self._asked.setdefault(key, []).append(answer)
        self._go_on()
        return await asyncio.gather(*answers)

    def _go_on(self) -> None:
        """Have what is asked for read next, if a read may begin."""
        if self._asked and self._reading < self._at_once:
            self._reading += 1
            task = asyncio.create_task(self._read_next())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _read_next(self) -> None:
        taken = {key: self._asked.pop(key) for key in list(self._asked)[: self._most]}
        try:
            found = await self._read(list(taken)) if taken else {}
        except asyncio.CancelledError:
            for answers in taken.values():
                for answer in _waiting(answers):
                    answer.cancel()
            raise
        except BaseException as error:  # everybody who waits is told, of whatever kind it is
            for answers in taken.values():
                for answer in _waiting(answers):
                    answer.set_exception(error)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
        else:
            for key, answers in taken.items():
                for answer in _waiting(answers):
                    answer.set_result(found.get(key))
        finally:
            self._reading -= 1
            self._go_on()


def _waiting(answers: Sequence[asyncio.Future[T | None]]) -> list[asyncio.Future[T | None]]:
    """Those whose callers have not left meanwhile."""
    return [answer for answer in answers if not answer.done()]
