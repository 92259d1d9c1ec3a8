"""Lost answers and repeated intents: key and payload varied one by one, at every stage of the job (I9, C12, C11).

`the first answer is thrown away` everywhere: what the first caller was told is never used again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.domain.errors import BeingTraced, InvalidParameter, KeyReused, TiptraceError
from service.domain.failures import Failure
from service.domain.job import PLAN_VERSION
from service.domain.policy import DAY
from service.domain.receipt import checked_key
from service.usecases import edit_movie, submit_trace
from service.usecases.analysis_lease import acquire, release
from service.usecases.job_lease import JobLease
from service.usecases.submit_trace import Submitted, TraceOrder, submit
from tests.support.engines import ScriptedEngine
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import Request
from tests.support.lab import POINTS
from tests.support.lab_worker import claimed, message_of, run
from tests.support.mortal import Fate, Killed, Point, mortal
from tests.support.scene import Scene, ready

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Owner")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def teacher(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Teacher", admin=True)


@pytest_asyncio.fixture(loop_scope="module")
async def scene(faulty: FaultLab, owner: Actor) -> AsyncIterator[Scene]:
    made = Scene(faulty, owner)
    await ready(made)
    yield made
    await made.remove()


def order(scene: Scene, key: str = "first", frame_end: int = 19, lease: str | None = None) -> TraceOrder:
    sent = {"movie_id": scene.movie_id, "frame_end": frame_end}
    return TraceOrder(scene.movie_id, f"{key}-{scene.movie_id}", sent, frame_end=frame_end, analysis_lease_id=lease)


async def ask(scene: Scene, *given: Any, actor: Actor | None = None, **more: Any) -> Submitted:
    return await submit(scene.faulty.stores, actor or scene.owner, order(scene, *given, **more))


async def everything(scene: Scene) -> tuple[Any, ...]:
    """All that a second side effect would show in: row, receipts, audit trail, frames, artifacts."""
    events = sorted([e["log_id"] async for e in scene.direct.audit.of("movie_id", scene.movie_id)])
    receipts = await scene.faulty.lab.receipts(scene.movie_id)
    return (await scene.movie()).row, receipts, events, await scene.frames(), await scene.keys()


# the stages of the first intent; each returns its receipt's job


async def before_enqueue(scene: Scene) -> str:
    """The API dies between the transaction and the message (C11)."""
    dying = mortal(scene.direct, Fate(Point(1, after=True)), "api")
    with pytest.raises(Killed):
        await submit(dying, scene.owner, order(scene))
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    return str(receipt["job_id"])


async def queued(scene: Scene) -> str:
    submitted = await ask(scene)
    assert {m.job_id for m in await scene.messages()} == {submitted.receipt.job_id}
    return submitted.receipt.job_id


async def _taken(scene: Scene) -> JobLease:
    submitted = await ask(scene)
    await scene.messages()
    return await claimed(scene.direct, message_of(submitted))


async def running(scene: Scene) -> str:
    lease = await _taken(scene)
    await scene.direct.receipts.note_attempt(lease.job.receipt_id, lease.job.job_id, 1, scene.faulty.clock.now())
    return lease.job.job_id


async def done(scene: Scene) -> str:
    lease = await _taken(scene)
    assert await run(scene.direct, lease) == "completed"
    return lease.job.job_id


async def failed(scene: Scene) -> str:
    lease = await _taken(scene)
    engine = ScriptedEngine(fail_with=Failure("movie_cut_off", {"last": 9, "promised": 30}))
    assert await run(scene.direct, lease, engine) == "failed"
    return lease.job.job_id


STAGES = {
    "before-enqueue": (before_enqueue, "accepted"),
    "queued": (queued, "accepted"),
    "running": (running, "running"),
    "done": (done, "done"),
    "failed": (failed, "failed"),
}
stages = pytest.mark.parametrize(("stage", "state"), STAGES.values(), ids=STAGES)
Stage = Callable[[Scene], Awaitable[str]]


@stages
async def test_same_key_same_payload_is_the_same_job_in_its_state_now(scene: Scene, stage: Stage, state: str) -> None:
    job_id = await stage(scene)
    before = await everything(scene)
    again = await ask(scene)
    assert (again.receipt.job_id, again.receipt.state, again.replayed) == (job_id, state, True)
    assert await everything(scene) == before
    assert await scene.messages() == []


@stages
async def test_fifty_retries_at_once_are_the_same_job_and_leave_no_trace(
    scene: Scene, stage: Stage, state: str
) -> None:
    job_id = await stage(scene)
    before = await everything(scene)
    answers = await asyncio.gather(*(ask(scene) for _ in range(50)))
    assert {(a.receipt.job_id, a.receipt.state, a.replayed) for a in answers} == {(job_id, state, True)}
    assert await everything(scene) == before
    assert await scene.messages() == []


@stages
async def test_same_key_changed_payload_is_refused_and_nothing_is_written_c12(
    scene: Scene, stage: Stage, state: str
) -> None:
    await stage(scene)
    before = await everything(scene)
    for changed in (
        order(scene, frame_end=20),
        replace(order(scene), sent={**order(scene).sent, "keep_placed": True}),
        replace(order(scene), sent={"movie_id": scene.movie_id}),
    ):
        with pytest.raises(KeyReused):
            await submit(scene.faulty.stores, scene.owner, changed)
    assert await everything(scene) == before
    assert await scene.messages() == []


@stages
async def test_a_new_key_with_the_same_payload_is_a_new_intent(scene: Scene, stage: Stage, state: str) -> None:
    """While the first job lives it loses the lease and leaves no receipt; afterwards it is a job of its own (C13)."""
    job_id = await stage(scene)
    before = await everything(scene)
    if state in ("done", "failed"):
        second = await ask(scene, "second")
        assert (second.replayed, second.receipt.job_id == job_id) == (False, False)
        assert await run(scene.direct, await claimed(scene.direct, message_of(second))) == "completed"
        assert len(await scene.faulty.lab.receipts(scene.movie_id)) == 2
        assert (await scene.events())["movie.tracing.started"] == 2
        assert (await scene.movie()).row["results_job_id"] == second.receipt.job_id
        again = await ask(scene)
        assert (again.receipt.job_id, again.receipt.state) == (job_id, state)  # the first key is still the first job
        return
    with pytest.raises(BeingTraced):
        await ask(scene, "second")
    assert await everything(scene) == before
    assert await scene.messages() == []


@stages
async def test_the_same_key_of_another_person_never_meets_the_first_ones_receipt(
    scene: Scene, teacher: Actor, stage: Stage, state: str
) -> None:
    job_id = await stage(scene)
    before = await everything(scene)
    if state in ("done", "failed"):
        theirs = await ask(scene, actor=teacher)
        assert theirs.replayed is False
        assert theirs.receipt.job_id != job_id
        assert {r["user_id"] for r in await scene.faulty.lab.receipts(scene.movie_id)} == {
            scene.owner.user_id,
            teacher.user_id,
        }
        return
    with pytest.raises(BeingTraced):
        await ask(scene, actor=teacher)
    assert await everything(scene) == before


async def _raced(scene: Scene, orders: list[TraceOrder]) -> tuple[list[Submitted], list[TiptraceError]]:
    answers = await asyncio.gather(
        *(submit(scene.faulty.stores, scene.owner, each) for each in orders), return_exceptions=True
    )
    accepted = [a for a in answers if isinstance(a, Submitted)]
    refused = [a for a in answers if isinstance(a, TiptraceError)]
    assert len(accepted) + len(refused) == len(orders), answers
    return accepted, refused


async def _one_job_only(scene: Scene) -> None:
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert (await scene.movie()).row["trace_job_id"] == receipt["job_id"]
    assert await scene.events() == {"movie.tracing.started": 1}
    assert {m.job_id for m in await scene.messages()} == {receipt["job_id"]}


async def test_fifty_first_intents_of_one_key_are_one_job_and_one_message(scene: Scene) -> None:
    page = await scene.faulty.page(scene.owner, scene.movie_id)
    accepted, refused = await _raced(scene, [order(scene, lease=page)] * 50)
    assert not refused
    assert sum(not a.replayed for a in accepted) == 1
    assert len(await scene.messages()) == 1
    assert len({a.receipt.job_id for a in accepted}) == 1
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert receipt["job_id"] == accepted[0].receipt.job_id
    assert await scene.events() == {"movie.tracing.started": 1}


async def test_of_two_payloads_under_one_key_at_one_instant_one_is_a_job_and_the_other_is_refused(
    scene: Scene,
) -> None:
    accepted, refused = await _raced(scene, [order(scene, frame_end=19 + n % 2) for n in range(50)])
    assert len(accepted) == len(refused) == 25
    assert {type(error) for error in refused} == {KeyReused}
    assert len({a.receipt.input_digest for a in accepted}) == 1
    await _one_job_only(scene)


async def test_of_two_keys_at_one_instant_one_loses_the_lease_and_leaves_no_receipt(scene: Scene) -> None:
    accepted, refused = await _raced(scene, [order(scene, f"key{n % 2}") for n in range(50)])
    assert len(accepted) == len(refused) == 25
    assert {type(error) for error in refused} == {BeingTraced}
    assert len({a.receipt.request_key for a in accepted}) == 1
    await _one_job_only(scene)


async def test_a_retry_that_was_slow_on_its_way_finds_its_job_done_and_starts_no_second_one(scene: Scene) -> None:
    """It had looked before the first was admitted; when it writes, no lease stands in its way any more."""
    first: list[str] = []

    async def meanwhile(_: Request) -> None:
        if not first:
            first.append(await done(scene))

    with scene.faulty.proxy.fault("dynamodb:TransactWriteItems", gate=meanwhile, times=1):
        late = await submit(scene.faulty.stores, scene.owner, order(scene))
    assert (late.receipt.job_id, late.receipt.state, late.replayed) == (first[0], "done", True)
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert receipt["job_id"] == first[0]
    assert await scene.events() == {"movie.tracing.started": 1, "movie.tracing.completed": 1}


async def test_a_replay_stays_the_first_job_when_markers_trim_and_program_have_changed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await done(scene)
    (first,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert first["inputs"]["plan_version"] == PLAN_VERSION
    page = await scene.faulty.page(scene.owner, scene.movie_id)
    moved = [{**point, "y": 42.0} for point in POINTS]
    await edit_movie.put_frame_trackpoints(scene.direct, scene.owner, scene.movie_id, page, 0, moved)
    await edit_movie.set_trim(scene.direct, scene.owner, scene.movie_id, page, end=25)
    monkeypatch.setattr(submit_trace, "PLAN_VERSION", PLAN_VERSION + 1)
    before = await everything(scene)
    again = await ask(scene)
    assert (again.receipt.job_id, again.replayed) == (job_id, True)
    assert await everything(scene) == before
    second = await ask(scene, "second", lease=page)
    assert second.receipt.inputs["plan_version"] == PLAN_VERSION + 1
    assert {p["y"] for p in second.receipt.inputs["markers"]} == {42.0}
    assert await run(scene.direct, await claimed(scene.direct, message_of(second))) == "completed"
    versions = {frame.get("plan_version") for n, frame in (await scene.frames()).items() if 0 < n <= 19}
    assert versions == {second.receipt.inputs["plan_version"]}


async def test_a_replay_needs_no_lease_and_takes_none_away(scene: Scene, teacher: Actor) -> None:
    """The retry of a page whose lease the job had taken comes after somebody else began to edit."""
    job_id = await done(scene)
    page = (await acquire(scene.direct, teacher, scene.movie_id)).lease
    assert page
    again = await ask(scene, lease="0" * 32)
    assert (again.receipt.job_id, again.replayed) == (job_id, True)
    assert await release(scene.direct, teacher, scene.movie_id, page.lease_id)


@pytest.mark.parametrize("stage", [done, failed], ids=["done", "failed"])
async def test_a_retry_after_retirement_is_a_new_intent_and_says_so(scene: Scene, stage: Stage) -> None:
    first_job = await stage(scene)
    scene.faulty.clock.advance(30 * DAY - 1)
    assert (await ask(scene)).receipt.job_id == first_job
    scene.faulty.clock.advance(1)
    accepted, refused = await _raced(scene, [order(scene)] * 20)
    assert not refused
    (new,) = [a for a in accepted if not a.replayed]
    assert new.retired
    assert new.receipt.job_id != first_job
    assert {a.receipt.job_id for a in accepted} == {new.receipt.job_id}
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert (receipt["job_id"], receipt["state"]) == (new.receipt.job_id, "accepted")
    assert "expires_at" not in receipt
    assert (await scene.events())["movie.tracing.started"] == 2
    assert await run(scene.direct, await claimed(scene.direct, message_of(new))) == "completed"


async def test_a_retired_key_may_stand_for_another_request_but_not_while_the_movie_is_being_traced(
    scene: Scene,
) -> None:
    first_job = await done(scene)
    scene.faulty.clock.advance(30 * DAY)
    other = await ask(scene, "other")
    with pytest.raises(BeingTraced):
        await ask(scene, frame_end=25)
    kept = {r["job_id"] for r in await scene.faulty.lab.receipts(scene.movie_id)}
    assert kept == {first_job, other.receipt.job_id}
    assert await run(scene.direct, await claimed(scene.direct, message_of(other))) == "completed"
    changed = await ask(scene, frame_end=25)
    assert changed.retired
    assert changed.receipt.inputs["frame_end"] == 25


@pytest.mark.parametrize(
    "key", ["", "a" * 10_240, "a" * 201, "ключ", "schlüssel", "two words", "line\n", "\x00", "é" * 5]
)
async def test_a_key_that_is_empty_too_long_or_not_visible_ascii_is_refused(key: str) -> None:
    with pytest.raises(InvalidParameter):
        checked_key(key)


async def test_the_longest_key_and_every_visible_character_are_taken(scene: Scene) -> None:
    visible = "".join(map(chr, range(0x21, 0x7F)))
    key = checked_key((visible * 3)[:200])
    one = TraceOrder(scene.movie_id, key, {"movie_id": scene.movie_id})
    first = await submit(scene.faulty.stores, scene.owner, one)
    again = await submit(scene.faulty.stores, scene.owner, one)
    assert (again.receipt.job_id, again.replayed) == (first.receipt.job_id, True)
    assert (await scene.events()) == {"movie.tracing.started": 1}
