"""What may come out of a queue: foreign, malformed, doubled and late messages, stale handles, movies that kill."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from service.local.emulator import Emulator
from service.metrics import REGISTRY
from service.store.queue import Delivery, JobMessage, MalformedMessage, Queue
from service.usecases.cancel_trace import cancel
from service.usecases.job_lease import claim
from service.usecases.observe_jobs import observe_jobs, show
from service.usecases.submit_trace import TraceOrder, submit
from service.usecases.sweep import sweep
from service.worker.delivery import handle
from service.worker.engine import Engine
from tests.support import uploads
from tests.support.engines import ScriptedEngine
from tests.support.lab import Lab, open_lab
from tests.support.lab_worker import message_of
from tests.support.messages import next_message

pytestmark = pytest.mark.asyncio(loop_scope="module")
ID = "0123456789abcdef" * 2


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab(emulator: Emulator) -> AsyncIterator[Lab]:
    async with open_lab(emulator.endpoint) as opened:
        yield opened


async def received(lab: Lab) -> Delivery:
    async with asyncio.timeout(10):
        while (delivery := await next_message(lab.stores.queue, 1)) is None:
            pass
    return delivery


async def handled(lab: Lab, delivery: Delivery, engine: Any = None) -> str:
    return await handle(lab.stores, delivery, engine or ScriptedEngine(), asyncio.Event(), "veryfast")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "not json",
        "[]",
        "null",
        json.dumps({"movie_id": "m", "attempt": 1}),
        json.dumps({"movie_id": "m", "job_id": "", "attempt": 1}),
        json.dumps({"movie_id": "m", "job_id": ID, "attempt": "1"}),
        json.dumps({"movie_id": "m", "job_id": ID, "attempt": True}),
        json.dumps({"movie_id": "m", "job_id": ID, "attempt": 0}),
        json.dumps({"movie_id": "m", "job_id": ID, "attempt": 1, "frames": [1]}),
        json.dumps({"Records": [{"s3": {"object": {"key": "x"}}}]}),
    ],
)
async def test_a_foreign_message_is_left_for_the_dead_letters_and_said_once_a05(lab: Lab, body: str) -> None:
    with capture_logs() as logs:
        for receives in (1, 2, 3):
            assert await handled(lab, Delivery("url", body, "handle", receives)) == "foreign"
    assert [line["event"] for line in logs] == ["queue.foreign_message"]
    assert body == "" or body not in str(logs)


@pytest.mark.parametrize(("job_id", "attempt"), [("", 1), ("j", 0)])
async def test_a_message_without_its_job_is_refused_where_it_is_made_a05(job_id: str, attempt: int) -> None:
    with pytest.raises(MalformedMessage):
        JobMessage("m", job_id, attempt).body()


async def test_what_is_sent_is_what_is_understood(lab: Lab) -> None:
    message = JobMessage("m-1", ID, 2)
    await lab.stores.queue.send(message, "trace", "course")
    delivery = await received(lab)
    assert delivery.message() == message
    await lab.stores.queue.delete(delivery)


async def test_a_message_of_an_unknown_job_or_movie_is_taken_away_and_changes_nothing(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    before = (await lab.movie(movie_id)).row
    for message in (JobMessage(movie_id, ID, 1), JobMessage("m-nobody", ID, 1)):
        await lab.stores.queue.send(message, "trace", "course")
        assert await handled(lab, await received(lab)) == "nothing to do"
    assert (await lab.movie(movie_id)).row == before
    assert await lab.stores.queue.depth() == {"waiting": 0, "in_flight": 0}


async def test_a_message_that_comes_twice_is_one_run_and_leaves_an_empty_queue_c09(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    await lab.stores.queue.send(message_of(submitted), "trace", "course")
    first, second = await received(lab), await received(lab)
    assert first.message() == second.message()
    outcomes = await asyncio.gather(handled(lab, first), handled(lab, second))
    assert sorted(outcomes) == ["completed", "nothing to do"]
    assert await lab.stores.queue.depth() == {"waiting": 0, "in_flight": 0}
    await lab.stores.queue.delete(first)  # its handle is stale by now: that is success too


async def test_a_movie_that_kills_its_decoder_fails_after_its_attempts_and_the_next_job_works_c15(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    await lab.submit(owner, movie_id)
    outcomes = []
    for _ in range(lab.stores.policy.max_attempts):
        outcomes.append(await handled(lab, await received(lab), ScriptedEngine(crash_after=0)))
    assert outcomes == ["handed back", "handed back", "failed"]
    movie = await lab.movie(movie_id)
    assert (movie.status, movie.row["failure_code"]) == ("tracing failed", "engine_crashed")
    await lab.submit(owner, movie_id, key="again")
    assert await handled(lab, await received(lab)) == "completed"


async def test_a_child_that_died_idle_is_replaced_for_the_next_job(lab: Lab) -> None:
    """The real engine: its child is killed between two tasks."""
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner, frames=12)
    await lab.stores.objects.put(f"movies/{movie_id}/movie", uploads.mp4(12), "video/mp4")
    async with Engine() as engine:
        for key in ("first", "second"):
            await lab.submit(owner, movie_id, key=key)
            assert await handled(lab, await received(lab), engine) == "completed"
            assert engine.pid
            with os.fdopen(os.pidfd_open(engine.pid)) as child:
                os.kill(engine.pid, signal.SIGKILL)
                assert select.select([child], [], [], 10)[0]


async def test_a_queue_that_cannot_be_reached_costs_nobody_his_job_a06(lab: Lab) -> None:
    """The job is accepted all the same, and the sweeper announces it when the queue is back."""
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    nowhere = replace(
        lab.stores,
        queue=Queue(lab.stores.queue.client, {kind: url + "-gone" for kind, url in lab.stores.queue.urls.items()}),
    )
    answer = await submit(nowhere, owner, TraceOrder(movie_id, "key", {}))
    assert not answer.replayed
    assert (await submit(nowhere, owner, TraceOrder(movie_id, "key", {}))).receipt == answer.receipt
    assert await next_message(lab.stores.queue) is None
    lab.clock.advance(31)
    await sweep(lab.stores)
    assert await handled(lab, await received(lab)) == "completed"


async def test_what_waits_and_for_how_long_is_told_until_a_worker_takes_it(lab: Lab) -> None:
    owner = await lab.person("Owner of a queue")
    movies = [await lab.ready_movie(owner) for _ in range(3)]
    before = await observe_jobs(lab.stores)
    lab.clock.advance(1)  # what other tests left waits from before that
    submitted = [await lab.submit(owner, movie_id, f"key-{movie_id}") for movie_id in movies]
    lab.clock.advance(70)
    found = await observe_jobs(lab.stores)
    assert found.jobs["trace", "queued"] - before.jobs["trace", "queued"] == 3
    assert found.oldest["trace"] >= 70
    if not before.jobs["trace", "queued"]:
        assert found.oldest["trace"] == 70
    lease = await claim(lab.stores, message_of(submitted[0]))
    assert lease
    show(await observe_jobs(lab.stores))
    told = {"kind": "trace", "state": "running"}
    assert REGISTRY.get_sample_value("tiptrace_jobs", told) == before.jobs["trace", "running"] + 1
    assert REGISTRY.get_sample_value("tiptrace_queue_age_seconds", {"kind": "trace"}) == found.oldest["trace"]
    assert REGISTRY.get_sample_value("tiptrace_queue_age_seconds", {"kind": "inspect"}) is not None
    for movie_id in movies:
        await cancel(lab.stores, owner, movie_id)
    assert (await observe_jobs(lab.stores)).jobs == before.jobs
