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
    """The stops of one actor. `stopped` is set while it waits, `about_to` is what it waits to do; `go` lets it."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self.about_to = ""
        self.dead = False
        self._fates: asyncio.Queue[Fate] = asyncio.Queue()
        self._turn = asyncio.Lock()

    def go(self, fate: Fate) -> None:
        self.stopped.clear()
        self._fates.put_nowait(fate)

    async def stop(self, about_to: str) -> Fate:
        async with self._turn:  # one stop at a time, whatever runs side by side within the actor
            if self.dead:
                raise Killed
            self.about_to = about_to
            self.stopped.set()
            fate = await self._fates.get()
            if fate == "die":  # and nothing that it still wants to do is done, not even in its last breath
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
            if await self._steps.stop(name) == "throttle":
                raise ClientError({"Error": {"Code": "ThrottlingException"}}, name)
            reply = await call(**request)
            if name in DURABLE and await self._steps.stop("hear the reply") == "lose the reply":
                raise ReadTimeoutError(endpoint_url="the database")
            return reply

        return stepped


def stepwise(stores: Stores, steps: Steps) -> Stores:
    """The same stores in the hands of an actor who takes one call at a time."""
    return dataclasses.replace(
        build_stores(
            Database(_SteppedClient(stores.database.client, steps), stores.database.prefix, 0.0001),
            stores.objects,
            Queue(_SteppedClient(stores.queue.client, steps), stores.queue.urls, 0.0001),
            stores.policy,
            stores.clock,
            stores.ids,
        )
    )
