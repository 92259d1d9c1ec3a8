"""What `create-tables` makes of a deployment, and what it leaves as it found it. On the real emulator."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import aioboto3
import pytest
import pytest_asyncio
from aiobotocore.config import AioConfig

from service.local.emulator import Emulator
from service.queues import NotSetUp, find_queues, make_queues, queue_names
from service.runtime import _session, make_everything, open_clients
from service.store.objects import Objects
from service.store.queue import Queue, ensure_queue
from tests.support.lab import settings_for
from tests.support.role import Role

OURS = {"GET", "HEAD", "POST"}


@pytest.fixture
def prefix() -> str:
    return f"s{uuid.uuid4().hex[:10]}"


@pytest_asyncio.fixture
async def s3(emulator: Emulator) -> AsyncIterator[Any]:
    session = aioboto3.Session("test", "test", region_name="eu-central-1")
    config = AioConfig(s3={"addressing_style": "path"})
    async with session.client("s3", endpoint_url=emulator.endpoint, config=config) as client:
        yield client


async def test_everything_is_said_to_be_made_once_and_to_be_there_afterwards(emulator: Emulator, prefix: str) -> None:
    settings = settings_for(prefix)
    first = await make_everything(settings, endpoint=emulator.endpoint)
    assert {*queue_names(settings).values(), settings.bucket, f"{prefix}-movies"} <= set(first.created)
    assert first.present == []
    again = await make_everything(settings, endpoint=emulator.endpoint)
    assert (again.created, set(again.present)) == ([], set(first.created))


async def test_a_deployment_that_has_one_queue_goes_on_with_it(emulator: Emulator, prefix: str) -> None:
    settings = settings_for(prefix)
    async with open_clients(emulator.endpoint) as clients:
        with pytest.raises(NotSetUp, match="create-tables"):
            await find_queues(clients.sqs, settings)
        one = await ensure_queue(clients.sqs, f"{prefix}-jobs")
        assert await find_queues(clients.sqs, settings) == {"trace": one, "inspect": one}
        both = await make_queues(clients.sqs, settings)
        assert both == {"trace": one, "inspect": one.removesuffix("jobs") + "inspections"}
        assert await find_queues(clients.sqs, settings) == both
        assert Queue(clients.sqs, both).lanes == ("trace", "inspect")
        for named, found in (
            ({"queue_url": "a"}, {"trace": "a", "inspect": "a"}),
            ({"queue_url": "a", "inspect_queue_url": "b"}, {"trace": "a", "inspect": "b"}),
            ({"inspect_queue_url": "b"}, {"trace": one, "inspect": "b"}),
        ):
            assert await find_queues(clients.sqs, settings.model_copy(update=named)) == found
        older = Role("of a time with one queue", [(["sqs:*"], [f"arn:aws:sqs:us-east-1:000000000000:{prefix}-jobs"])])
        older.worn_by(clients.sqs)
        assert await find_queues(clients.sqs, settings) == {"trace": one, "inspect": one}


async def test_the_bucket_is_made_in_the_region_of_its_client(s3: Any, prefix: str) -> None:
    asked: list[Any] = []
    s3.meta.events.register("before-parameter-build.s3.CreateBucket", lambda params, **_: asked.append(dict(params)))
    assert await Objects(s3, f"{prefix}-b").ensure_bucket()
    # Elsewhere than in us-east-1 the real storage refuses a request that does not name its own region.
    assert asked[0]["CreateBucketConfiguration"] == {"LocationConstraint": "eu-central-1"}
    assert (await s3.get_bucket_location(Bucket=f"{prefix}-b"))["LocationConstraint"] == "eu-central-1"


async def test_rules_that_a_bucket_has_for_browsers_stay_and_ours_is_added_once(s3: Any, prefix: str) -> None:
    theirs = {"AllowedMethods": ["PUT"], "AllowedOrigins": ["https://lab.example"]}
    await s3.create_bucket(Bucket=prefix, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    await s3.put_bucket_cors(Bucket=prefix, CORSConfiguration={"CORSRules": [theirs]})
    for _ in range(2):
        assert not await Objects(s3, prefix).ensure_bucket()
        rules = (await s3.get_bucket_cors(Bucket=prefix))["CORSRules"]
        assert [set(rule["AllowedMethods"]) for rule in rules] == [{"PUT"}, OURS]
        assert rules[0]["AllowedOrigins"] == ["https://lab.example"]


async def test_all_names_are_read_however_many_there_are(s3: Any, prefix: str) -> None:
    objects = Objects(s3, prefix)
    await objects.ensure_bucket()
    names = [f"movies/m/{n}" for n in range(5)]
    await asyncio.gather(*(objects.put(name, b"", "text/plain") for name in names))
    assert sorted(await objects.keys("movies/m/", page=2)) == names


@pytest.mark.parametrize(
    ("environment", "region"),
    [
        ({"AWS_REGION": "eu-west-3"}, "eu-west-3"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, "eu-west-1"),
        ({"AWS_REGION": "eu-west-3", "AWS_DEFAULT_REGION": "eu-west-1"}, "eu-west-3"),
    ],
)
def test_the_region_is_what_awss_own_variables_say(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], region: str
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _session(None).region_name == region
