"""The one place that calls DynamoDB and sees its errors.

What the rest of the store is told:
    ConditionFailed       the condition did not hold; nothing was written; the row as it was is attached
    TransactionRefused    the same for a transaction: which of its writes were refused
    StoreUnavailable      nothing was written and the database cannot be reached or is throttling
    OutcomeUnknown        the reply was lost: the write may or may not have been made; re-read by token

The client itself never retries (its retries would turn a lost reply into a false refusal). Reads, throttled writes and
transactions are repeated here: a transaction with the same token and the same body, which the database recognises.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import ClientConnectorError
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
)

from service.domain.errors import OutcomeUnknown, StoreUnavailable
from service.store.expressions import Condition, Update
from service.store.marshal import pack_item, unpack_item
from service.store.shared_reads import SharedReads

Item = dict[str, Any]
Asked = tuple[str, tuple[tuple[str, Any], ...]]
"""A table and a key, as its names and values in order."""

_NOT_APPLIED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "ThrottlingError",
        "RequestLimitExceeded",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_RETRIED_REASONS = frozenset(
    {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"}
)
_TRIES = 6
_KEYS_AT_ONCE = 100
_READS_AT_ONCE = 2
"""Single items are read one by one while no more than this are asked for at a time. Two: so a reply that is long in
coming holds nobody up, and under load most are read together, each for a tenth of what it costs alone."""
_MANY = 10


def _asked(table: str, key: Mapping[str, Any]) -> Asked:
    return table, tuple(sorted(key.items()))


class ConditionFailed(Exception):
    """The condition of a single write did not hold; `item` is the row as it was, or None."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("condition failed")
        self.item = item


class TransactionRefused(Exception):
    """A transaction was refused; `refused` maps the position of each refused write to the row as it was."""

    def __init__(self, refused: Mapping[int, Item | None]) -> None:
        super().__init__(f"transaction refused at {sorted(refused)}")
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Put:
    table: str
    item: Mapping[str, Any]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An UpdateItem."""

    table: str
    key: Mapping[str, Any]
    update: Update
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    table: str
    key: Mapping[str, Any]
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on a row that the transaction does not change."""

    table: str
    key: Mapping[str, Any]
    condition: Condition


Write = Put | Change | Delete | Check


