"""The web process is killed between the transaction that admits a job and the message that announces it (C11, C23)."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from service.local.emulator import Emulator
from service.store.queue import JobMessage
from service.usecases import people
from service.usecases.sweep import sweep
from tests.support.fault_lab import FaultLab, open_fault_lab
from tests.support.fault_proxy import Fault, Request
from tests.support.lab_worker import claimed, run
from tests.support.messages import next_message
from tests.support.worker_process import WebProcess

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def faulty(emulator: Emulator) -> AsyncIterator[FaultLab]:
    async with open_fault_lab(emulator.endpoint) as opened:
        yield opened


async def test_a_killed_web_process_leaves_a_job_that_its_retry_finds_and_the_sweeper_announces_c11_c23(
    faulty: FaultLab, emulator: Emulator
) -> None:
    lab = faulty.lab
    await people.add_course(lab.stores, "bio-101", "Bio 101")
    added = await people.add_user(lab.stores, "owner@example.org", "Owner", "bio-101")
    owner = await lab.stores.people.actor_of_key(added.api_key)
    assert owner
    movie_id = await lab.ready_movie(owner)
    order = {"movie_id": movie_id, "request_key": "one-click"}
    headers = {"x-api-key": added.api_key}
    dying = WebProcess(faulty.proxy.endpoint, lab.runtime.settings, secret_key="for tests alone, and long enough")
    try:
        address = await dying.address()

        async def kill(_: Request) -> None:
            dying.tell(signal.SIGKILL)

        with faulty.proxy.fault("sqs:SendMessage", Fault.RESET_BEFORE, times=1, gate=kill) as announcements:
            async with httpx.AsyncClient(base_url=address, headers=headers) as browser:
                with pytest.raises(httpx.TransportError):
                    await browser.post("/resize-api/v1/trace-movie", json=order)
        assert len(announcements.hits) == 1
    finally:
        await dying.end()

    job = (await lab.movie(movie_id)).tracing
    assert job, "the process died before its transaction"
    assert await next_message(lab.stores.queue) is None
    second = WebProcess(emulator.endpoint, lab.runtime.settings, secret_key="for tests alone, and long enough")
    try:
        async with httpx.AsyncClient(base_url=await second.address(), headers=headers) as browser:
            again = await browser.post("/resize-api/v1/trace-movie", json=order)
        (told,) = [line for line in second.lines() if line.get("event") == "job.replayed"]
        assert (told["request_key"], told["job_id"]) == ("one-click", job.job_id)
    finally:
        assert await second.end(signal.SIGTERM) == 0
    assert (again.status_code, again.headers["idempotent-replay"]) == (200, "true")
    assert again.json()["job_id"] == job.job_id

    lab.clock.seconds = time.time() + 31  # after which the sweeper announces what nobody has claimed
    await sweep(lab.stores)
    delivery = await next_message(lab.stores.queue, 1)
    assert delivery
    assert delivery.message() == JobMessage(movie_id, job.job_id, 1)
    assert await run(lab.stores, await claimed(lab.stores, delivery.message())) == "completed"
    events = [event["event_type"] for event in await lab.events(movie_id)]
    assert events == ["movie.tracing.started", "movie.tracing.completed"]
    assert len(await lab.receipts(movie_id)) == 1
