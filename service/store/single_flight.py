"""One read for all who ask the same while it has not begun."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class SingleFlight(Generic[K, T]):
    """Of each key one read runs at a time, and whoever asks meanwhile shares the next one.

    Nobody gets an answer older than his question. A read goes on when one of those who wait for it leaves; if it fails
    it fails for all of them. What it answers is shared: nobody may change it. All callers are on one event loop.
    """

    def __init__(self) -> None:
        self._next: dict[K, asyncio.Task[T]] = {}
        self._under_way: dict[K, asyncio.Task[T]] = {}

    async def get(self, key: K, read: Callable[[], Awaitable[T]]) -> T:
        """What a read of this key that begins after this call answers, or raises."""
        task = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._run(key, read))
            task.add_done_callback(_known)
        return await asyncio.shield(task)

    async def _run(self, key: K, read: Callable[[], Awaitable[T]]) -> T:
        former = self._under_way.get(key)
        try:
            if former is not None:
                await asyncio.wait({former})
        finally:
            mine = self._under_way[key] = self._next.pop(key)
        try:
            return await read()
        finally:
            if self._under_way.get(key) is mine:
                del self._under_way[key]


def _known(task: asyncio.Task[T]) -> None:
    """Its error is no news to the loop if all who waited have left."""
    if not task.cancelled():
        task.exception()
