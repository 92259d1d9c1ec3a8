"""Is what AWS tells of a deployment what the service needs? Pure: each takes a description and gives findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from service.domain.finding import Finding, advice, fault, well
from service.store.cors import missing
from service.store.queue import MAX_RECEIVES, VISIBILITY_SECONDS
from service.store.schema import NUMBERS, TableShape

SKEW_ADVISED = 2.0
SKEW_ALLOWED = 10.0
"""Seconds. Leases are counted in epoch seconds by several machines, so their clocks must agree. A time server keeps
them within a tenth of a second; what is more than a quarter of a lease stops progress, however short the lease.
"""
MAKE = "Run `tiptrace admin create-tables`."
_MIGRATE = "Run `tiptrace admin migrate`, which adds it."
_TEMPORARY = "uploads/"
_KEPT = "movies/"


def judge_table(shape: TableShape, name: str, table: Mapping[str, Any]) -> list[Finding]:
    """What DescribeTable says of one table; nothing if it is as it must be."""
    found: list[Finding] = []
    if table.get("TableStatus") not in ("ACTIVE", "UPDATING"):
        found.append(fault("tables", f"{name} is {table.get('TableStatus')}.", "Wait until it is ACTIVE."))
    rebuild = (
        "Nothing can change the key of a table. Use another TIPTRACE_TABLE_PREFIX, or copy its rows into a new one."
    )
    if _key(table) != shape.key:
        said = f"{name} has the key {_words(_key(table))} and must have {_words(shape.key)}."
        found.append(fault("tables", said, rebuild))
    kinds = {one["AttributeName"]: one["AttributeType"] for one in table.get("AttributeDefinitions", ())}
    for attribute in sorted({a for key in (shape.key, *(index.key for index in shape.indexes)) for a in key}):
        kind = "N" if attribute in NUMBERS else "S"
        if kinds.get(attribute, kind) != kind:
            said = f"{attribute} of {name} is of type {kinds[attribute]} and must be of type {kind}."
            found.append(fault("tables", said, rebuild))
    present = {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes") or ()}
    for index in shape.indexes:
        there = present.get(index.name)
        if there is None:
            found.append(fault("tables", f"{name} lacks the index {index.name}.", _MIGRATE))
            continue
        again = f"Delete the index {index.name} of {name}, then run `tiptrace admin migrate`."
        if _key(there) != index.key:
            said = f"The index {index.name} of {name} has the key {_words(_key(there))}, not {_words(index.key)}."
            found.append(fault("tables", said, again))
        if not index.keys_only and there.get("Projection", {}).get("ProjectionType", "ALL") != "ALL":
            found.append(fault("tables", f"The index {index.name} of {name} does not hold whole rows.", again))
        if there.get("IndexStatus", "ACTIVE") not in ("ACTIVE", "UPDATING"):
            said = f"The index {index.name} of {name} is {there['IndexStatus']}."
            found.append(fault("tables", said, "Wait until it is ACTIVE."))
    return found


def judge_time_to_live(name: str, described: Mapping[str, Any], attribute: str) -> list[Finding]:
    """What DescribeTimeToLive says of a table whose rows end by themselves."""
    if described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") and described.get("AttributeName") == attribute:
        return []
    said = f"Rows of {name} are never deleted: time to live by {attribute} is off."
    return [advice("tables", said, MAKE)]


def has_backups(described: Mapping[str, Any]) -> bool:
    """Does DescribeContinuousBackups say that the table can be set back to any second of the last weeks?"""
    recovery = described.get("PointInTimeRecoveryDescription", {})
    return bool(recovery.get("PointInTimeRecoveryStatus") == "ENABLED")


def judge_backups(without: Sequence[str]) -> list[Finding]:
    """`without`: the tables that have no backups."""
    if not without:
        return []
    said = f"Point-in-time recovery is off: no earlier moment can be restored of {', '.join(without)}."
    todo = "Switch it on: `aws dynamodb update-continuous-backups`, or deploy/cloudformation/data.yaml."
    return [advice("tables", said, todo)]


def judge_queue(name: str, attributes: Mapping[str, str], ours: bool, setting: str) -> list[Finding]:
    """What GetQueueAttributes says of a queue of jobs. `ours`: `create-tables` looks after its attributes.

    `setting`: what may name the queue.
    """
    found = []
    cure = MAKE if ours else "Set it as deploy/cloudformation/data.yaml does: a queue of your own is left alone."
    if attributes.get("FifoQueue") == "true":
        said = f"{name} is a FIFO queue, which holds back jobs behind one that is at work."
        found.append(fault("queue", said, f"Name a standard queue in {setting}."))
    visibility = int(attributes.get("VisibilityTimeout", 0))
    if visibility != VISIBILITY_SECONDS:
        said = f"A message that was taken comes again after {visibility} s. It must be {VISIBILITY_SECONDS} s."
        found.append(fault("queue", said, cure))
    redrive = json.loads(attributes.get("RedrivePolicy") or "{}")
    if not redrive.get("deadLetterTargetArn"):
        said = f"{name} has no dead-letter queue: what is not ours comes again for ever."
        found.append(fault("queue", said, cure))
    elif int(redrive.get("maxReceiveCount", 0)) != MAX_RECEIVES:
        said = f"A message dies after {redrive.get('maxReceiveCount')} deliveries. It should be {MAX_RECEIVES}."
        found.append(advice("queue", said, cure))
    return found


def judge_dead_letters(name: str, attributes: Mapping[str, str]) -> list[Finding]:
    """What GetQueueAttributes says of the dead-letter queue."""
    dead = int(attributes.get("ApproximateNumberOfMessages", 0))
    if not dead:
        return []
    said = f"{dead} {'message lies' if dead == 1 else 'messages lie'} in {name}."
    return [advice("queue", said, "No job is lost with them. See the runbook, under Dead letters.")]


def judge_privacy(bucket: str, block: Mapping[str, Any]) -> list[Finding]:
    """The bucket's public access block, empty if there is none."""
    names = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
    if all(block.get(name) for name in names):
        return []
    said = f"{bucket} may be made public: not all public access is blocked."
    return [fault("bucket", said, "Block all public access to the bucket. Links are signed and need none.")]


