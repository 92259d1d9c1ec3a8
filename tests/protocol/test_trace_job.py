"""A trace from its admission to its end: one transaction each way, one claim, every frame behind the fence."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.domain.errors import (
    BeingEdited,
    BeingTraced,
    FenceLost,
    KeyReused,
    LeaseLost,
    MarkersMissing,
    NothingToCancel,
    TooMany,
)
from service.domain.failures import Failure
from service.domain.movie import condition
from service.store.table import Item
from service.usecases import edit_movie, read_movie
from service.usecases.analysis_lease import acquire, heartbeat
from service.usecases.cancel_trace import cancel
from service.usecases.job_lease import claim
from service.usecases.manage_movie import delete_movie
from service.usecases.sweep import sweep
from tests.support.engines import BackwardEngine, ScriptedEngine
from tests.support.lab import POINTS, Lab
from tests.support.lab_worker import claimed, message_of, run
from tests.support.messages import next_message

pytestmark = pytest.mark.asyncio(loop_scope="module")

FREE = ("trace_job_id", "tracing_state", "tracing_claim_id", "sweep_shard", "sweep_due_at", "analysis_lease_id")


@pytest_asyncio.fixture(loop_scope="module")
async def owner(lab: Lab) -> AsyncIterator[Actor]:
    yield await lab.person("Owner")


def kinds(events: list[Item]) -> Counter[str]:
    return Counter(event["event_type"] for event in events)


async def test_a_trace_goes_from_lease_to_result_in_one_row_one_receipt_two_events(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    page = (await acquire(lab.stores, owner, movie_id)).lease
    assert page
    submitted = await lab.submit(owner, movie_id, analysis_lease_id=page.lease_id)
    row = (await lab.movie(movie_id)).row
    assert row["status"] == "tracing"
    assert row["trace_job_id"] == submitted.receipt.job_id
    assert "analysis_lease_id" not in row
    lease = await claimed(lab.stores, message_of(submitted))
    assert await run(lab.stores, lease) == "completed"
    movie = await lab.movie(movie_id)
    assert movie.status == "tracing completed"
    assert movie.row["results_job_id"] == submitted.receipt.job_id
    assert movie.row["needs_retracing"] == 0
    assert not [name for name in FREE if name in movie.row]
    frames = await lab.frames(movie_id)
    assert sorted(frames) == list(range(30))
    assert {item.get("job_id") for n, item in frames.items() if n} == {submitted.receipt.job_id}
    assert frames[29]["trackpoints"][0]["x"] == 129.0
    assert frames[0]["trackpoints"][0]["placed"] == "user"
    (receipt,) = await lab.receipts(movie_id)
    assert receipt["state"] == "done"
    assert receipt["expires_at"] == lab.clock.now() + 30 * 86_400
    assert kinds(await lab.events(movie_id)) == {"movie.tracing.started": 1, "movie.tracing.completed": 1}


async def test_each_pass_of_a_retrace_reports_its_own_progress_and_the_first_writes_no_frames(
    lab: Lab, owner: Actor
) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    lease = await claimed(lab.stores, message_of(submitted))
    told: list[tuple[int | None, int]] = []

    async def look(_: int) -> None:
        movie = await lab.movie(movie_id)
        lock = read_movie.tracking_lock(movie, lab.clock.now())
        assert lock
        told.append((lock.get("backward_frame"), lock["last_frame_tracked"]))

    assert await run(lab.stores, lease, BackwardEngine(look, pause=look)) == "completed"
    assert told == [(29, 0), (19, 0), (9, 0), (None, 9), (None, 19), (None, 29)]
    movie = await lab.movie(movie_id)
    assert "tracing_backward_frame" not in movie.row


async def test_an_attempt_is_claimed_once_and_a_redelivered_message_changes_nothing_c09(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    leases = await asyncio.gather(*(claim(lab.stores, message_of(submitted)) for _ in range(20)))
    assert sum(lease is not None for lease in leases) == 1
    before = (await lab.movie(movie_id)).row
    assert await claim(lab.stores, message_of(submitted)) is None
    assert await claim(lab.stores, message_of(submitted, attempt=2)) is None
    assert (await lab.movie(movie_id)).row == before


@pytest.mark.parametrize("when", ["queued", "running", "done", "failed"])
async def test_the_same_key_gets_the_same_receipt_whatever_happened_since_i9(lab: Lab, owner: Actor, when: str) -> None:
    movie_id = await lab.ready_movie(owner)
    first = await lab.submit(owner, movie_id, key=f"k-{when}")
    if when != "queued":
        lease = await claimed(lab.stores, message_of(first))
        if when == "done":
            await run(lab.stores, lease)
        elif when == "failed":
            await run(lab.stores, lease, ScriptedEngine(fail_with=Failure("movie_cut_off", {"last": 3, "promised": 9})))
    events = await lab.events(movie_id)
    answers = await asyncio.gather(*(lab.submit(owner, movie_id, key=f"k-{when}") for _ in range(50)))
    assert {answer.receipt.job_id for answer in answers} == {first.receipt.job_id}
    assert all(answer.replayed for answer in answers)
    assert await lab.events(movie_id) == events
    with pytest.raises(KeyReused):
        await lab.submit(owner, movie_id, key=f"k-{when}", frame_end=20)
    assert len(await lab.receipts(movie_id)) == 1


async def test_fifty_first_submits_of_one_key_at_once_admit_one_job(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    page = (await acquire(lab.stores, owner, movie_id)).lease
    assert page
    answers = await asyncio.gather(
        *(lab.submit(owner, movie_id, key="once", analysis_lease_id=page.lease_id) for _ in range(50))
    )
    assert len({answer.receipt.job_id for answer in answers}) == 1
    assert sum(not answer.replayed for answer in answers) == 1
    assert kinds(await lab.events(movie_id)) == {"movie.tracing.started": 1}


async def test_two_keys_at_one_instant_make_one_job_and_leave_no_second_receipt(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    answers = await asyncio.gather(
        lab.submit(owner, movie_id, key="a"), lab.submit(owner, movie_id, key="b"), return_exceptions=True
    )
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert len(refused) == 1
    assert isinstance(refused[0], BeingTraced)
    assert len(await lab.receipts(movie_id)) == 1


async def test_equal_keys_of_two_people_never_meet(lab: Lab, owner: Actor) -> None:
    teacher = await lab.person("Teacher", admin=True)
    one, two = await lab.ready_movie(owner), await lab.ready_movie(teacher)
    mine, theirs = await lab.submit(owner, one, key="same"), await lab.submit(teacher, two, key="same")
    assert mine.receipt.receipt_id != theirs.receipt.receipt_id
    assert mine.receipt.job_id != theirs.receipt.job_id


async def test_who_may_start_a_trace_is_decided_by_the_live_lease(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    with pytest.raises(LeaseLost):
        await lab.submit(owner, movie_id, analysis_lease_id="0" * 32)
    page = (await acquire(lab.stores, owner, movie_id)).lease
    assert page
    with pytest.raises(BeingEdited):
        await lab.submit(owner, movie_id)
    with pytest.raises(LeaseLost):
        await lab.submit(owner, movie_id, analysis_lease_id="0" * 32)
    lab.clock.advance(900)
    with pytest.raises(LeaseLost):
        await lab.submit(owner, movie_id, analysis_lease_id=page.lease_id)
    assert await lab.receipts(movie_id) == []
    assert not (await lab.submit(owner, movie_id)).replayed


async def test_without_markers_on_the_source_frame_nothing_is_queued_b12(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner, placed=False)
    with pytest.raises(MarkersMissing):
        await lab.submit(owner, movie_id)
    assert await lab.receipts(movie_id) == []
    assert "trace_job_id" not in (await lab.movie(movie_id)).row


async def test_a_message_lost_on_the_way_is_announced_again_a06_c23(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    while (delivery := await next_message(lab.stores.queue)) is not None:
        await lab.stores.queue.delete(delivery)  # every message sent so far is lost
    await sweep(lab.stores)
    assert (await lab.movie(movie_id)).row["tracing_announced_at"] == submitted.receipt.created_at
    lab.clock.advance(30)
    await sweep(lab.stores)
    assert (await lab.movie(movie_id)).row["tracing_announced_at"] == lab.clock.now()
    jobs = set()
    while (delivery := await next_message(lab.stores.queue)) is not None:
        jobs.add(delivery.message().job_id)
        await lab.stores.queue.delete(delivery)
    assert submitted.receipt.job_id in jobs
    gap = (await lab.movie(movie_id)).row["sweep_due_at"] - lab.clock.now()
    assert gap == 60


async def test_a_job_that_waits_longer_than_a_lease_is_neither_lost_nor_run_twice_a04(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    for _ in range(14):
        lab.clock.advance(299)
        await sweep(lab.stores)
        movie = await lab.movie(movie_id)
        assert movie.tracing
        assert movie.tracing.live(lab.clock.now())
    lease = await claimed(lab.stores, message_of(submitted))
    assert await claim(lab.stores, message_of(submitted)) is None
    assert await run(lab.stores, lease) == "completed"


async def test_a_killed_workers_job_is_resumed_and_fails_after_the_last_attempt_a04_c13(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    for attempt in (1, 2, 3):
        await claimed(lab.stores, message_of(submitted, attempt))  # and the worker is never heard of again
        lab.clock.advance(899)
        await sweep(lab.stores)
        assert (await lab.movie(movie_id)).row["tracing_attempt"] == attempt
        lab.clock.advance(1)
        told = condition(await lab.movie(movie_id), lab.clock.now(), 3)
        assert (told.status, told.failure_code, told.resuming) == ("tracing failed", "worker_lost", attempt < 3)
        await sweep(lab.stores)
    movie = await lab.movie(movie_id)
    assert movie.status == "tracing failed"
    assert movie.tracing is None
    assert movie.row["failure_code"] == "worker_lost"
    (receipt,) = await lab.receipts(movie_id)
    assert receipt["state"] == "failed"
    assert kinds(await lab.events(movie_id)) == {"movie.tracing.started": 1, "movie.tracing.failed": 1}


async def test_a_worker_that_slept_past_its_expiry_changes_nothing_that_a_reader_sees_a14_c01(
    lab: Lab, owner: Actor
) -> None:
    movie_id = await lab.ready_movie(owner)
    asleep, woken = asyncio.Event(), asyncio.Event()

    async def fall_asleep(frame: int) -> None:
        if frame == 9:
            asleep.set()
            await woken.wait()

    first = await lab.submit(owner, movie_id, key="first")
    zombie = asyncio.create_task(
        run(lab.stores, await claimed(lab.stores, message_of(first)), ScriptedEngine(pause=fall_asleep))
    )
    await asleep.wait()
    lab.clock.advance(900)
    page = (await acquire(lab.stores, owner, movie_id)).lease
    assert page
    moved = [{**point, "y": point["y"] + 40} for point in POINTS]
    await edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, page.lease_id, 0, moved)
    second = await lab.submit(owner, movie_id, key="second", analysis_lease_id=page.lease_id)
    assert await run(lab.stores, await claimed(lab.stores, message_of(second))) == "completed"
    settled = (await lab.movie(movie_id)).row, await lab.frames(movie_id), await lab.events(movie_id)
    woken.set()
    assert await zombie == "lost"
    assert ((await lab.movie(movie_id)).row, await lab.frames(movie_id), await lab.events(movie_id)) == settled
    assert {item["trackpoints"][0]["y"] for item in settled[1].values()} == {240.0}
    assert {r["state"] for r in await lab.receipts(movie_id)} == {"failed", "done"}
    assert kinds(settled[2]) == {
        "movie.tracing.started": 2,
        "movie.tracing.failed": 1,
        "movie.tracing.completed": 1,
    }


async def test_acquiring_a_movie_with_a_stale_trace_ends_the_old_job_in_the_same_write_i7(
    lab: Lab, owner: Actor
) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    lease = await claimed(lab.stores, message_of(submitted))
    lab.clock.advance(900)
    page = (await acquire(lab.stores, owner, movie_id)).lease
    assert page
    movie = await lab.movie(movie_id)
    assert movie.tracing is None
    assert movie.status == "tracing failed"
    (receipt,) = await lab.receipts(movie_id)
    assert receipt["failure_code"] == "worker_lost"
    assert kinds(await lab.events(movie_id))["movie.tracing.failed"] == 1
    with pytest.raises(FenceLost):
        await lease.renew()
    assert (await heartbeat(lab.stores, owner, movie_id, page.lease_id)).active


async def test_a_new_trace_replaces_a_stale_one_in_the_same_write_and_ends_its_receipt_and_trail_i7(
    lab: Lab, owner: Actor
) -> None:
    movie_id = await lab.ready_movie(owner)
    old = await lab.submit(owner, movie_id, "old")
    lease = await claimed(lab.stores, message_of(old))
    lab.clock.advance(900)
    new = await lab.submit(owner, movie_id, "new")
    assert {r["job_id"]: (r["state"], r.get("failure_code")) for r in await lab.receipts(movie_id)} == {
        old.receipt.job_id: ("failed", "worker_lost"),
        new.receipt.job_id: ("accepted", None),
    }
    trail = [(e["event_type"], e["trace_job_id"]) for e in await lab.events(movie_id)]
    assert sorted(trail) == sorted([
        ("movie.tracing.started", old.receipt.job_id),
        ("movie.tracing.failed", old.receipt.job_id),
        ("movie.tracing.started", new.receipt.job_id),
    ])  # fmt: skip
    assert await run(lab.stores, lease) == "lost"
    assert await run(lab.stores, await claimed(lab.stores, message_of(new))) == "completed"
    assert {item["job_id"] for item in (await lab.frames(movie_id)).values()} == {new.receipt.job_id}


async def test_a_crashed_engine_costs_an_attempt_and_a_bad_movie_costs_the_job_c15(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    for attempt in (1, 2):
        lease = await claimed(lab.stores, message_of(submitted, attempt))
        assert await run(lab.stores, lease, ScriptedEngine(crash_after=9)) == "handed back"
    lease = await claimed(lab.stores, message_of(submitted, 3))
    assert await run(lab.stores, lease, ScriptedEngine(crash_after=9)) == "failed"
    row = (await lab.movie(movie_id)).row
    assert row["failure_code"] == "engine_crashed"
    bad = await lab.submit(owner, movie_id, key="again")
    lease = await claimed(lab.stores, message_of(bad))
    failure = Failure("movie_cut_off", {"last": 212, "promised": 300})
    assert await run(lab.stores, lease, ScriptedEngine(fail_with=failure)) == "failed"
    row = (await lab.movie(movie_id)).row
    assert row["tracing_failure_summary"].startswith("The movie ends after frame 212 of 300")
    assert not [name for name in FREE if name in row]


async def test_cancel_ends_the_job_and_the_workers_next_write_is_refused_c31(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    lease = await claimed(lab.stores, message_of(submitted))
    cancelled = []

    async def cancel_in_mid_trace(frame: int) -> None:
        if frame == 9:
            cancelled.append(await cancel(lab.stores, owner, movie_id))

    engine = ScriptedEngine(pause=cancel_in_mid_trace)
    assert await run(lab.stores, lease, engine) == "lost"
    assert engine.traced[-1] == 19  # it stopped at the first refused chunk
    row = (await lab.movie(movie_id)).row
    assert (row["status"], row["failure_code"]) == ("tracing failed", "cancelled")
    assert max(await lab.frames(movie_id)) == 9
    assert kinds(await lab.events(movie_id)) == {"movie.tracing.started": 1, "movie.tracing.failed": 1}
    assert (await cancel(lab.stores, owner, movie_id)).tracing is None  # asked again after a lost answer: harmless
    with pytest.raises(NothingToCancel):
        await cancel(lab.stores, owner, await lab.ready_movie(owner))
    assert kinds(await lab.events(movie_id))["movie.tracing.failed"] == 1


async def test_a_job_handed_back_goes_on_after_its_checkpoint_and_traces_no_frame_twice(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    stop = asyncio.Event()

    async def asked_to_stop(frame: int) -> None:
        if frame == 9:
            stop.set()

    first = ScriptedEngine(pause=asked_to_stop)
    lease = await claimed(lab.stores, message_of(submitted))
    assert await run(lab.stores, lease, first, stop) == "handed back"
    row = (await lab.movie(movie_id)).row
    assert (row["tracing_state"], row["tracing_attempt"], row["tracing_failures"]) == ("queued", 2, 0)
    second = ScriptedEngine()
    assert await run(lab.stores, await claimed(lab.stores, message_of(submitted, 2)), second) == "completed"
    assert first.traced + second.traced == list(range(30))
    assert [item["trackpoints"][0]["x"] for _, item in sorted((await lab.frames(movie_id)).items())] == [
        100.0 + n for n in range(30)
    ]


async def test_a_retrace_hides_later_frames_at_once_and_a_reader_never_sees_two_jobs_mixed(
    lab: Lab, owner: Actor
) -> None:
    movie_id = await lab.ready_movie(owner)
    first = await lab.submit(owner, movie_id, key="first")
    await run(lab.stores, await claimed(lab.stores, message_of(first)))
    second = await lab.submit(owner, movie_id, key="second", frame_start=10)
    movie = await lab.movie(movie_id)
    shown = await read_movie.frames(lab.stores, movie, 0, 30)
    assert sorted(map(int, shown)) == list(range(11))
    assert sorted(await lab.frames(movie_id)) == list(range(30))  # hidden, not gone: the request deleted nothing
    seen: list[set[str]] = []

    async def look(frame: int) -> None:
        movie = await lab.movie(movie_id)
        stored = await lab.frames(movie_id)
        visible = await read_movie.frames(lab.stores, movie, 11, 19)
        seen.append({stored[int(n)]["job_id"] for n in visible})

    await run(lab.stores, await claimed(lab.stores, message_of(second)), ScriptedEngine(chunk=5, pause=look))
    assert seen
    assert all(jobs == {second.receipt.job_id} for jobs in seen)
    frames = await lab.frames(movie_id)
    assert {frames[n].get("job_id") for n in range(1, 10)} == {first.receipt.job_id}
    assert "hidden_from" not in (await lab.movie(movie_id)).row


async def test_points_that_a_person_placed_on_later_frames_stay_as_anchors_if_asked(lab: Lab, owner: Actor) -> None:
    for keep in (True, False):
        movie_id = await lab.ready_movie(owner)
        page = (await acquire(lab.stores, owner, movie_id)).lease
        assert page
        anchor = [{"marker_id": "id-Apex", "x": 77.7, "y": 88.8}]
        await edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, page.lease_id, 20, anchor)
        submitted = await lab.submit(
            owner, movie_id, key=f"keep-{keep}", keep_placed=keep, analysis_lease_id=page.lease_id
        )
        shown = await read_movie.frames(lab.stores, await lab.movie(movie_id), 1, 29)
        assert list(shown) == (["20"] if keep else [])
        await run(lab.stores, await claimed(lab.stores, message_of(submitted)))
        apex = next(p for p in (await lab.frames(movie_id))[20]["trackpoints"] if p["marker_id"] == "id-Apex")
        if keep:
            assert (apex["x"], apex["y"], apex["placed"]) == (77.7, 88.8, "user")
        else:
            assert (apex["x"], apex["placed"]) == (120.0, "trace")


async def _placed(lab: Lab, owner: Actor, movie_id: str, *numbers: int) -> str:
    """Points put on these frames by a page that goes on editing; its lease."""
    page = (await acquire(lab.stores, owner, movie_id)).lease
    assert page
    for number in numbers:
        await edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, page.lease_id, number, POINTS)
    return page.lease_id


async def test_an_edit_in_a_span_that_a_failed_trace_hid_is_shown(lab: Lab, owner: Actor) -> None:
    movie_id = await lab.ready_movie(owner)
    await lab.submit(owner, movie_id)
    await cancel(lab.stores, owner, movie_id)
    await _placed(lab, owner, movie_id, 7)
    shown = await read_movie.frames(lab.stores, await lab.movie(movie_id), 1, 29)
    assert list(shown) == ["7"]


async def _shown(lab: Lab, movie_id: str) -> list[int]:
    return sorted(map(int, await read_movie.frames(lab.stores, await lab.movie(movie_id), 0, 30)))


@pytest.mark.parametrize(
    ("placed", "first", "last", "stays"),
    [
        ((5, 20), 20, 29, [0, 5, 20]),
        ((20,), 20, 29, [0, 20]),
        ((30 - 1,), 5, 20, [0, 29]),
    ],
)
@pytest.mark.parametrize("keep", [False, True])
async def test_what_was_placed_after_a_trace_was_given_up_outlives_the_next(
    lab: Lab, owner: Actor, placed: tuple[int, ...], first: int, last: int, stays: list[int], keep: bool
) -> None:
    """Both spans are hidden still when it starts; the later one knows nothing of frames that it does not trace."""
    movie_id = await lab.ready_movie(owner)
    await lab.submit(owner, movie_id, key="given-up")
    await cancel(lab.stores, owner, movie_id)
    lease_id = await _placed(lab, owner, movie_id, *placed, first)
    order = {"frame_start": first, "frame_end": last, "keep_placed": keep, "analysis_lease_id": lease_id}
    submitted = await lab.submit(owner, movie_id, key="next", **order)
    assert await _shown(lab, movie_id) == sorted({*stays, first})
    await run(lab.stores, await claimed(lab.stores, message_of(submitted)))
    assert await _shown(lab, movie_id) == sorted({*stays, *range(first, last + 1)})
    assert sorted(await lab.frames(movie_id)) == await _shown(lab, movie_id), "what was hidden is gone"


async def test_what_was_placed_after_a_reset_outlives_traces_from_the_middle_and_given_up(
    lab: Lab, owner: Actor
) -> None:
    movie_id = await lab.ready_movie(owner)
    await run(lab.stores, await claimed(lab.stores, message_of(await lab.submit(owner, movie_id, key="first"))))
    lease_id = await _placed(lab, owner, movie_id)
    await edit_movie.reset_tracing(lab.stores, owner, movie_id, lease_id)
    for number in (5, 10):
        await edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, lease_id, number, POINTS)
    assert await _shown(lab, movie_id) == [0, 5, 10]
    for key in ("given-up", "again"):
        await lab.submit(owner, movie_id, key=key, frame_start=10, keep_placed=True, analysis_lease_id=lease_id)
        assert await _shown(lab, movie_id) == [0, 5, 10]
        await cancel(lab.stores, owner, movie_id)
        lease_id = await _placed(lab, owner, movie_id)
        assert await _shown(lab, movie_id) == [0, 5, 10]
    last = await lab.submit(owner, movie_id, key="last", keep_placed=True, analysis_lease_id=lease_id)
    assert await _shown(lab, movie_id) == [0, 5, 10]
    await run(lab.stores, await claimed(lab.stores, message_of(last)))
    assert await _shown(lab, movie_id) == list(range(30))
    kept = [n for n, item in (await lab.frames(movie_id)).items() if item["trackpoints"][0]["placed"] == "user"]
    assert sorted(kept) == [0, 5, 10]


async def test_a_row_takes_only_so_many_traces_given_up_each_from_another_frame(lab: Lab, owner: Actor) -> None:
    """A trace from the beginning, as a page orders it, needs no more room than one of them."""
    movie_id = await lab.ready_movie(owner, frames=60)
    for first in range(50):
        order = {"keep_placed": True, "analysis_lease_id": await _placed(lab, owner, movie_id, first)}
        await lab.submit(owner, movie_id, key=f"from-{first}", frame_start=first, **order)
        await cancel(lab.stores, owner, movie_id)
    order = {"keep_placed": True, "analysis_lease_id": await _placed(lab, owner, movie_id, 50)}
    with pytest.raises(TooMany):
        await lab.submit(owner, movie_id, key="from-50", frame_start=50, **order)
    await lab.submit(owner, movie_id, key="whole", **order)
    assert len((await lab.movie(movie_id)).hidden) == 1


@pytest.mark.parametrize("waits", [True, False])
async def test_a_movie_put_away_while_its_worker_was_lost_is_traced_no_further(
    lab: Lab, owner: Actor, waits: bool
) -> None:
    movie_id = await lab.ready_movie(owner)
    submitted = await lab.submit(owner, movie_id)
    if not waits:
        await claimed(lab.stores, message_of(submitted))
    lab.clock.advance(lab.stores.policy.lease_seconds + 1)
    await delete_movie(lab.stores, owner, movie_id, deleted=True)
    assert await claim(lab.stores, message_of(submitted)) is None
    await sweep(lab.stores)
    movie = await lab.movie(movie_id)
    assert (movie.tracing, movie.row["status"], movie.row["failure_code"]) == (None, "tracing failed", "cancelled")
    assert [receipt["state"] for receipt in await lab.receipts(movie_id)] == ["failed"]
    await delete_movie(lab.stores, owner, movie_id, deleted=False)
    assert (await acquire(lab.stores, owner, movie_id)).lease
