"""An actor that dies at a chosen point: each durable call it makes is numbered, and before or after one it ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from service.store.objects import Objects
from service.store.queue import Queue
from service.store.stores import Stores, build_stores
from service.store.table import Database

DURABLE = frozenset(
    {
        "put_item",
        "update_item",
        "delete_item",
        "transact_write_items",
        "send_message",
        "delete_message",
        "put_object",
        "copy_object",
        "delete_object",
    }
)


class Killed(BaseException):
    """The process is gone. Not an Exception: nothing in the service may catch it and go on."""


@dataclass(frozen=True, slots=True)
class Point:
    """Just before or just after the `number`th durable call."""

    number: int
    after: bool

    def __str__(self) -> str:
        return f"{'after' if self.after else 'before'} {self.number}"


@dataclass
class Fate:
    """Shared by all actors of one run: the first that comes to `point` dies there. None: nobody does."""

    point: Point | None = None
    calls: list[str] = field(default_factory=list)
    victim: str = ""

    def reached(self, after: bool) -> bool:
        return self.point == Point(len(self.calls), after)


class _MortalClient:
    """A client whose owner may die. The dead make no calls any more."""

    def __init__(self, client: Any, fate: Fate, owner: str) -> None:
        self._client, self._fate, self._owner = client, fate, owner

    def __getattr__(self, name: str) -> Any:
        call: Callable[..., Awaitable[Any]] = getattr(self._client, name)

        async def mortal(**request: Any) -> Any:
            self._die_if(self._fate.victim == self._owner)
            if name not in DURABLE:
                return await call(**request)
            self._fate.calls.append(f"{self._owner}: {_told(name, request)}")
            self._die_if(self._fate.reached(after=False))
            try:
                return await call(**request)
            finally:
                self._die_if(self._fate.reached(after=True))  # also after a call that was refused

        return mortal

    def _die_if(self, due: bool) -> None:
        if due:
            self._fate.victim = self._owner
            raise Killed


def mortal(stores: Stores, fate: Fate, owner: str) -> Stores:
    """The same stores in the hands of an actor called `owner`."""
    return dataclasses.replace(
        build_stores(
            Database(_MortalClient(stores.database.client, fate, owner), stores.database.prefix, 0.001),
            Objects(_MortalClient(stores.objects.client, fate, owner), stores.objects.bucket, 0.001),
            Queue(_MortalClient(stores.queue.client, fate, owner), stores.queue.urls, 0.001),
            stores.policy,
            stores.clock,
            stores.ids,
        )
    )


def _told(name: str, request: dict[str, Any]) -> str:
    """One call in a few words: what it does to which tables or to which object."""
    if name == "transact_write_items":
        tables: dict[str, int] = {}
        for item in request["TransactItems"]:
            ((verb, write),) = item.items()
            label = f"{verb} {_table(write)}"
            tables[label] = tables.get(label, 0) + 1
        return "transaction: " + ", ".join(f"{t} x{n}" if n > 1 else t for t, n in tables.items())
    if "TableName" in request:
        return f"{name} {_table(request)}"
    return f"{name} {request['Key'].rsplit('/', 1)[-1]}" if "Key" in request else name


def _table(write: dict[str, Any]) -> str:
    name: str = write["TableName"]
    return name.split("-", 1)[1]
