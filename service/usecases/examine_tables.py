"""Ask the database what tables there are, and try to read and write them. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from service.domain.finding import Finding, all_well, fault, well
from service.store.questions import NotThere, Unanswered, ask
from service.store.schema import NUMBERS, TABLES, TableShape
from service.usecases.judge_deployment import (
    MAKE,
    has_backups,
    judge_backups,
    judge_clock,
    judge_table,
    judge_time_to_live,
    skew_of,
)

_PART = "tables"
_NOBODY = "nobody"
"""A key that no row has."""


@dataclass(slots=True)
class _Look:
    """At one table."""

    client: Any
    shape: TableShape
    name: str
    found: list[Finding] = field(default_factory=list)
    date: str | None = None
    missing: bool = False
    without_backups: bool = False

    async def ask(self, action: str, call: Any, *, on: str = "", **request: Any) -> dict[str, Any] | None:
        """The reply, or None with a finding. A condition that did not hold is an answer like another."""
        what = self.name + on
        try:
            reply: dict[str, Any] = await ask(_PART, f"dynamodb:{action}", what, call, TableName=self.name, **request)
        except Unanswered as unanswered:
            self.found.append(unanswered.finding)
            self.date = unanswered.date
        except NotThere:
            self.missing = True
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code")
            if code != "ConditionalCheckFailedException":
                self.found.append(fault(_PART, f"{action} on {what} failed ({code}).", "Look at the table's key."))
        else:
            self.date = reply["ResponseMetadata"].get("HTTPHeaders", {}).get("date")
            return reply
        return None


async def examine_tables(
    client: Any, prefix: str, now: Callable[[], float], lease_seconds: float, *, backups: bool = True
) -> list[Finding]:
    """Tables, keys, indexes, what this role may do with them, and the clock.

    `now`: epoch seconds. `lease_seconds`: by which the clock is judged. `backups`: look whether tables can be set
    back, which only AWS itself can do.
    """
    looks = [_Look(client, shape, prefix + shape.name) for shape in TABLES]
    measured = await asyncio.gather(*(_look(look, now, backups) for look in looks))
    skews = [skew for skew in measured if skew is not None]
    found = [finding for look in looks for finding in look.found]
    missing = [look.name for look in looks if look.missing]
    if missing:
        found.append(fault(_PART, f"There is no {_listed(missing)}.", MAKE))
    found += judge_backups([look.name for look in looks if look.without_backups])
    if all_well(found):
        indexes = sum(len(shape.indexes) for shape in TABLES)
        said = (
            f"All {len(TABLES)} tables {prefix}... have their keys and {indexes} indexes, and can be read and written."
        )
        found.insert(0, well(_PART, said))
    if skews:
        found.append(judge_clock(min(skews, key=abs), lease_seconds))
    return found


async def _look(look: _Look, now: Callable[[], float], backups: bool) -> float | None:
    """By how many seconds this machine is ahead, if the database told its time."""
    before = now()
    reply = await look.ask("DescribeTable", look.client.describe_table)
    skew = skew_of(look.date, before, now()) if look.date else None
    if reply is None:
        return skew
    table = reply["Table"]
    look.found += judge_table(look.shape, look.name, table)
    present = {index["IndexName"] for index in table.get("GlobalSecondaryIndexes") or ()}
    further: list[Coroutine[Any, Any, None]] = [_try_rows(look)]
    further += [_try_index(look, index.name, index.key[0]) for index in look.shape.indexes if index.name in present]
    if backups:
        further.append(_look_at_backups(look))
    if look.shape.ttl:
        further.append(_look_at_time_to_live(look, look.shape.ttl))
    await asyncio.gather(*further)
    return skew


async def _try_rows(look: _Look) -> None:
    """Read a row that is not there, and write one on the condition that it is there."""
    key = {attribute: _nobody(attribute) for attribute in look.shape.key}
    await look.ask("GetItem", look.client.get_item, Key=key)
    await look.ask(
        "PutItem",
        look.client.put_item,
        Item=key,
        ConditionExpression="attribute_exists(#key)",
        ExpressionAttributeNames={"#key": look.shape.key[0]},
    )


async def _try_index(look: _Look, index: str, partition: str) -> None:
    await look.ask(
        "Query",
        look.client.query,
        on=f"/index/{index}",
        IndexName=index,
        KeyConditionExpression="#key = :nobody",
        ExpressionAttributeNames={"#key": partition},
        ExpressionAttributeValues={":nobody": _nobody(partition)},
        Limit=1,
    )


async def _look_at_backups(look: _Look) -> None:
    reply = await look.ask("DescribeContinuousBackups", look.client.describe_continuous_backups)
    if reply is not None:
        look.without_backups = not has_backups(reply.get("ContinuousBackupsDescription") or {})


async def _look_at_time_to_live(look: _Look, attribute: str) -> None:
    reply = await look.ask("DescribeTimeToLive", look.client.describe_time_to_live)
    if reply is not None:
        look.found += judge_time_to_live(look.name, reply.get("TimeToLiveDescription") or {}, attribute)


def _nobody(attribute: str) -> dict[str, str]:
    return {"N": "-1000"} if attribute in NUMBERS else {"S": _NOBODY}


def _listed(names: Sequence[str]) -> str:
    return f"table {names[0]}" if len(names) == 1 else f"table {', '.join(names[:-1])} or {names[-1]}"
