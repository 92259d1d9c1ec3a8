"""An actor that takes one database call at a time: it stops before each call and after each write, until it may go on.

What happens at a stop is the test's to say: it goes on, its call is throttled, its reply is lost, or it dies there.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from botocore.exceptions import ClientError, ReadTimeoutError

from service.store.queue import Queue
from service.store.stores import Stores, build_stores
from service.store.table import Database
from tests.support.mortal import DURABLE, Killed

Fate = Literal["go on", "throttle", "lose the reply", "die"]


class Steps:
    """The stops of one actor. `stopped` is set while it waits; `go` lets it make one step."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self.after_a_write = False
        self.dead = False
        self._fates: asyncio.Queue[Fate] = asyncio.Queue()
        self._turn = asyncio.Lock()

    def go(self, fate: Fate) -> None:
        self.stopped.clear()
        self._fates.put_nowait(fate)

    def die(self) -> None:
        """Nothing that this actor still wants to do is done, not even in its last breath."""
        self.dead = True

    async def stop(self, *, after_a_write: bool) -> Fate:
        async with self._turn:  # one stop at a time, whatever runs side by side within the actor
            if self.dead:
                raise Killed
            self.after_a_write = after_a_write
            self.stopped.set()
            fate = await self._fates.get()
            if fate == "die":
                self.dead = True
            if self.dead:
                raise Killed
            return fate


class _SteppedClient:
    def __init__(self, client: Any, steps: Steps) -> None:
        self._client, self._steps = client, steps

    def __getattr__(self, name: str) -> Any:
        call: Callable[..., Awaitable[Any]] = getattr(self._client, name)

        async def stepped(**request: Any) -> Any:
            if await self._steps.stop(after_a_write=False) == "throttle":
                raise ClientError({"Error": {"Code": "ThrottlingException"}}, name)
            reply = await call(**request)
            if name in DURABLE and await self._steps.stop(after_a_write=True) == "lose the reply":
                raise ReadTimeoutError(endpoint_url="the database")
            return reply

        return stepped


def stepwise(stores: Stores, steps: Steps) -> Stores:
    """The same stores in the hands of an actor who takes one call at a time."""
    return dataclasses.replace(
        build_stores(
            Database(_SteppedClient(stores.database.client, steps), stores.database.prefix, 0.0001),
            stores.objects,
            Queue(_SteppedClient(stores.queue.client, steps), stores.queue.url, 0.0001),
            stores.policy,
            stores.clock,
            stores.ids,
        )
    )