def judge_cors(bucket: str, rules: Iterable[Mapping[str, Any]], origin: str | None) -> list[Finding]:
    """The bucket's rules for pages of other origins, of which the service's own pages are one."""
    lacking = missing(rules, origin)
    if not lacking:
        return []
    who = origin or "any origin (TIPTRACE_PUBLIC_URL is not set)"
    deeds = {"GET": "fetch pictures from it (GET with header Range)", "POST": "send movies to it (POST)"}
    said = f"{bucket} does not let pages of {who} {' or '.join(deeds[method] for method in lacking)}."
    return [fault("bucket", said, f"{MAKE} It adds the rule (CORS).")]


def judge_lifecycle(bucket: str, rules: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Which objects a bucket deletes by itself: uploads that nobody took over, and never a movie."""
    ending = [rule for rule in rules if rule.get("Status") == "Enabled" and _ends_objects(rule)]
    found = []
    for rule in ending:
        prefix = _prefix(rule)
        if prefix.startswith(_KEPT) or _KEPT.startswith(prefix):
            said = f"The rule {rule.get('ID') or 'without a name'} of {bucket} deletes movies and results after a time."
            found.append(fault("bucket", said, f"Limit it to {_TEMPORARY}: nothing under {_KEPT} may be deleted so."))
    if not any(_TEMPORARY.startswith(_prefix(rule)) for rule in ending):
        said = f"Uploads that nobody took over stay in {bucket} for ever."
        found.append(advice("bucket", said, f"Add a lifecycle rule that deletes {_TEMPORARY} after two days."))
    return found


def skew_of(date: str, before: float, after: float) -> float:
    """Seconds by which this machine is ahead of the one that wrote the Date header between the two instants here.

    The header tells whole seconds, so the answer is right within half a second and half of what the request took.
    """
    return (before + after) / 2 - (parsedate_to_datetime(date).timestamp() + 0.5)


def judge_clock(skew: float, lease_seconds: float) -> Finding:
    if abs(skew) <= SKEW_ADVISED:
        return well("clock", f"This machine's clock and the database's agree within {max(abs(skew), 0.5):.1f} s.")
    said = f"This machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the database's."
    if abs(skew) > lease_seconds / 4:
        said += f" That is more than a quarter of a lease ({lease_seconds / 4:g} s): jobs are taken from their workers."
    verdict = advice if abs(skew) <= min(SKEW_ALLOWED, lease_seconds / 4) else fault
    return verdict("clock", said, "Let it follow a time server (NTP). Leases are counted by it.")


def _ends_objects(rule: Mapping[str, Any]) -> bool:
    """Ours carry no tags, so a rule for tagged objects ends none of them."""
    chosen = rule.get("Filter") or {}
    tagged = "Tag" in chosen or "Tags" in chosen.get("And", {})
    return not tagged and bool({"Days", "Date"} & set(rule.get("Expiration", {})))


def _prefix(rule: Mapping[str, Any]) -> str:
    chosen = rule.get("Filter") or {}
    prefix = chosen.get("Prefix") or chosen.get("And", {}).get("Prefix") or rule.get("Prefix") or ""
    return str(prefix)


def _key(described: Mapping[str, Any]) -> tuple[str, ...]:
    ordered = sorted(described.get("KeySchema", ()), key=lambda key: key["KeyType"] != "HASH")
    return tuple(key["AttributeName"] for key in ordered)


def _words(key: Sequence[str]) -> str:
    return " and ".join(key) or "nothing"
