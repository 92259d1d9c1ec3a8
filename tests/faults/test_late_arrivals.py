"""Requests that arrive after their sender has given them up: what was done meanwhile stands (I1, I4, I8, I12)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.domain.errors import OutcomeUnknown, Unavailable
from service.usecases import edit_movie
from service.usecases.analysis_lease import acquire, heartbeat, release
from service.usecases.cancel_trace import cancel
from service.usecases.job_lease import claim
from service.usecases.sweep import sweep
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import Fault, Request
from tests.support.lab import POINTS
from tests.support.lab_worker import claimed, run
from tests.support.scene import Scene, being_edited, gone_stale, queued, ready, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Owner")


@pytest_asyncio.fixture(loop_scope="module")
async def scene(faulty: FaultLab, owner: Actor) -> AsyncIterator[Scene]:
    made = Scene(faulty, owner)
    yield made
    await made.remove()


async def _nothing_changes(scene: Scene) -> None:
    """What was held back arrives now, and is refused."""
    before = (await scene.movie()).row, await scene.frames(), await scene.events()
    answers = await scene.faulty.proxy.deliver_late()
    assert answers
    assert all(b" 400 " in answer[:40] for answer in answers), answers
    assert ((await scene.movie()).row, await scene.frames(), await scene.events()) == before


async def test_an_acquire_that_comes_late_takes_no_lease_from_the_one_that_was_repeated(scene: Scene) -> None:
    await ready(scene)
    with scene.faulty.proxy.fault("dynamodb:UpdateItem", Fault.LATE, times=1):
        lease = (await acquire(scene.faulty.stores, scene.owner, scene.movie_id)).lease
    assert lease
    await _nothing_changes(scene)
    assert (await heartbeat(scene.direct, scene.owner, scene.movie_id, lease.lease_id)).active


async def test_a_release_that_comes_late_takes_nothing_from_the_next_page_i8(scene: Scene) -> None:
    await being_edited(scene)
    with scene.faulty.proxy.fault("dynamodb:UpdateItem", Fault.LATE), pytest.raises(OutcomeUnknown):
        await release(scene.faulty.stores, scene.owner, scene.movie_id, scene.page)
    assert (await acquire(scene.direct, scene.owner, scene.movie_id, take_over=True)).lease
    await _nothing_changes(scene)


async def test_an_edit_that_comes_late_does_not_overwrite_what_was_saved_instead_i12_c26(scene: Scene) -> None:
    await being_edited(scene)
    wide = [{**point, "x": 1.0} for point in POINTS]
    with scene.faulty.proxy.fault("dynamodb:TransactWriteItems", Fault.LATE), pytest.raises(OutcomeUnknown):
        await edit_movie.put_frame_trackpoints(scene.faulty.stores, scene.owner, scene.movie_id, scene.page, 3, wide)
    await edit_movie.put_frame_trackpoints(scene.direct, scene.owner, scene.movie_id, scene.page, 3, POINTS)
    await _nothing_changes(scene)


async def test_a_claim_that_comes_late_does_not_take_the_job_from_its_worker_i4(scene: Scene) -> None:
    await queued(scene)
    assert scene.message
    with scene.faulty.proxy.fault("dynamodb:UpdateItem", Fault.LATE), pytest.raises(Unavailable):
        await claim(scene.faulty.stores, scene.message)
    lease = await claimed(scene.direct, scene.message)
    await _nothing_changes(scene)
    assert await run(scene.direct, lease) == "completed"


async def test_a_claim_that_comes_late_and_wins_costs_a_lease_and_no_more_i11(scene: Scene) -> None:
    """Nobody works for it; the sweeper takes the job up when the lease has run out."""
    await queued(scene)
    assert scene.message
    with scene.faulty.proxy.fault("dynamodb:UpdateItem", Fault.LATE), pytest.raises(Unavailable):
        await claim(scene.faulty.stores, scene.message)
    await scene.faulty.proxy.deliver_late()
    assert await claim(scene.direct, scene.message) is None
    scene.faulty.clock.advance(900)
    await sweep(scene.direct)
    (message,) = set(await scene.messages())
    assert message.attempt == 2
    assert await run(scene.direct, await claimed(scene.direct, message)) == "completed"


async def test_a_sweepers_resumption_that_comes_late_does_not_stop_the_one_that_runs(scene: Scene) -> None:
    await gone_stale(scene)
    with scene.faulty.proxy.fault("dynamodb:UpdateItem", Fault.LATE):
        await sweep(scene.faulty.stores)
    await sweep(scene.direct)
    (message,) = set(await scene.messages())
    lease = await claimed(scene.direct, message)
    await _nothing_changes(scene)
    assert await run(scene.direct, lease) == "completed"


async def test_a_publish_that_comes_late_does_not_end_the_attempt_that_runs_i5_i6(scene: Scene) -> None:
    await running(scene)
    assert scene.lease

    async def hours_pass(_: Request) -> None:
        scene.faulty.clock.advance(900)

    with scene.faulty.proxy.fault(
        "dynamodb:TransactWriteItems",
        Fault.LATE,
        hook=hours_pass,
        matching=lambda request: b"movie.tracing.completed" in request.body,
    ):
        assert await run(scene.faulty.stores, scene.lease) == "lost"
    await sweep(scene.direct)
    message = max(await scene.messages(), key=lambda found: found.attempt)
    assert message.attempt == 2
    lease = await claimed(scene.direct, message)
    await _nothing_changes(scene)
    assert await run(scene.direct, lease) == "completed"


async def test_a_cancel_that_comes_late_does_not_end_the_next_job(scene: Scene) -> None:
    await running(scene)
    assert scene.lease
    with scene.faulty.proxy.fault("dynamodb:TransactWriteItems", Fault.LATE), pytest.raises(OutcomeUnknown):
        await cancel(scene.faulty.stores, scene.owner, scene.movie_id)
    assert await run(scene.direct, scene.lease) == "completed"
    await scene.faulty.lab.submit(scene.owner, scene.movie_id, f"next-{scene.movie_id}")
    await _nothing_changes(scene)


async def test_a_slow_reply_can_only_shorten_what_a_worker_believes_it_holds(scene: Scene) -> None:
    await queued(scene)
    assert scene.message

    async def slow(_: object) -> None:
        scene.faulty.clock.advance(100)

    with scene.faulty.proxy.fault("dynamodb:UpdateItem", hook=slow):
        lease = await claimed(scene.faulty.stores, scene.message)
        assert lease.remaining() == 800
        await lease.renew()
        assert lease.remaining() == 800
        await lease.write(lambda now: scene.faulty.stores.movies.note_progress(lease.fence, now, 3))
    assert lease.remaining() == 800
    movie = await scene.movie()
    assert movie.tracing
    assert movie.tracing.expires_at - scene.faulty.clock.now() == 800
