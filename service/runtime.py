"""Everything that a process holds open: one session, its clients, the stores. Opened once, closed in order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aioboto3
from aiobotocore.config import AioConfig

from service import metrics
from service.domain.clock import Clock
from service.domain.clock_skew import ClockSkew
from service.domain.ids import Ids
from service.domain.letters import Mailer
from service.domain.origin import origin_of
from service.mail import mailer_of
from service.queues import complete_queues, find_queues, make_queues
from service.settings import Settings
from service.store.calls import count_calls
from service.store.clock_watch import watch_clock
from service.store.objects import Front, Objects
from service.store.queue import Queue
from service.store.replies import read_items_directly, refuse_strange_messages, refuse_strange_objects
from service.store.schema import Made, create_tables
from service.store.stores import Stores, build_stores
from service.store.table import Database
from service.usecases.frame_archive import Directories

EMULATOR_REGION = "us-east-1"
HEALTH_SECONDS = 2.0
"""How long each dependency may take to answer before it counts as down; all are asked at once."""


def _session(endpoint: str | None) -> Any:
    """The emulator takes any keys, but presigned addresses work in one region only; AWS's come from the environment.

    The library itself reads AWS_DEFAULT_REGION alone; AWS_REGION comes first wherever else AWS is spoken to.
    """
    if endpoint is None:
        return aioboto3.Session(region_name=os.environ.get("AWS_REGION") or None)
    return aioboto3.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",  # nosec B106  # noqa: S106  the emulator's, known to all
        region_name=EMULATOR_REGION,
    )


@dataclass(frozen=True, slots=True)
class Runtime:
    """What views, workers and commands share. `endpoint` is the embedded emulator's, None on AWS.

    `stopping` is set once this process has been told to stop: it says that it is not ready, and its workers take no
    more jobs.
    """

    settings: Settings
    stores: Stores
    mailer: Mailer
    skew: ClockSkew
    endpoint: str | None = None
    directories: Directories = field(default_factory=Directories)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def health(self) -> dict[str, bool]:
        """Does each dependency answer within HEALTH_SECONDS?"""
        stores = self.stores
        pings = {
            "database": stores.database.client.describe_table(TableName=stores.database.prefix + "movies"),
            "storage": stores.objects.client.head_bucket(Bucket=stores.objects.bucket),
            "queue": stores.queue.depth(),
        }
        answers = await asyncio.gather(*(_answers(ping) for ping in pings.values()))
        return dict(zip(pings, answers, strict=True))


async def _answers(ping: Any) -> bool:
    try:
        async with asyncio.timeout(HEALTH_SECONDS):
            await ping
    except Exception:  # whatever is wrong with it, it does not answer
        return False
    return True


def _config(**more: Any) -> AioConfig:
    """The clients never repeat a request themselves: see service.store.table."""
    return AioConfig(
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=100,
        connect_timeout=3,
        user_agent="tiptrace",  # else the SDK describes itself anew for each request, a seventh of its time
        **more,
    )


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    endpoint: str | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    front: Front | None = None,
) -> AsyncIterator[Runtime]:
    """Open clients and stores. With `endpoint` (the embedded emulator's) whatever is missing there is made first.

    `front`: what hands movies out and takes them in, if not the storage itself.
    """
    session = _session(endpoint)
    async with AsyncExitStack() as stack:

        async def client(name: str, config: AioConfig) -> Any:
            opened = await stack.enter_async_context(session.client(name, endpoint_url=endpoint, config=config))
            count_calls(opened)
            return opened

        # Shapes of what is asked come from our own tables and expressions, never from people; DynamoDB checks them too.
        # That the SDK walks through them before is a seventh of what a write costs.
        dynamodb = await client("dynamodb", _config(read_timeout=10, parameter_validation=False))
        read_items_directly(dynamodb)
        skew = watch_clock(dynamodb)
        s3 = await client(
            "s3",
            _config(
                read_timeout=60,
                signature_version="s3v4",
                s3={"addressing_style": "path"} if endpoint else None,
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )
        refuse_strange_objects(s3)
        sqs = await client("sqs", _config(read_timeout=30))
        refuse_strange_messages(sqs)
        objects = Objects(s3, settings.bucket, front=front)
        if endpoint:
            await create_tables(dynamodb, settings.table_prefix)
            await objects.ensure_bucket()
            urls = await make_queues(sqs, settings)
        else:
            urls = await find_queues(sqs, settings)
        stores = build_stores(
            Database(dynamodb, settings.table_prefix), objects, Queue(sqs, urls), settings.policy(), clock, ids
        )
        metrics.LEASE_SECONDS.set(settings.lease_seconds)
        metrics.HEARTBEAT_SECONDS.set(settings.heartbeat_seconds)
        metrics.SWEEP_SECONDS.set(settings.sweep_seconds)
        yield Runtime(settings=settings, stores=stores, mailer=mailer_of(settings), skew=skew, endpoint=endpoint)


@dataclass(frozen=True, slots=True)
class Clients:
    """The three services of AWS, or what stands in for them, asked without repetition."""

    dynamodb: Any
    s3: Any
    sqs: Any


@asynccontextmanager
async def open_clients(endpoint: str | None = None) -> AsyncIterator[Clients]:
    """For who sets a deployment up or looks at it: needs nothing of it to be there."""
    session = _session(endpoint)
    async with (
        session.client("dynamodb", endpoint_url=endpoint, config=_config()) as dynamodb,
        session.client("s3", endpoint_url=endpoint, config=_config()) as s3,
        session.client("sqs", endpoint_url=endpoint, config=_config()) as sqs,
    ):
        yield Clients(dynamodb, s3, sqs)


async def make_everything(settings: Settings, *, endpoint: str | None = None) -> Made:
    """Tables, bucket and queues of a deployment; what exists is left alone."""
    async with open_clients(endpoint) as clients:
        made = await create_tables(clients.dynamodb, settings.table_prefix)
        origin = origin_of(settings.public_url) if settings.public_url else None
        if await Objects(clients.s3, settings.bucket).ensure_bucket(origin):
            made.created.append(settings.bucket)
        else:
            made.present.append(settings.bucket)
        for name, present in (await complete_queues(clients.sqs, settings)).items():
            (made.present if present else made.created).append(name)
    return made
