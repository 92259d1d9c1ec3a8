"""The database, the queue or the storage is slow, throttled, gone for a while, or gone for longer than a lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.domain.errors import FenceLost, OutcomeUnknown, StoreUnavailable, Unavailable
from service.metrics import REGISTRY
from service.store.conditions import is_new
from service.store.queue import JobMessage
from service.store.schema import MOVIES, RECEIPTS
from service.store.table import Delete, Put
from service.usecases import edit_movie
from service.usecases.analysis_lease import acquire, heartbeat
from service.usecases.cancel_trace import cancel
from service.usecases.sweep import sweep
from service.worker import heartbeat as keeper
from service.worker.delivery import handle
from tests.support.engines import ScriptedEngine
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import Fault, Request
from tests.support.lab import POINTS
from tests.support.lab_worker import claimed, message_of, run
from tests.support.messages import next_message
from tests.support.scene import Scene, being_edited, queued, ready, retracing, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Owner")


@pytest_asyncio.fixture(loop_scope="module")
async def scene(faulty: FaultLab, owner: Actor) -> AsyncIterator[Scene]:
    made = Scene(faulty, owner)
    yield made
    await made.remove()


def publishes(request: Request) -> bool:
    return b"tracing completed" in request.body


async def test_a_database_that_fails_one_call_in_mid_trace_costs_nothing_c05(scene: Scene) -> None:
    await running(scene)
    assert scene.lease
    proxy = scene.faulty.proxy
    with (
        proxy.fault("dynamodb:*", Fault.RESET_BEFORE, first=3, times=1) as one,
        proxy.fault("dynamodb:*", Fault.ERROR_BEFORE, first=5, times=1) as two,
        proxy.fault("dynamodb:*", Fault.THROTTLED_BEFORE, first=7, times=1) as three,
    ):
        assert await run(scene.faulty.stores, scene.lease, ScriptedEngine(chunk=3)) == "completed"
    assert len(one.hits) == len(two.hits) == len(three.hits) == 1
    assert await scene.events() == {"movie.tracing.started": 1, "movie.tracing.completed": 1}
    assert (await scene.faulty.lab.receipts(scene.movie_id))[0]["attempts"] == 1


async def test_a_database_that_is_gone_for_thirty_seconds_costs_the_running_job_no_attempt_c05(scene: Scene) -> None:
    await running(scene)
    assert scene.lease
    gone = asyncio.Event()

    async def cut(frame: int) -> None:
        if frame == 9:
            gone.set()
            await asyncio.sleep(0)

    async def outage() -> None:
        await gone.wait()
        async with scene.faulty.proxy.refusing():
            scene.faulty.clock.advance(30)
            await asyncio.sleep(0.2)

    breaking = asyncio.create_task(outage())
    assert await run(scene.faulty.stores, scene.lease, ScriptedEngine(pause=cut)) == "completed"
    await breaking
    row = (await scene.movie()).row
    assert row["status"] == "tracing completed"
    assert sorted(await scene.frames()) == list(range(30))
    assert (await scene.faulty.lab.receipts(scene.movie_id))[0]["attempts"] == 1


async def test_a_database_that_is_gone_for_longer_than_the_lease_stops_the_job_and_another_does_it_c05_c31(
    scene: Scene,
) -> None:
    await running(scene)
    assert scene.lease
    down = False

    async def cut(frame: int) -> None:
        nonlocal down
        if frame == 9:
            down = True
            scene.faulty.clock.advance(901)

    engine = ScriptedEngine(pause=cut)
    with scene.faulty.proxy.fault("dynamodb:*", Fault.RESET_BEFORE, active=lambda: down):
        assert await run(scene.faulty.stores, scene.lease, engine) == "lost"
    assert engine.traced[-1] == 19  # nothing was decoded after the chunk that could not be written
    assert scene.lease.lost
    await sweep(scene.direct)
    (message,) = set(await scene.messages())
    assert message.attempt == 2
    assert await run(scene.direct, await claimed(scene.direct, message)) == "completed"
    assert await scene.events() == {"movie.tracing.started": 1, "movie.tracing.completed": 1}


async def test_a_worker_that_stalled_past_its_expiry_writes_nothing_though_nobody_has_taken_its_place_i5(
    scene: Scene,
) -> None:
    await running(scene)
    assert scene.lease

    async def stall(frame: int) -> None:
        if frame == 9:
            scene.faulty.clock.advance(900)

    assert await run(scene.direct, scene.lease, ScriptedEngine(pause=stall)) == "lost"
    assert sorted(await scene.frames()) == list(range(10))
    assert (await scene.movie()).row["last_frame_tracked"] == 9


def renewals() -> tuple[float, ...]:
    """How many were made, how late they were together, and how many failed or were very late."""
    lateness = "tiptrace_heartbeat_lateness_seconds"
    names = (f"{lateness}_count", f"{lateness}_sum", "tiptrace_heartbeats_late_total")
    return tuple(REGISTRY.get_sample_value(name, {"kind": "tracing"}) or 0.0 for name in names)


async def test_the_keeper_beside_a_job_outlives_an_outage_and_strange_answers_but_not_its_lease_c05(
    scene: Scene,
) -> None:
    await running(scene)
    assert scene.lease
    clock, proxy = scene.faulty.clock, scene.faulty.proxy
    asked = asyncio.Event()

    async def note(_: Request) -> None:
        asked.set()

    before = renewals()
    beat = asyncio.create_task(keeper.keep(scene.lease, 0.02))
    for fault in (Fault.RESET_BEFORE, Fault.ERROR_BEFORE, Fault.DENIED_BEFORE, Fault.PASS):
        asked.clear()
        clock.advance(30)
        with proxy.fault("dynamodb:UpdateItem", fault, hook=note):
            await asyncio.wait_for(asked.wait(), 10)
    await scene.lease.renew()  # waits for the keeper's own
    assert not beat.done()
    made, late, failed = (now - then for now, then in zip(renewals(), before, strict=True))
    assert made == 1, "only what was renewed counts as a renewal"
    assert late == pytest.approx(120, abs=1), "and it is as late as all the tries before it made it"
    assert failed == 4  # three tries that failed, and one that was more than an interval late
    with proxy.fault("dynamodb:UpdateItem", Fault.ERROR_BEFORE):
        clock.advance(900)
        with pytest.raises(FenceLost):
            await asyncio.wait_for(beat, 10)


async def test_a_worker_that_cannot_reach_the_database_leaves_the_message_and_the_job_alone(scene: Scene) -> None:
    await queued(scene)
    assert scene.message
    await scene.direct.queue.send(scene.message, "trace", "course")
    delivery = await next_message(scene.direct.queue, 1)
    assert delivery
    with (
        scene.faulty.proxy.fault("dynamodb:*", Fault.RESET_BEFORE),
        pytest.raises(Unavailable),
    ):
        await handle(scene.faulty.stores, delivery, ScriptedEngine(), asyncio.Event(), "veryfast")  # type: ignore[arg-type]
    depth = await scene.direct.queue.depth()
    assert depth["in_flight"] >= 1
    job = (await scene.movie()).tracing
    assert job
    assert (job.state, job.attempt) == ("queued", 1)
    await scene.direct.queue.delete(delivery)


async def test_a_lost_lease_and_an_unreachable_database_are_told_apart_c07(scene: Scene) -> None:
    await being_edited(scene)
    stores, page = scene.faulty.stores, scene.page
    for fault in (Fault.RESET_BEFORE, Fault.ERROR_BEFORE, Fault.THROTTLED_BEFORE):
        with scene.faulty.proxy.fault("dynamodb:*", fault), pytest.raises(Unavailable):
            await heartbeat(stores, scene.owner, scene.movie_id, page)
    assert (await heartbeat(stores, scene.owner, scene.movie_id, page)).active
    assert (await acquire(scene.direct, scene.owner, scene.movie_id, take_over=True)).lease
    beat = await heartbeat(stores, scene.owner, scene.movie_id, page)
    assert not beat.active
    assert "another page" in beat.message


@pytest.mark.parametrize("fault", [Fault.THROTTLED_BEFORE, Fault.CONFLICT_BEFORE, Fault.RESET_BEFORE])
async def test_what_was_surely_not_done_is_tried_again_and_never_taken_for_a_refusal(
    scene: Scene, fault: Fault
) -> None:
    await being_edited(scene)
    transactions = "dynamodb:TransactWriteItems"
    with scene.faulty.proxy.fault(transactions, fault, times=4) as plan:
        submitted = await scene.faulty.submit(scene.owner, scene.movie_id, fault.name, analysis_lease_id=scene.page)
    assert len(plan.hits) == 4
    assert not submitted.replayed
    assert await scene.events() == {"movie.tracing.started": 1}


async def test_endless_throttling_is_told_as_unavailable_and_nothing_is_written(scene: Scene) -> None:
    await being_edited(scene)
    before = (await scene.movie()).row
    writes = ("dynamodb:UpdateItem", "dynamodb:TransactWriteItems")
    with scene.faulty.proxy.fault(writes, Fault.THROTTLED_BEFORE):
        with pytest.raises(StoreUnavailable):
            await scene.faulty.submit(scene.owner, scene.movie_id, "throttled", analysis_lease_id=scene.page)
        with pytest.raises(StoreUnavailable):
            await edit_movie.set_fpm(scene.faulty.stores, scene.owner, scene.movie_id, scene.page, 2.0)
        with pytest.raises(StoreUnavailable):
            await acquire(scene.faulty.stores, scene.owner, scene.movie_id, former_lease_id=scene.page)
    assert (await scene.movie()).row == before
    assert await scene.faulty.lab.receipts(scene.movie_id) == []


async def test_a_conflict_after_a_lost_reply_does_not_make_the_outcome_known(scene: Scene) -> None:
    await ready(scene)
    put = Put("logs", {"log_id": scene.movie_id, "event_type": "test"})
    with (
        scene.faulty.proxy.fault("dynamodb:TransactWriteItems", Fault.ERROR_REPLY, times=1),
        scene.faulty.proxy.fault("dynamodb:TransactWriteItems", Fault.CONFLICT_BEFORE),
        pytest.raises(OutcomeUnknown),
    ):
        await scene.faulty.stores.transact([put])


async def test_a_write_whose_connection_was_reset_is_unknown_and_one_that_met_no_listener_was_not_made_c08(
    scene: Scene,
) -> None:
    """Both come under one name of the client's; taking the first for the second repeats a write that was made."""
    await ready(scene)
    database = scene.faulty.stores.database
    put = Put("logs", {"log_id": f"once-{scene.movie_id}"}, is_new("log_id"))
    with scene.faulty.proxy.fault("dynamodb:PutItem", Fault.RESET_REPLY) as plan, pytest.raises(OutcomeUnknown):
        await database.write(put)
    assert len(plan.hits) == 1
    async with scene.faulty.proxy.refusing():
        with pytest.raises(StoreUnavailable):
            await database.write(put)


