"""Indexes that existing tables lack, and how they are added: one at a time, each waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from service.store.schema import NUMBERS, TABLES, Index, TableShape, index_definition

_MADE_BY_ANOTHER = ("ResourceInUseException", "LimitExceededException", "ValidationException")
_PATIENCE = 7200.0
"""Seconds: the database fills an index of a large table for a long time."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """What the tables of a prefix lack. `differing`: indexes of a needed name that have another key, as table.index."""

    tables: tuple[str, ...]
    indexes: tuple[tuple[TableShape, Index], ...]
    differing: tuple[str, ...]


async def gaps(client: Any, prefix: str) -> Gaps:
    """Compare what is there with what is needed. Changes nothing."""
    tables, indexes, differing = [], [], []
    for shape in TABLES:
        table = await _described(client, prefix + shape.name)
        if table is None:
            tables.append(prefix + shape.name)
            continue
        keys = {index["IndexName"]: _key_of(index) for index in table.get("GlobalSecondaryIndexes") or []}
        for index in shape.indexes:
            if index.name not in keys:
                indexes.append((shape, index))
            elif keys[index.name] != index.key:
                differing.append(f"{prefix}{shape.name}.{index.name}")
    return Gaps(tuple(tables), tuple(indexes), tuple(differing))


async def add_index(client: Any, prefix: str, shape: TableShape, index: Index, *, pause: float = 1.0) -> bool:
    """Add one index and wait until it can be used. False if another process added it meanwhile.

    A table changes one index at a time, so a refusal while another is being made is asked again. Raises ClientError
    for what waiting does not cure, TimeoutError after two hours.
    """
    name, mine = prefix + shape.name, False
    async with asyncio.timeout(_PATIENCE):
        while True:
            table = await _described(client, name)
            present = {i["IndexName"]: i for i in (table or {}).get("GlobalSecondaryIndexes") or []}
            if index.name in present:
                if present[index.name].get("IndexStatus", "ACTIVE") == "ACTIVE":
                    return mine
            elif table is not None and table["TableStatus"] == "ACTIVE":
                mine = await _asked_for(client, name, index, table)
            await asyncio.sleep(pause)


async def _asked_for(client: Any, name: str, index: Index, table: Mapping[str, Any]) -> bool:
    wanted = index_definition(index)
    if table.get("BillingModeSummary", {}).get("BillingMode") != "PAY_PER_REQUEST":
        given = table.get("ProvisionedThroughput", {})
        units = {k: given[k] for k in ("ReadCapacityUnits", "WriteCapacityUnits") if given.get(k)}
        if len(units) == 2:
            wanted["ProvisionedThroughput"] = units
    try:
        await client.update_table(
            TableName=name,
            AttributeDefinitions=[
                {"AttributeName": key, "AttributeType": "N" if key in NUMBERS else "S"} for key in index.key
            ],
            GlobalSecondaryIndexUpdates=[{"Create": wanted}],
        )
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code")
        again = await _described(client, name) or {}
        there = index.name in {i["IndexName"] for i in again.get("GlobalSecondaryIndexes") or []}
        if not there and (code not in _MADE_BY_ANOTHER or code == "ValidationException"):
            raise
        return False
    return True


async def _described(client: Any, name: str) -> Mapping[str, Any] | None:
    try:
        table: Mapping[str, Any] = (await client.describe_table(TableName=name))["Table"]
    except client.exceptions.ResourceNotFoundException:
        return None
    return table


def _key_of(index: Mapping[str, Any]) -> tuple[str, ...]:
    ordered = sorted(index["KeySchema"], key=lambda key: key["KeyType"] != "HASH")
    return tuple(key["AttributeName"] for key in ordered)
