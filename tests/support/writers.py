"""Concurrent writers that note what was acknowledged, and the check that none of it is missing afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aioboto3
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

TABLE = "ledger"
LOST = (ConnectionError, HTTPClientError)
"""What a caller sees when the emulator dies in the middle of its request: the outcome is unknown."""


@asynccontextmanager
async def client(service: str, endpoint: str, **settings: Any) -> AsyncIterator[Any]:
    """A client of the emulator that never repeats a request by itself."""
    session: Any = aioboto3.Session()  # its types know the names of services, not a string
    async with session.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=64, **settings),
    ) as opened:
        yield opened


async def create_table(db: Any, name: str = TABLE) -> None:
    """A table with the string key `k`."""
    await db.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


async def items(db: Any, name: str = TABLE) -> dict[str, dict[str, Any]]:
    """All items by their key."""
    return {item["k"]["S"]: item for item in (await db.scan(TableName=name))["Items"]}


@dataclass
class Writers:
    """Writers that go on until their connection breaks. Each has a counter that only steps by one, by condition."""

    count: int = 16
    acknowledged: int = 0
    """Conditional writes and transactions that were answered with success."""
    transactions: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when `wanted` writes were acknowledged."""
    wanted: int = 520
    counters: dict[str, int] = field(default_factory=dict)
    puts: set[str] = field(default_factory=set)
    pairs: set[str] = field(default_factory=set)
    refused: int = 0

    async def run(self, db: Any) -> None:
        """Write until every writer has lost its connection."""
        await asyncio.gather(*(self._write(db, f"w{number}") for number in range(self.count)))

    async def _write(self, db: Any, name: str) -> None:
        step = 0
        try:
            while True:
                step += 1
                await db.update_item(**_counter(name, step))
                self.counters[name] = step
                await db.put_item(
                    TableName=TABLE,
                    Item={"k": {"S": f"{name}/{step}"}, "by": {"S": name}},
                    ConditionExpression="attribute_not_exists(k)",
                )
                self.puts.add(f"{name}/{step}")
                self._count(2)
                if step % 5 == 0:
                    await db.transact_write_items(TransactItems=_pair(f"{name}/{step}", "attribute_not_exists(k)"))
                    self.pairs.add(f"{name}/{step}")
                    self.transactions += 1
                    self._count(1)
                if step % 7 == 0:
                    await self._be_refused(db, f"{name}/{step}")
        except LOST:
            return

    async def _be_refused(self, db: Any, key: str) -> None:
        """Ask for two things that must be refused: to overwrite `key`, and a transaction half of it impossible."""
        overwrite = {"k": {"S": key}, "by": {"S": "an intruder"}}
        asked = {
            "ConditionalCheckFailedException": db.put_item(
                TableName=TABLE, Item=overwrite, ConditionExpression="attribute_not_exists(k)"
            ),
            "TransactionCanceledException": db.transact_write_items(
                TransactItems=_pair(f"refused/{key}", "attribute_exists(k)")
            ),
        }
        for code, request in asked.items():
            try:
                await request
            except ClientError as error:
                if error.response["Error"]["Code"] != code:
                    raise
                self.refused += 1

    def _count(self, writes: int) -> None:
        self.acknowledged += writes
        if self.acknowledged >= self.wanted:
            self.enough.set()

    def check(self, found: dict[str, dict[str, Any]]) -> None:
        """All that was acknowledged is there, nothing that was refused is, and no transaction is there by half."""
        assert self.acknowledged >= self.wanted
        assert self.transactions >= self.count
        assert self.refused > 0
        missing = [key for key in self.puts if key not in found]
        missing += [f"pair {key}" for key in self.pairs if f"left/{key}" not in found or f"right/{key}" not in found]
        assert not missing, f"{len(missing)} acknowledged writes are missing, such as {missing[:5]}"
        for name, step in self.counters.items():
            # The write whose reply was lost may have taken effect, but not more than that one.
            assert step <= int(found[name]["n"]["N"]) <= step + 1
        for key, item in found.items():
            assert not key.startswith(("left/refused/", "right/refused/"))
            assert item.get("by", {}).get("S") != "an intruder"
            if key.startswith("left/"):
                assert f"right/{key.removeprefix('left/')}" in found
            if key.startswith("right/"):
                assert f"left/{key.removeprefix('right/')}" in found


def _counter(name: str, step: int) -> dict[str, Any]:
    values = {":n": {"N": str(step)}, ":before": {"N": str(step - 1)}}
    return {
        "TableName": TABLE,
        "Key": {"k": {"S": name}},
        "UpdateExpression": "SET n = :n",
        "ConditionExpression": "n = :before OR (attribute_not_exists(n) AND :before = :zero)",
        "ExpressionAttributeValues": {**values, ":zero": {"N": "0"}},
    }


def _pair(key: str, condition: str) -> list[dict[str, Any]]:
    return [
        {"Put": {"TableName": TABLE, "Item": {"k": {"S": f"left/{key}"}}, "ConditionExpression": condition}},
        {"Put": {"TableName": TABLE, "Item": {"k": {"S": f"right/{key}"}}}},
    ]