async def test_another_edit_of_the_same_page_is_not_taken_for_the_one_whose_reply_was_lost_i12(scene: Scene) -> None:
    """An edit that was not made is not acknowledged, though the row's counter has moved by one meanwhile."""
    await being_edited(scene)

    async def other_edit(_: Request) -> None:
        if (await scene.movie()).edit_seq == 0:
            await edit_movie.set_fpm(scene.direct, scene.owner, scene.movie_id, scene.page, 2.0)

    with (
        scene.faulty.proxy.fault("dynamodb:TransactWriteItems", Fault.ERROR_BEFORE, hook=other_edit),
        pytest.raises(OutcomeUnknown),
    ):
        await edit_movie.put_frame_trackpoints(scene.faulty.stores, scene.owner, scene.movie_id, scene.page, 3, POINTS)
    assert 3 not in await scene.frames()
    assert (await scene.movie()).row["fpm"] == "2"


async def test_a_trace_cancelled_while_its_publish_was_unknown_keeps_the_older_artifact_i6(scene: Scene) -> None:
    """`The job is over` is not `we published it`: the row still points to the former labelled movie."""
    await retracing(scene)
    assert scene.lease
    former = (await scene.movie()).row["movie_traced_urn"]

    async def cancel_meanwhile(_: Request) -> None:
        if (await scene.movie()).tracing:
            await cancel(scene.direct, scene.owner, scene.movie_id)

    with scene.faulty.proxy.fault(
        "dynamodb:TransactWriteItems", Fault.ERROR_BEFORE, times=6, matching=publishes, hook=cancel_meanwhile
    ) as plan:
        assert await run(scene.faulty.stores, scene.lease) == "lost"
    assert len(plan.hits) == 6
    row = (await scene.movie()).row
    assert (row["failure_code"], row["movie_traced_urn"]) == ("cancelled", former)
    assert await scene.direct.objects.head(scene.direct.objects.key_of(former))


