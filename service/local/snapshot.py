"""What stands now, as the requests that rebuild it: the beginning of a new journal."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from service.local.exchange import Reply
from service.local.journal import Record
from service.local.retained import DYNAMODB, Retained

Forward = Callable[[str, bytes], Awaitable[Reply]]
"""Puts one JSON request (target, body) to the emulator."""

PAGE_ITEMS = 1000
BATCH_ITEMS = 25
BATCH_BYTES = 1_000_000


class SnapshotRefused(Exception):
    """The tables could not be read whole for a new journal. The old one stays in use."""


async def rebuilding(forward: Forward, retained: Retained, now: float) -> AsyncIterator[Record]:
    """Yield the records that rebuild everything: shapes, recent tokens, then all items, read through the public API.

    Nothing may be written meanwhile. Raises `SnapshotRefused` if what is read is not what the journal made.
    """
    for request in retained.requests():
        yield request
    for token in retained.tokens(now):
        yield token
    tables = await _table_names(forward)
    if tables != retained.tables():
        raise SnapshotRefused(f"Tables {sorted(tables)} stand, the journal has {sorted(retained.tables())}.")
    for table in sorted(tables):
        async for puts in _batches(forward, table):
            body = {"RequestItems": {table: [{"PutRequest": {"Item": item}} for item in puts]}}
            yield {"at": now, "target": DYNAMODB + "BatchWriteItem", "body": body}


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


async def _batches(forward: Forward, table: str) -> AsyncIterator[list[dict[str, Any]]]:
    """The items of a table in the portions of a BatchWriteItem."""
    items: list[dict[str, Any]] = []
    size = 0
    async for item in scan(forward, table):
        length = len(json.dumps(item))
        if items and (len(items) == BATCH_ITEMS or size + length > BATCH_BYTES):
            yield items
            items, size = [], 0
        items.append(item)
        size += length
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
    reply = await forward(DYNAMODB + op, json.dumps(body).encode("utf-8"))
    if reply.status != 200:
        raise SnapshotRefused(f"{op} was answered with {reply.status}.")
    return dict(json.loads(reply.body))
