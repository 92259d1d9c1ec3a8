"""What stands now, as the records that rebuild it: a new journal, made while requests are served.

The items are read page by page through the public API and written down while writes go on, so a page may hold what is
of the past when the last one is read. Whatever was written meanwhile is therefore read again and written after the
pages, until little is left; only for that last little do writes wait.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from service.local.exchange import Reply
from service.local.journal import Record, Successor, encode, frame
from service.local.retained import DYNAMODB, Retained

Forward = Callable[[str, bytes], Awaitable[Reply]]
"""Puts one JSON request (target, body) to the emulator."""
Touched = set[tuple[str, str]]
"""Items as their table and the JSON text of their key."""

PAGE_ITEMS = 1000
BATCH_ITEMS = 25
BATCH_BYTES = 1_000_000
TURN_SECONDS = 0.01
"""After so long at a time, requests have their turn for as long again."""


class SnapshotRefused(Exception):
    """The tables could not be read whole for a new journal. The old one stays in use."""


class Snapshot:
    """Fills a successor of the journal. `hurry`: nobody asks for anything any more."""

    def __init__(self, new: Successor, forward: Forward, retained: Retained, now: float, *, hurry: bool) -> None:
        self._new = new
        self._forward = forward
        self._retained = retained
        self._now = now
        self._hurry = hurry
        self._since = time.monotonic()
        self._shapes: list[Record] = []
        self._tokens: set[tuple[str, float]] = set()

    async def begin(self) -> None:
        """Write shapes, recent tokens and all items. Raises `SnapshotRefused`, OSError."""
        self._shapes = self._retained.requests()
        for shape in self._shapes:
            self._new.append(encode(shape))
        await self._write_tokens()
        tables = await _table_names(self._forward)
        if tables != self._retained.tables():
            raise SnapshotRefused(f"Tables {sorted(tables)} stand, the journal has {sorted(self._retained.tables())}.")
        for table in sorted(tables):
            async for items in _batches(self._forward, table):
                self._put(table, items)
                await self._rest()

    async def catch_up(self, touched: Touched) -> None:
        """Write what these items are now. Raises `SnapshotRefused`, OSError."""
        for table, key in touched:
            name = json.dumps(table)
            wanted = f'{{"TableName":{name},"Key":{key},"ConsistentRead":true}}'
            item = (await _answer(self._forward, "GetItem", wanted.encode("utf-8"))).get("Item")
            if item is None:
                self._write("DeleteItem", f'{{"TableName":{name},"Key":{key}}}')
            else:
                self._write("PutItem", f'{{"TableName":{name},"Item":{_compact(item)}}}')
            await self._let_others()

    async def end(self, touched: Touched) -> None:
        """The last of it, during which nothing may be written. Raises `SnapshotRefused`, OSError."""
        if self._retained.requests() != self._shapes:
            raise SnapshotRefused("A table, queue or bucket was changed meanwhile.")
        await self.catch_up(touched)
        await self._write_tokens()

    async def _write_tokens(self) -> None:
        for record in self._retained.tokens(self._now):
            used = record["token"], record["at"]
            if used not in self._tokens:
                self._tokens.add(used)
                self._new.append(encode(record))
                await self._let_others()

    def _put(self, table: str, items: Sequence[str]) -> None:
        puts = ",".join(f'{{"PutRequest":{{"Item":{item}}}}}' for item in items)
        self._write("BatchWriteItem", f'{{"RequestItems":{{{json.dumps(table)}:[{puts}]}}}}')

    def _write(self, op: str, body: str) -> None:
        text = f'{{"at":{self._now:.3f},"target":"{DYNAMODB}{op}","body":{body}}}'
        self._new.append(frame(text.encode("ascii")))

    async def _rest(self) -> None:
        worked = time.monotonic() - self._since
        if worked > TURN_SECONDS and not self._hurry:
            await asyncio.sleep(worked)
            self._since = time.monotonic()

    async def _let_others(self) -> None:
        """Have what waits done once, and not more: whoever writes without a pause must not get ahead of us."""
        if time.monotonic() - self._since > TURN_SECONDS:
            await asyncio.sleep(0)
            self._since = time.monotonic()


def touched_by(op: str, request: Mapping[str, Any], table_keys: Mapping[str, list[str]]) -> Touched:
    """The items that a successful write (an operation of `retained.ITEM_WRITES`) may have changed.

    `table_keys`: table -> names of its key attributes.
    """
    touched: Touched = set()

    def touch(table: str, *, item: Mapping[str, Any] | None = None, key: Mapping[str, Any] | None = None) -> None:
        name = table.rpartition("/")[2]  # a table may be named by its ARN
        found = key if item is None else {part: item[part] for part in table_keys[name]}
        touched.add((name, _compact(found)))

    if op == "PutItem":
        touch(request["TableName"], item=request["Item"])
    elif op in ("UpdateItem", "DeleteItem"):
        touch(request["TableName"], key=request["Key"])
    elif op == "BatchWriteItem":
        for table, writes in request["RequestItems"].items():
            for write in writes:
                if put := write.get("PutRequest"):
                    touch(table, item=put["Item"])
                elif delete := write.get("DeleteRequest"):
                    touch(table, key=delete["Key"])
    elif op == "TransactWriteItems":
        for action in request["TransactItems"]:
            for kind, write in action.items():
                if not write:
                    continue
                if kind == "Put":
                    touch(write["TableName"], item=write["Item"])
                elif kind != "ConditionCheck":
                    touch(write["TableName"], key=write["Key"])
    return touched


async def scan(forward: Forward, table: str, **request: Any) -> AsyncIterator[dict[str, Any]]:
    """All items of a table, page by page, in DynamoDB's JSON. `request` adds fields to the Scan."""
    start: dict[str, Any] = {}
    while True:
        page = await _read(forward, "Scan", {"TableName": table, "Limit": PAGE_ITEMS, **request, **start})
        for item in page["Items"]:
            yield item
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
        await asyncio.sleep(0)  # the emulator never waits for anything: let other requests in between pages


async def _batches(forward: Forward, table: str) -> AsyncIterator[list[str]]:
    """The items of a table as JSON texts, in the portions of a BatchWriteItem."""
    items: list[str] = []
    size = 0
    async for item in scan(forward, table):
        text = _compact(item)
        if items and (len(items) == BATCH_ITEMS or size + len(text) > BATCH_BYTES):
            yield items
            items, size = [], 0
        items.append(text)
        size += len(text)
    if items:
        yield items


async def _table_names(forward: Forward) -> set[str]:
    names: set[str] = set()
    start: dict[str, Any] = {}
    while True:
        page = await _read(forward, "ListTables", start)
        names.update(page["TableNames"])
        if "LastEvaluatedTableName" not in page:
            return names
        start = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}


async def _read(forward: Forward, op: str, body: dict[str, Any]) -> dict[str, Any]:
    return await _answer(forward, op, json.dumps(body).encode("utf-8"))


async def _answer(forward: Forward, op: str, body: bytes) -> dict[str, Any]:
    reply = await forward(DYNAMODB + op, body)
    if reply.status != 200:
        raise SnapshotRefused(f"{op} was answered with {reply.status}.")
    return dict(json.loads(reply.body))


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