async def test_a_publish_whose_truth_could_not_be_read_at_first_is_known_in_the_end_i6(scene: Scene) -> None:
    """The reply is lost six times, then the receipt cannot be read either; nothing is published or tried twice."""
    await running(scene)
    assert scene.lease
    proxy = scene.faulty.proxy
    with (
        proxy.fault("dynamodb:TransactWriteItems", Fault.DROP_REPLY, times=6, matching=publishes) as lost,
        proxy.fault("dynamodb:GetItem", Fault.ERROR_BEFORE, times=6, active=lambda: len(lost.hits) == 6) as unread,
    ):
        assert await run(scene.faulty.stores, scene.lease) == "completed"
    assert len(unread.hits) == 6
    assert await scene.events() == {"movie.tracing.started": 1, "movie.tracing.completed": 1}


async def test_a_job_is_accepted_though_its_message_cannot_be_sent_and_is_announced_later_a06(scene: Scene) -> None:
    await ready(scene)
    with scene.faulty.proxy.fault("sqs:*", Fault.RESET_BEFORE):
        submitted = await scene.faulty.submit(scene.owner, scene.movie_id, f"unsent-{scene.movie_id}")
    assert await scene.messages() == []
    scene.faulty.clock.advance(30)
    await sweep(scene.direct)
    assert set(await scene.messages()) == {message_of(submitted)}


