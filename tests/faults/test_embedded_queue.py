"""The embedded queue: groups take turns, and nobody who has left takes a message with him."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from botocore.exceptions import ClientError

from service.local.emulator import Emulator
from tests.support.asgi_server import raw
from tests.support.writers import client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sqs(emulator: Emulator) -> AsyncIterator[Any]:
    async with client("sqs", emulator.endpoint) as opened:
        yield opened


async def queue(sqs: Any, name: str, **attributes: str) -> str:
    url: str = (await sqs.create_queue(QueueName=name, Attributes=attributes))["QueueUrl"]
    return url


async def taken(sqs: Any, url: str, wait: int = 0, **more: Any) -> list[str]:
    """Receive and delete; the bodies."""
    reply = await sqs.receive_message(QueueUrl=url, WaitTimeSeconds=wait, **more)
    messages = reply.get("Messages", [])
    for message in messages:
        await sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return [message["Body"] for message in messages]


async def test_a_flood_of_one_group_costs_another_a_single_turn(sqs: Any) -> None:
    url = await queue(sqs, "fair")
    for n in range(40):
        await sqs.send_message(QueueUrl=url, MessageBody=f"flood {n}", MessageGroupId="a class")
    await sqs.send_message(QueueUrl=url, MessageBody="single", MessageGroupId="somebody")
    told = await sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    assert told["Attributes"]["ApproximateNumberOfMessages"] == "41"
    assert [(await taken(sqs, url))[0] for _ in range(4)] == ["flood 0", "single", "flood 1", "flood 2"]
    for _ in range(37):
        assert await taken(sqs, url)
    assert await taken(sqs, url) == []


async def test_a_message_that_was_given_out_and_not_deleted_comes_again(sqs: Any) -> None:
    url = await queue(sqs, "again", VisibilityTimeout="1")
    await sqs.send_message(QueueUrl=url, MessageBody="job", MessageGroupId="a class")
    names = ["ApproximateReceiveCount", "MessageGroupId"]
    for count in ("1", "2"):
        reply = await sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5, MessageSystemAttributeNames=names)
        assert reply["Messages"][0]["Attributes"] == {"ApproximateReceiveCount": count, "MessageGroupId": "a class"}
    await sqs.purge_queue(QueueUrl=url)


async def test_a_message_wakes_who_waits_and_one_without_a_group_is_given_out_too(sqs: Any) -> None:
    url = await queue(sqs, "awake")
    for more in ({"MessageGroupId": "g"}, {}):
        waiting = asyncio.create_task(taken(sqs, url, 20))
        await asyncio.sleep(0)
        await sqs.send_message(QueueUrl=url, MessageBody="hello", **more)
        assert await asyncio.wait_for(waiting, 10) == ["hello"]


async def test_who_has_left_takes_no_message_with_him(sqs: Any, emulator: Emulator) -> None:
    """A worker that was killed while it waited: the next message goes to one that lives."""
    url = await queue(sqs, "left")
    body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 20}).encode()
    port = int(emulator.endpoint.rpartition(":")[2])
    _, writer = await raw(
        port,
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
        b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n" % (port, len(body)) + body,
    )
    assert await taken(sqs, url, 1) == []  # by now the question above has arrived and waits
    writer.transport.abort()
    await sqs.send_message(QueueUrl=url, MessageBody="job", MessageGroupId="g")
    assert await taken(sqs, url, 5) == ["job"]


async def test_a_queue_that_is_emptied_or_is_not_there_keeps_nothing(sqs: Any) -> None:
    url = await queue(sqs, "empty")
    await sqs.send_message(QueueUrl=url, MessageBody="job", MessageGroupId="g")
    await sqs.purge_queue(QueueUrl=url)
    assert await taken(sqs, url) == []
    with pytest.raises(ClientError, match="NonExistentQueue"):
        await sqs.send_message(QueueUrl=url + "-not", MessageBody="job", MessageGroupId="g")


async def test_who_waits_when_the_service_stops_is_answered_and_the_log_stays_clean(tmp_path: Path) -> None:
    """Workers that join wait for messages all day long; an ordinary stop is no error of theirs."""
    async with Emulator(tmp_path) as emulator, client("sqs", emulator.endpoint) as sqs:
        url = await queue(sqs, "jobs")
        waiting = [asyncio.create_task(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)) for _ in range(3)]
        await asyncio.sleep(0.5)
        await emulator.stop()
        assert [reply.get("Messages") for reply in await asyncio.gather(*waiting)] == [None] * 3
    assert "Traceback" not in emulator.log_path.read_text()
