"""The queue of jobs on SQS: long poll, visibility, dead letters. A message names a job and carries nothing else.

There is a lane for each kind of job, a queue of its own in SQS or one queue for both. Each message says to SQS, beside
its body, whose turn it is (its message group). A standard queue whose messages have groups is a fair queue: a group
that has many at work does not hold up the others.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from service.domain.errors import StoreUnavailable
from service.domain.lease import Kind

VISIBILITY_SECONDS = 60
MAX_RECEIVES = 5
_FIELDS = {"movie_id": str, "job_id": str, "attempt": int}
_TRIES = 4


class MalformedMessage(Exception):
    """The body is not a message of ours."""


@dataclass(frozen=True, slots=True)
class JobMessage:
    """What is sent: the row and the receipt hold all the rest."""

    movie_id: str
    job_id: str
    attempt: int

    def body(self) -> str:
        if not (self.movie_id and self.job_id and self.attempt >= 1):
            raise MalformedMessage("a job message names its movie, its job and its attempt")
        return json.dumps({"movie_id": self.movie_id, "job_id": self.job_id, "attempt": self.attempt})


@dataclass(frozen=True, slots=True)
class Delivery:
    """One received message. `handle` is good for this delivery only, and for the queue at `url`."""

    url: str
    body: str
    handle: str
    receives: int

    def message(self) -> JobMessage:
        """The message, or MalformedMessage if anything is missing, of a wrong type or not ours."""
        try:
            data = json.loads(self.body)
        except ValueError:
            raise MalformedMessage("not JSON") from None
        if not isinstance(data, dict) or set(data) != set(_FIELDS):
            raise MalformedMessage("fields other than movie_id, job_id and attempt")
        for name, kind in _FIELDS.items():
            if type(data[name]) is not kind or not data[name]:
                raise MalformedMessage(f"{name} is missing or of a wrong type")
        return JobMessage(**data)


async def ensure_queue(client: Any, name: str) -> str:
    """Make the queue and its dead-letter queue if they are missing; returns the queue's URL."""
    dead = await client.create_queue(QueueName=f"{name}-dead", Attributes={"MessageRetentionPeriod": "1209600"})
    arn = (await client.get_queue_attributes(QueueUrl=dead["QueueUrl"], AttributeNames=["QueueArn"]))["Attributes"]
    redrive = json.dumps({"deadLetterTargetArn": arn["QueueArn"], "maxReceiveCount": MAX_RECEIVES})
    attributes = {"VisibilityTimeout": str(VISIBILITY_SECONDS), "RedrivePolicy": redrive}
    made = await client.create_queue(QueueName=name, Attributes=attributes)
    url: str = made["QueueUrl"]
    await client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    return url


class Queue:
    """Sending may be repeated: a redelivered message is a no-op for the claim."""

    def __init__(self, client: Any, urls: Mapping[Kind, str], first_pause: float = 0.05) -> None:
        """`urls`: where jobs of each kind go.

        `first_pause`: seconds before a message is sent a second time; each later pause is twice as long.
        """
        self.client = client
        self.urls = urls
        self.first_pause = first_pause

    @property
    def lanes(self) -> tuple[Kind, ...]:
        """A kind for each queue: both kinds, or one if both are in the same queue."""
        apart: dict[str, Kind] = {}
        for kind, url in self.urls.items():
            apart.setdefault(url, kind)
        return tuple(apart.values())

    async def send(self, message: JobMessage, kind: Kind, group: str) -> None:
        """`group`: whose turn it is, see Movie.turn. Whoever receives the job does it, in whichever lane it lies.

        Raises StoreUnavailable; the job stands in the database all the same and is announced again.
        """
        body = message.body()
        for attempt in range(_TRIES):
            try:
                await self.client.send_message(QueueUrl=self.urls[kind], MessageBody=body, MessageGroupId=group)
                return
            except (ClientError, BotoCoreError, HTTPClientError, OSError):
                if attempt == _TRIES - 1:
                    raise StoreUnavailable from None
                await asyncio.sleep(self.first_pause * 2**attempt)

    async def receive(self, lane: Kind, wait_seconds: int) -> Delivery | None:
        """Wait up to `wait_seconds` for one message. Raises StoreUnavailable."""
        url = self.urls[lane]
        try:
            reply = await self.client.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=1,
                WaitTimeSeconds=wait_seconds,
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
            )
        except (ClientError, BotoCoreError, HTTPClientError, OSError):
            raise StoreUnavailable from None
        for raw in reply.get("Messages", []):
            receives = int(raw.get("Attributes", {}).get("ApproximateReceiveCount", 1))
            return Delivery(url, raw["Body"], raw["ReceiptHandle"], receives)
        return None

    async def delete(self, delivery: Delivery) -> None:
        """A handle that is stale, or a message already gone, is success."""
        try:
            await self.client.delete_message(QueueUrl=delivery.url, ReceiptHandle=delivery.handle)
        except ClientError:
            return
        except (BotoCoreError, HTTPClientError, OSError):
            raise StoreUnavailable from None

    async def depth(self) -> dict[str, int]:
        """How many messages wait and how many are in flight, about, over all lanes. Raises StoreUnavailable."""
        told = await asyncio.gather(*(self._attributes(self.urls[lane]) for lane in self.lanes))
        return {
            "waiting": sum(int(one.get("ApproximateNumberOfMessages", 0)) for one in told),
            "in_flight": sum(int(one.get("ApproximateNumberOfMessagesNotVisible", 0)) for one in told),
        }

    async def _attributes(self, url: str) -> Mapping[str, str]:
        try:
            reply = await self.client.get_queue_attributes(
                QueueUrl=url,
                AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
            )
        except (ClientError, BotoCoreError, HTTPClientError, OSError):
            raise StoreUnavailable from None
        told: Mapping[str, str] = reply["Attributes"]
        return told