async def test_a_row_that_cannot_be_read_does_not_keep_the_sweeper_from_the_others_i11(scene: Scene) -> None:
    await running(scene)
    scene.faulty.clock.advance(900)
    shard = (await scene.movie()).row["sweep_shard"]
    broken = {
        "movie_id": "broken",
        "sweep_shard": shard,
        "sweep_due_at": 1,
        "trace_job_id": "j",
        "tracing_attempt": "x",
    }
    await scene.direct.database.write(Put(MOVIES, broken))
    try:
        await sweep(scene.direct)
    finally:
        await scene.direct.database.write(Delete(MOVIES, {"movie_id": "broken"}))
    job = (await scene.movie()).tracing
    assert job
    assert (job.state, job.attempt) == ("queued", 2)


@pytest.mark.parametrize("by", ["worker", "cancel", "acquire", "submit", "sweeper"])
async def test_a_job_whose_receipt_was_purged_with_its_user_still_ends_and_frees_the_movie_i7_i11(
    scene: Scene, by: str
) -> None:
    await running(scene)
    assert scene.lease
    await scene.direct.database.write(Delete(RECEIPTS, {"receipt_id": scene.lease.job.receipt_id}))
    if by == "worker":
        assert await run(scene.direct, scene.lease) == "failed"
    elif by == "cancel":
        await cancel(scene.direct, scene.owner, scene.movie_id)
    else:
        scene.faulty.clock.advance(900)
        if by == "acquire":
            assert (await acquire(scene.direct, scene.owner, scene.movie_id)).lease
        elif by == "submit":
            await scene.faulty.lab.submit(scene.owner, scene.movie_id, f"new-{scene.movie_id}")
            await cancel(scene.direct, scene.owner, scene.movie_id)
        else:
            for attempt in (2, 3):
                await sweep(scene.direct)
                await claimed(scene.direct, JobMessage(scene.movie_id, scene.job_id, attempt))
                scene.faulty.clock.advance(900)
            await sweep(scene.direct)
    movie = await scene.movie()
    assert (movie.status, movie.tracing) == ("tracing failed", None)
    jobs = 2 if by == "submit" else 1
    assert await scene.events() == {"movie.tracing.started": jobs, "movie.tracing.failed": jobs}


async def test_three_hundred_acquires_at_once_all_get_their_answer_from_a_slow_database_c19(scene: Scene) -> None:
    await ready(scene)
    with scene.faulty.proxy.fault("dynamodb:*", delay=0.2) as plan:
        answers = await asyncio.wait_for(
            asyncio.gather(*(acquire(scene.faulty.stores, scene.owner, scene.movie_id) for _ in range(300))), 60
        )
    assert len(plan.hits) > 5, "few, since reads are shared, but all were slow"
    (winner,) = [answer.lease for answer in answers if answer.lease]
    movie = await scene.movie()
    assert movie.analysis
    assert movie.analysis.lease_id == winner.lease_id
