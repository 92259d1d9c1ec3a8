"""A job that says nothing for longer than its lease keeps it all the same, whatever it is doing (A11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.domain.clock import SystemClock
from service.local.emulator import Emulator
from service.store.queue import Delivery
from service.worker.delivery import handle
from tests.support.engines import ScriptedEngine
from tests.support.fault_lab import FaultLab, open_fault_lab
from tests.support.fault_proxy import Request
from tests.support.lab_worker import message_of

pytestmark = pytest.mark.asyncio(loop_scope="module")
LEASE = 3
SILENCE = LEASE + 1.5


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def brief(emulator: Emulator) -> AsyncIterator[FaultLab]:
    """Leases of three seconds by the real clock: what is silent for longer must have been renewed meanwhile."""
    async with open_fault_lab(emulator.endpoint, lease_seconds=LEASE, heartbeat_seconds=0.5) as opened:
        opened.clock.now = SystemClock().now  # type: ignore[method-assign]
        opened.clock.monotonic = SystemClock().monotonic  # type: ignore[method-assign]
        yield opened


async def test_a_job_that_is_silent_for_longer_than_its_lease_keeps_it_a11(brief: FaultLab) -> None:
    """Side by side: one decodes frames that it skips, one encodes, one uploads."""
    owner = await brief.lab.person("Owner")
    skipping, encoding, uploading = [await brief.lab.ready_movie(owner) for _ in range(3)]

    async def slow(_: Request) -> None:
        await asyncio.sleep(SILENCE)

    with brief.proxy.fault(
        "s3:PutObject", times=1, gate=slow, matching=lambda request: uploading in request.target
    ) as uploads:
        await asyncio.gather(
            _ends_well(brief, owner, skipping, silent_at=9),
            _ends_well(brief, owner, encoding, silent_at=29),
            _ends_well(brief, owner, uploading, silent_at=None),
        )
    assert len(uploads.hits) == 1


async def _ends_well(brief: FaultLab, owner: Actor, movie_id: str, silent_at: int | None) -> None:
    submitted = await brief.submit(owner, movie_id, key=movie_id)

    async def pause(frame: int) -> None:
        await asyncio.sleep(SILENCE if frame == silent_at else 0)

    delivery = Delivery("url", message_of(submitted).body(), "no handle of the queue's", 1)
    engine: Any = ScriptedEngine(pause=pause)
    assert await handle(brief.stores, delivery, engine, asyncio.Event(), "veryfast") == "completed"
    movie = await brief.lab.movie(movie_id)
    assert (movie.status, movie.row["results_job_id"]) == ("tracing completed", submitted.receipt.job_id)
    receipt = await brief.lab.stores.receipts.get(submitted.receipt.receipt_id)
    assert receipt
    assert receipt.attempts == 1
