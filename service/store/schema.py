"""The tables, their keys and indexes, and an idempotent way to make them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOVIES = "movies"
FRAMES = "movie_frames"
RECEIPTS = "receipts"
LOGS = "logs"
USERS = "users"
EMAILS = "unique_emails"
KEYS = "api_keys"
COURSES = "courses"
COURSE_USERS = "course_users"


@dataclass(frozen=True, slots=True)
class Index:
    name: str
    key: tuple[str, ...]
    keys_only: bool = False


@dataclass(frozen=True, slots=True)
class TableShape:
    """`key` is (partition,) or (partition, sort). Attributes are strings unless named in NUMBERS."""

    name: str
    key: tuple[str, ...]
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None


NUMBERS = frozenset({"frame_number", "sweep_due_at", "time_t"})

TABLES: tuple[TableShape, ...] = (
    TableShape(USERS, ("user_id",), (Index("email_idx", ("email",)),)),
    TableShape(EMAILS, ("email",)),
    TableShape(KEYS, ("api_key",), (Index("user_id_idx", ("user_id",)),)),
    TableShape(COURSES, ("course_id",), (Index("course_key_idx", ("course_key",)),)),
    TableShape(COURSE_USERS, ("course_id", "user_id")),
    TableShape(
        MOVIES,
        ("movie_id",),
        (
            Index("course_id_idx", ("course_id",)),
            Index("user_id_idx", ("user_id",)),
            # Sparse: only rows with a queued, running or never finished piece of work carry these attributes.
            Index("sweep_idx", ("sweep_shard", "sweep_due_at"), keys_only=True),
        ),
    ),
    TableShape(FRAMES, ("movie_id", "frame_number")),
    TableShape(
        LOGS,
        ("log_id",),
        (
            Index("user_id_idx", ("user_id", "time_t")),
            Index("course_time_t_idx", ("course_id", "time_t")),
            Index("movie_id_idx", ("movie_id", "time_t")),
        ),
    ),
    # The application retires a receipt at expires_at; the database deletes it a week later.
    TableShape(RECEIPTS, ("receipt_id",), ttl="delete_after"),
)


def definition(shape: TableShape, prefix: str) -> dict[str, Any]:
    """The CreateTable request of one table."""
    keys = [shape.key, *(index.key for index in shape.indexes)]
    names = sorted({name for key in keys for name in key})
    request: dict[str, Any] = {
        "TableName": prefix + shape.name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(shape.key),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "N" if name in NUMBERS else "S"} for name in names
        ],
    }
    if shape.indexes:
        request["GlobalSecondaryIndexes"] = [index_definition(index) for index in shape.indexes]
    return request


def index_definition(index: Index) -> dict[str, Any]:
    """One index, as CreateTable and UpdateTable name it."""
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.key),
        "Projection": {"ProjectionType": "KEYS_ONLY" if index.keys_only else "ALL"},
    }


def _key_schema(key: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key, ("HASH", "RANGE"), strict=False)]


@dataclass(slots=True)
class Made:
    """What create_tables did, for the operator."""

    created: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)


async def create_tables(client: Any, prefix: str) -> Made:
    """Make every table that is missing and wait until all can be used. Running it again changes nothing."""
    made = Made()
    for shape in TABLES:
        try:
            await client.create_table(**definition(shape, prefix))
            made.created.append(prefix + shape.name)
        except client.exceptions.ResourceInUseException:
            made.present.append(prefix + shape.name)
    for shape in TABLES:
        await _wait_active(client, prefix + shape.name)
        if shape.ttl:
            await _switch_ttl_on(client, prefix + shape.name, shape.ttl)
    return made


async def _wait_active(client: Any, name: str) -> Mapping[str, Any]:
    for _ in range(120):
        table: Mapping[str, Any] = (await client.describe_table(TableName=name))["Table"]
        indexes = table.get("GlobalSecondaryIndexes") or []
        if table["TableStatus"] == "ACTIVE" and all(i.get("IndexStatus", "ACTIVE") == "ACTIVE" for i in indexes):
            return table
        await asyncio.sleep(0.5)
    raise TimeoutError(f"the table {name} did not become active within a minute")


async def _switch_ttl_on(client: Any, name: str, attribute: str) -> None:
    described = (await client.describe_time_to_live(TableName=name)).get("TimeToLiveDescription") or {}
    if described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"):
        return
    await client.update_time_to_live(
        TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": attribute}
    )
