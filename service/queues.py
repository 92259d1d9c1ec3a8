"""Which queues of SQS a deployment's jobs lie in: named by the settings, or found and made by their names."""

from __future__ import annotations

from typing import Any

import structlog
from botocore.exceptions import ClientError

from service.domain.lease import Kind
from service.settings import Settings
from service.store.queue import ensure_queue

_NAMES: dict[Kind, str] = {"trace": "jobs", "inspect": "inspections"}

_NOWHERE = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
_REFUSED = ("AccessDenied", "AccessDeniedException")

log = structlog.get_logger()


class NotSetUp(Exception):
    """A part of the deployment that `tiptrace admin create-tables` makes is missing."""


def queue_names(settings: Settings) -> dict[Kind, str]:
    """What the queues are called that no setting names."""
    return {kind: settings.table_prefix + name for kind, name in _NAMES.items()}


def named_urls(settings: Settings) -> dict[Kind, str | None]:
    """The queues that the settings name. Whoever names one queue and no more wants all jobs there."""
    return {"trace": settings.queue_url, "inspect": settings.inspect_queue_url or settings.queue_url}


async def find_queues(sqs: Any, settings: Settings) -> dict[Kind, str]:
    """The URLs of a deployment's queues. Raises NotSetUp.

    One that was set up before there was a queue of inspections, or whose role does not know it, goes on with one queue.
    """
    named, names = named_urls(settings), queue_names(settings)
    trace = named["trace"] or await _url_of(sqs, names["trace"])
    if trace is None:
        raise NotSetUp(f"There is no queue {names['trace']}. Run `tiptrace admin create-tables` first.")
    inspect = named["inspect"] or await _url_of(sqs, names["inspect"], or_not_ours=True)
    if inspect is None:
        log.warning("queue.of_inspections_missing", name=names["inspect"])
    return {"trace": trace, "inspect": inspect or trace}


async def make_queues(sqs: Any, settings: Settings) -> dict[Kind, str]:
    """Make the queues, each with its dead-letter queue, or bring their attributes up to date; returns their URLs."""
    return {kind: await ensure_queue(sqs, name) for kind, name in queue_names(settings).items()}


async def complete_queues(sqs: Any, settings: Settings) -> dict[str, bool]:
    """`make_queues` for those alone that no setting names; returns for each, by its name, whether it was there."""
    there = {}
    for kind, name in queue_names(settings).items():
        if not named_urls(settings)[kind]:
            there[name] = await _url_of(sqs, name) is not None
            await ensure_queue(sqs, name)
    return there


async def _url_of(sqs: Any, name: str, *, or_not_ours: bool = False) -> str | None:
    """None if there is no such queue; `or_not_ours`: or none that this role may know of."""
    missing = _NOWHERE + (_REFUSED if or_not_ours else ())
    try:
        url: str = (await sqs.get_queue_url(QueueName=name))["QueueUrl"]
    except ClientError as refusal:
        if refusal.response.get("Error", {}).get("Code") not in missing:
            raise
        return None
    return url
