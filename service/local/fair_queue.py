"""Fair queues, as SQS has them and the emulator has not: messages of many groups are given out in turn.

A message with a group is kept here until somebody asks for one; then the group whose turn it is hands its oldest over
to the emulator, which gives it out and from then on knows all about it. So a group with two hundred waiting costs
another with one a single turn. Nothing is handed over to a caller who has left while he waited: the question of a
worker that was killed would otherwise take the next message with it, until its visibility ends.

What is kept here is as mortal as the emulator's own queues: jobs stand in the database and are announced again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Any

from service.local.exchange import Receive, Reply
from service.local.retained import SQS

Forward = Callable[[str, bytes, bytes], Awaitable[Reply]]
"""Puts one request to the emulator: target, body, the caller's Host header."""

LOOK_SECONDS = 0.25
"""How often a waiting question looks whether a message has become visible again; new ones wake it at once."""
_COUNT = "ApproximateNumberOfMessages"


class Turns:
    """What waits, by group. Groups take turns; within one the oldest comes first."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, deque[bytes]] = OrderedDict()

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._groups.values())

    def put(self, group: str, what: bytes) -> None:
        self._groups.setdefault(group, deque()).append(what)

    def take(self) -> bytes | None:
        """The oldest of the group whose turn it is, or None."""
        if not self._groups:
            return None
        group, waiting = self._groups.popitem(last=False)
        what = waiting.popleft()
        if waiting:
            self._groups[group] = waiting
        return what


class FairQueues:
    """Answers what concerns messages that wait; everything else about queues is the emulator's own affair."""

    def __init__(self, forward: Forward) -> None:
        self._forward = forward
        self._turns: dict[str, Turns] = {}
        self._sent = asyncio.Event()
        self._closing = False

    def close(self) -> None:
        """Answer all who wait, and let nobody wait any more: the process is about to end."""
        self._closing = True
        self._sent.set()

    async def answer(self, op: str, body: bytes, host: bytes, receive: Receive) -> Reply | None:
        """The reply to one request in JSON, or None if it is to go to the emulator as it is."""
        try:
            request: Any = json.loads(body)
        except ValueError:
            return None
        if not isinstance(request, dict) or not isinstance(request.get("QueueUrl"), str):
            return None
        name = request["QueueUrl"].rpartition("/")[2]
        if op == "SendMessage" and request.get("MessageGroupId") and _is_plain(request, name):
            return await self._keep(request, name, body, host)
        if op == "ReceiveMessage":
            return await self._give(request, name, body, host, receive)
        if op == "GetQueueAttributes":
            return self._counted(name, await self._forward(SQS + op, body, host))
        if op in ("PurgeQueue", "DeleteQueue"):
            self._turns.pop(name, None)
        return None

    async def _keep(self, request: dict[str, Any], name: str, body: bytes, host: bytes) -> Reply:
        """Only if there is such a queue; what the emulator would refuse besides is found out when it is handed over."""
        asked = json.dumps({"QueueUrl": request["QueueUrl"], "AttributeNames": ["QueueArn"]}).encode()
        there = await self._forward(SQS + "GetQueueAttributes", asked, host)
        if there.status != 200:
            return there
        self._turns.setdefault(name, Turns()).put(str(request["MessageGroupId"]), body)
        self._sent.set()
        digest = hashlib.md5(request["MessageBody"].encode(), usedforsecurity=False).hexdigest()
        return _json_reply({"MessageId": str(uuid.uuid4()), "MD5OfMessageBody": digest})

    async def _give(self, request: dict[str, Any], name: str, body: bytes, host: bytes, receive: Receive) -> Reply:
        """Wait as long as the request says, or until the caller leaves."""
        if "WaitTimeSeconds" in request:
            body = json.dumps({**request, "WaitTimeSeconds": 0}).encode()
        end = time.monotonic() + float(request.get("WaitTimeSeconds") or 0)
        left = asyncio.ensure_future(receive())  # the body is read, so only a disconnect can come
        try:
            while True:
                self._sent.clear()
                reply = await self._forward(SQS + "ReceiveMessage", body, host)
                if _has_messages(reply) or left.done():
                    return reply
                if await self._hand_over(name, host):
                    continue
                seconds = min(LOOK_SECONDS, end - time.monotonic())
                if seconds <= 0 or self._closing:
                    return reply
                await self._something(left, seconds)
                if left.done():
                    return reply
        finally:
            left.cancel()

    async def _hand_over(self, name: str, host: bytes) -> bool:
        """Put the message whose turn it is into the emulator's queue; False if none waits."""
        waiting = self._turns.get(name)
        body = waiting.take() if waiting else None
        if body is None:
            return False
        await self._forward(SQS + "SendMessage", body, host)
        return True

    async def _something(self, left: asyncio.Future[Any], seconds: float) -> None:
        """Until a message is sent, the caller leaves or the time is over."""
        sent = asyncio.ensure_future(self._sent.wait())
        await asyncio.wait({sent, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        sent.cancel()

    def _counted(self, name: str, reply: Reply) -> Reply:
        """The emulator's answer, with those that wait here."""
        waiting = len(self._turns.get(name, ()))
        told = json.loads(reply.body) if waiting and reply.status == 200 else {}
        if _COUNT not in told.get("Attributes", {}):
            return reply
        told["Attributes"][_COUNT] = str(int(told["Attributes"][_COUNT]) + waiting)
        return _json_reply(told)


def _is_plain(request: dict[str, Any], name: str) -> bool:
    """A message for a standard queue, to be had at once: others are the emulator's affair."""
    late = request.get("DelaySeconds") or request.get("MessageDeduplicationId")
    return not late and not name.endswith(".fifo") and isinstance(request.get("MessageBody"), str)


def _has_messages(reply: Reply) -> bool:
    return reply.status != 200 or bool(json.loads(reply.body or b"{}").get("Messages"))


def _json_reply(told: dict[str, Any]) -> Reply:
    body = json.dumps(told).encode()
    headers = [(b"content-type", b"application/x-amz-json-1.0"), (b"content-length", str(len(body)).encode())]
    return Reply(200, headers, body)