class Database:
    """Reads and conditional writes over all tables of one prefix.

    `first_pause`: seconds, at most, before the first repetition; each later pause is up to twice as long.
    """

    def __init__(self, client: Any, prefix: str, first_pause: float = 0.05) -> None:
        self.client = client
        self.prefix = prefix
        self.first_pause = first_pause
        self._single = {
            consistent: SharedReads(
                partial(self._get_each, consistent=consistent),
                read_one=partial(self._get_one, consistent=consistent),
                at_once=_READS_AT_ONCE,
                most=_KEYS_AT_ONCE,
            )
            for consistent in (True, False)
        }

    async def get(self, table: str, key: Mapping[str, Any], *, consistent: bool = True) -> Item | None:
        """One item. Decisions read consistently (the default); polls need not.

        Where many are asked for at once, one request brings them all: a request costs much more than what it brings.
        """
        return await self._single[consistent].get(_asked(table, key))

    async def get_together(self, keys: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Item | None]:
        """Several items, read consistently, mostly by one request. Each is as new as this call, all are no snapshot."""
        return await self._single[True].get_all([_asked(table, key) for table, key in keys])

    async def _get_one(self, asked: Asked, consistent: bool) -> Item | None:
        table, key = asked
        reply = await self._repeat_read(
            self.client.get_item, TableName=self.prefix + table, Key=pack_item(dict(key)), ConsistentRead=consistent
        )
        return unpack_item(reply["Item"]) if reply.get("Item") else None

    async def _get_each(self, asked: Sequence[Asked], consistent: bool) -> dict[Asked, Item]:
        found = await self.get_across([(table, dict(key)) for table, key in asked], consistent=consistent)
        named = {table: [name for name, _ in key] for table, key in asked}
        return {
            (table, tuple((name, item[name]) for name in named[table])): item
            for table, items in found.items()
            for item in items
        }

    async def get_many(self, table: str, keys: Sequence[Mapping[str, Any]]) -> list[Item]:
        """The items of these keys that exist, in any order; read eventually, a hundred at a time. For readers only."""
        return (await self.get_across([(table, key) for key in keys])).get(table, [])

    async def get_across(
        self, keys: Sequence[tuple[str, Mapping[str, Any]]], *, consistent: bool = False
    ) -> dict[str, list[Item]]:
        """The same over several tables: what exists, by table. No key may come twice."""
        found: dict[str, list[Item]] = {}
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            asked: dict[str, Any] = {}
            for table, key in keys[start : start + _KEYS_AT_ONCE]:
                of_table = asked.setdefault(self.prefix + table, {"Keys": [], "ConsistentRead": consistent})
                of_table["Keys"].append(pack_item(key))
            for attempt in range(_TRIES):
                reply = await self._repeat_read(self.client.batch_get_item, RequestItems=asked)
                for name, items in reply["Responses"].items():
                    found.setdefault(name.removeprefix(self.prefix), []).extend(await _items(items))
                asked = reply.get("UnprocessedKeys") or {}
                if not asked:
                    break
                await self._pause(attempt, StoreUnavailable)
        return found

    async def query(
        self,
        table: str,
        condition: Condition,
        *,
        index: str | None = None,
        where: Condition | None = None,
        attributes: Sequence[str] = (),
        limit: int | None = None,
        page: int | None = None,
        backwards: bool = False,
        consistent: bool = False,
    ) -> AsyncIterator[Item]:
        """Items that match a key condition, in key order, `page` at a time. An index cannot be read consistently."""
        names = {**condition.names, **(where.names if where else {}), **{f"#{a}": a for a in attributes}}
        values = {**condition.values, **(where.values if where else {})}
        request: dict[str, Any] = {
            "TableName": self.prefix + table,
            "KeyConditionExpression": condition.text,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": not backwards,
        }
        if index:
            request["IndexName"] = index
        else:
            request["ConsistentRead"] = consistent
        if where:
            request["FilterExpression"] = where.text
        if attributes:
            request["ProjectionExpression"] = ", ".join(f"#{a}" for a in attributes)
        left = limit
        if page is not None:
            request["Limit"] = page
        while left is None or left > 0:
            if left is not None and not where:
                request["Limit"] = left if page is None else min(left, page)
            reply = await self._repeat_read(self.client.query, **request)
            for item in await _items(reply.get("Items", [])):
                yield item
                if left is not None:
                    left -= 1
                    if left == 0:
                        return
            if not reply.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = reply["LastEvaluatedKey"]

    async def scan(self, table: str) -> AsyncIterator[Item]:
        """Every item of a table; for operators only."""
        request: dict[str, Any] = {"TableName": self.prefix + table}
        while True:
            page = await self._repeat_read(self.client.scan, **request)
            for item in await _items(page.get("Items", [])):
                yield item
            if not page.get("LastEvaluatedKey"):
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    async def write(self, write: Put | Change | Delete, *, former: bool = False) -> Item | None:
        """One conditional write; returns the row after a Change, or with `former` what it replaced.

        Raises ConditionFailed, StoreUnavailable, OutcomeUnknown.
        """
        request = self._rendered(write)
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if isinstance(write, Change):
            request["ReturnValues"] = "UPDATED_OLD" if former else "ALL_NEW"
            call = self.client.update_item
        else:
            call = self.client.put_item if isinstance(write, Put) else self.client.delete_item
        for attempt in range(_TRIES):
            try:
                reply = await call(**request)
            except ClientError as error:
                if _code(error) == "ConditionalCheckFailedException":
                    old: Any = error.response.get("Item")
                    raise ConditionFailed(_item(old)) from None
                await self._pause_or_raise(error, attempt)
            except (BotoCoreError, HTTPClientError, OSError) as error:
                await self._pause_or_raise(error, attempt)
            else:
                return unpack_item(reply["Attributes"]) if reply.get("Attributes") else None
        raise AssertionError("unreachable")

    async def transact(self, writes: Sequence[Write]) -> None:
        """All writes or none. Raises TransactionRefused, StoreUnavailable, OutcomeUnknown.

        Conflicts with another transaction and throttling are tried again; a lost reply is asked for again with the same
        token, so that a transaction which was made is not made twice and not reported as refused.
        """
        items = []
        for write in writes:
            verb = {Put: "Put", Change: "Update", Delete: "Delete", Check: "ConditionCheck"}[type(write)]
            items.append({verb: {**self._rendered(write), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}})
        request = {"TransactItems": items, "ClientRequestToken": str(uuid.uuid4())}
        unknown = False
        for attempt in range(_TRIES):
            try:
                await self.client.transact_write_items(**request)
                return
            except ClientError as error:
                reasons = error.response.get("CancellationReasons") or []
                if _code(error) == "TransactionCanceledException":
                    refused = {
                        i: _item(r.get("Item"))
                        for i, r in enumerate(reasons)
                        if r.get("Code") == "ConditionalCheckFailed"
                    }
                    if refused:
                        raise TransactionRefused(refused) from None
                    if not any(r.get("Code") in _RETRIED_REASONS for r in reasons):
                        raise
                    await self._pause(attempt, OutcomeUnknown if unknown else StoreUnavailable)
                    continue
                unknown = unknown or not _surely_not_applied(error)
                await self._pause(attempt, OutcomeUnknown if unknown else StoreUnavailable, error)
            except (BotoCoreError, HTTPClientError, OSError) as error:
                unknown = unknown or not _surely_not_applied(error)
                await self._pause(attempt, OutcomeUnknown if unknown else StoreUnavailable)

    def _rendered(self, write: Write) -> dict[str, Any]:
        request: dict[str, Any] = {"TableName": self.prefix + write.table}
        if isinstance(write, Put):
            request["Item"] = pack_item(write.item)
        else:
            request["Key"] = pack_item(write.key)
        if isinstance(write, Change):
            return {**request, **write.update.rendered(write.condition)}
        if write.condition:
            request["ConditionExpression"] = write.condition.text
            if write.condition.names:
                request["ExpressionAttributeNames"] = dict(write.condition.names)
            if write.condition.values:
                request["ExpressionAttributeValues"] = dict(write.condition.values)
        return request

    async def _repeat_read(self, call: Any, **request: Any) -> Any:
        for attempt in range(_TRIES):
            try:
                return await call(**request)
            except ClientError as error:
                if _code(error) not in _NOT_APPLIED and not _server_side(error):
                    raise
                await self._pause(attempt, StoreUnavailable)
            except (BotoCoreError, HTTPClientError, OSError):
                await self._pause(attempt, StoreUnavailable)
        raise AssertionError("unreachable")

    async def _pause_or_raise(self, error: Exception, attempt: int) -> None:
        """After a failed single write: wait and have it repeated if it surely was not made, else say what is known."""
        if _surely_not_applied(error):
            await self._pause(attempt, StoreUnavailable)
        elif isinstance(error, ClientError) and not _server_side(error):
            raise error
        else:
            raise OutcomeUnknown from None

    async def _pause(self, attempt: int, give_up: type[Exception], error: ClientError | None = None) -> None:
        """Full-jitter back-off; after the last try raise `give_up`. A request that is wrong in itself is raised."""
        if error is not None and _code(error) not in _NOT_APPLIED and not _server_side(error):
            raise error
        if attempt == _TRIES - 1:
            raise give_up from None
        await asyncio.sleep(random.uniform(0, self.first_pause * 2**attempt))  # nosec B311  # noqa: S311  jitter is no secret


async def _items(raw: Sequence[Mapping[str, Any]]) -> list[Item]:
    """A page's items. Many are read in a thread: the loop answers polls, and ten frames cost it milliseconds."""
    if len(raw) < _MANY:
        return [unpack_item(item) for item in raw]
    return await asyncio.to_thread(lambda: [unpack_item(item) for item in raw])


def _item(raw: Mapping[str, Any] | None) -> Item | None:
    return unpack_item(raw) if raw else None


def _code(error: ClientError) -> str:
    code: str = error.response.get("Error", {}).get("Code", "")
    return code


def _server_side(error: ClientError) -> bool:
    status: int = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or _code(error) in ("InternalServerError", "ServiceUnavailable")


def _surely_not_applied(error: Exception) -> bool:
    """The request never reached the database, or the database says that it did nothing.

    EndpointConnectionError alone does not mean that: a connection that was reset after the request had been sent comes
    under the same name. Its cause tells whether there ever was a connection.
    """
    if isinstance(error, ClientError):
        return _code(error) in _NOT_APPLIED
    if isinstance(error, EndpointConnectionError):
        return isinstance(error.kwargs.get("error"), ClientConnectorError)
    return isinstance(error, ConnectTimeoutError | ConnectionRefusedError)
