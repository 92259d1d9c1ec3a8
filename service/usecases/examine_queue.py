"""Ask SQS about a queue of jobs and its dead letters. Changes nothing: whatever is sent there is taken for a job."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import ClientError

from service.domain.finding import Finding, advice, all_well, fault, well
from service.store.questions import NotThere, Unanswered, ask
from service.usecases.judge_deployment import MAKE, judge_dead_letters, judge_queue

_PART = "queue"


async def examine_queue(
    client: Any, name: str, url: str | None, setting: str, *, without: str | None = None
) -> list[Finding]:
    """The queue `name`, or the one at `url` if `setting` names one, and where its dead letters go.

    `without`: how the service does if there is none; unset: it does not.
    """
    try:
        attributes = await _attributes(client, name, url, setting)
    except Unanswered as unanswered:
        return [unanswered.finding]
    except NotThere:
        if without and not url:
            return [advice(_PART, f"There is no queue {name}: {without}.", MAKE)]
        todo = f"Correct {setting}, or leave it out." if url else MAKE
        return [fault(_PART, f"There is no queue {url or name}.", todo)]
    found = judge_queue(url or name, attributes, ours=url is None, setting=setting)
    found += await _examine_dead_letters(client, attributes, setting)
    if all_well(found):
        waiting = attributes.get("ApproximateNumberOfMessages", "0")
        said = f"The queue {url or name} has its dead-letter queue. Messages that wait in it: {waiting}."
        found.insert(0, well(_PART, said))
    return found


async def _examine_dead_letters(client: Any, attributes: dict[str, str], setting: str) -> list[Finding]:
    arn = str(json.loads(attributes.get("RedrivePolicy") or "{}").get("deadLetterTargetArn", ""))
    if not arn:
        return []  # which judge_queue has told
    name = arn.rpartition(":")[2]
    try:
        return judge_dead_letters(name, await _attributes(client, name, None, setting))
    except Unanswered as unanswered:
        return [unanswered.finding]
    except NotThere:
        return [fault(_PART, f"Dead letters go to {name}, and there is no such queue.", MAKE)]


async def _attributes(client: Any, name: str, url: str | None, setting: str) -> dict[str, str]:
    """Raises Unanswered, NotThere."""
    what = url or name
    try:
        if url is None:
            url = (await ask(_PART, "sqs:GetQueueUrl", what, client.get_queue_url, QueueName=name))["QueueUrl"]
        reply = await ask(
            _PART,
            "sqs:GetQueueAttributes",
            what,
            client.get_queue_attributes,
            QueueUrl=url,
            AttributeNames=["All"],
        )
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code")
        raise Unanswered(fault(_PART, f"{what} cannot be asked ({code}).", f"Look at {setting}.")) from None
    attributes: dict[str, str] = reply.get("Attributes", {})
    return attributes
