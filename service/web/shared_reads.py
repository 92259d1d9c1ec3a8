"""Many pages poll one movie: those that ask while a read is under way share the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedReads(Generic[T]):
    """One read at a time per key, each shared by everybody who asked before it began.

    Nobody gets an answer that is older than his question, so a page that has just written sees what it wrote. For
    readers alone, never for a decision. All callers are on one event loop.
    """

    def __init__(self, read: Callable[[str], Awaitable[T]]) -> None:
        self._read = read
        self._running: dict[str, asyncio.Task[T]] = {}
        self._waiting: dict[str, asyncio.Task[T]] = {}

    async def get(self, key: str) -> T:
        """What `read(key)` returns or raises, begun no earlier than this call."""
        task = self._waiting.get(key)
        if task is None:
            task = asyncio.create_task(self._next(key, self._running.get(key)))
            if key in self._running:
                self._waiting[key] = task
            else:
                self._running[key] = task
        return await asyncio.shield(task)  # one caller's end is not the others'

    async def _next(self, key: str, before: asyncio.Task[T] | None) -> T:
        """Wait for the read under way, if there is one, then be the read under way."""
        this = asyncio.current_task()
        assert this is not None
        if before is not None:
            await asyncio.wait([before])
            self._waiting.pop(key, None)
            self._running[key] = this
        try:
            return await self._read(key)
        finally:
            if self._running.get(key) is this:
                del self._running[key]
