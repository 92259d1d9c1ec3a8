"""Whoever dies, between whichever two durable effects: the others bring the job to its end (I11, A04, C11, C13)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.local.emulator import Emulator
from service.store.queue import JobMessage
from service.usecases import edit_movie
from service.usecases.analysis_lease import acquire, release
from service.usecases.cancel_trace import cancel
from service.usecases.submit_trace import TraceOrder, submit
from service.usecases.sweep import sweep
from service.usecases.upload_movie import NewMovie, new_movie, process_upload, upload_key
from service.worker.delivery import handle
from tests.support.lab import POINTS, Lab, open_lab
from tests.support.lab_worker import claimed
from tests.support.messages import next_message
from tests.support.mortal import Fate, Point
from tests.support.stage import BYTES, SHA256, Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

TABLE = Path(__file__).parent.parent / "artifacts" / "crash_points.md"
ONE_DEATH = 900 + 2 * 60
"""Seconds that one death may cost: a lease, and an announcement or two."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lab(emulator: Emulator) -> AsyncIterator[Lab]:
    async with open_lab(emulator.endpoint) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(lab: Lab) -> AsyncIterator[Actor]:
    yield await lab.person("Owner")


@pytest.fixture(scope="module")
def table() -> list[str]:
    return ["| journey | point | who: what | dead | end | after s |", "|---|---|---|---|---|---|"]


# journeys: what happens while everybody lives; `actor`s may die, and a browser repeats what it got no answer to


async def trace(stage: Stage) -> None:
    """Submit, announce, claim, clean, write chunks, upload, publish, tidy up."""
    await stage.traced_movie()
    await _submit_until_answered(stage)
    await stage.act(stage.work(stage.actor("worker")))


async def _submit_until_answered(stage: Stage) -> None:
    order = TraceOrder(
        stage.movie_id, f"k-{stage.movie_id}", {"movie_id": stage.movie_id}, analysis_lease_id=stage.page
    )
    for stores in (stage.actor("api"), stage.survivors):
        submitted = await stage.act(submit(stores, stage.owner, order))
        if submitted is not None:
            stage.acknowledged.append(submitted.receipt.job_id)
            return


async def upload(stage: Stage) -> None:
    """Announce a movie, send its file, have it inspected."""
    order = NewMovie("Bean", SHA256, len(BYTES), stage.survivors.ids.token(), {"sha256": SHA256})
    for stores in (stage.actor("api"), stage.survivors):
        made = await stage.act(new_movie(stores, stage.owner, order))
        if made is not None:
            stage.movie_id = made.movie_id
            break
    await stage.survivors.objects.put(upload_key(stage.movie_id), BYTES, "application/octet-stream")
    for stores in (stage.actor("api"), stage.survivors):
        movie = await stage.act(process_upload(stores, stage.owner, stage.movie_id))
        if movie is not None:
            if movie.tracing:
                stage.acknowledged.append(movie.tracing.job_id)
            break
    await stage.act(stage.work(stage.actor("worker")))


async def hand_back(stage: Stage) -> None:
    """A worker that has to stop gives its job to the next one."""
    job_id = await _queued(stage)
    await stage.survivors.queue.send(JobMessage(stage.movie_id, job_id, 1), "trace", "course")
    stage.stop.set()
    worker = stage.actor("worker")
    delivery = await next_message(worker.queue)
    if delivery is not None:
        await stage.act(handle(worker, delivery, stage.engine, stage.stop, "veryfast"))  # type: ignore[arg-type]


async def _queued(stage: Stage) -> str:
    await stage.traced_movie()
    order = TraceOrder(stage.movie_id, f"k-{stage.movie_id}", {}, analysis_lease_id=stage.page)
    submitted = await submit(stage.survivors, stage.owner, order)
    while (delivery := await next_message(stage.survivors.queue)) is not None:
        await stage.survivors.queue.delete(delivery)
    stage.acknowledged.append(submitted.receipt.job_id)
    return submitted.receipt.job_id


async def stop_it(stage: Stage) -> None:
    """Cancel a running trace."""
    job_id = await _queued(stage)
    await claimed(stage.survivors, JobMessage(stage.movie_id, job_id, 1))
    await stage.act(cancel(stage.actor("api"), stage.owner, stage.movie_id))


async def announce(stage: Stage) -> None:
    """The sweeper announces a job whose message was lost."""
    await _queued(stage)
    stage.lab.clock.advance(30)
    await stage.act(sweep(stage.actor("sweeper")))


async def resume(stage: Stage) -> None:
    """The sweeper takes up a job whose worker is gone."""
    job_id = await _queued(stage)
    await claimed(stage.survivors, JobMessage(stage.movie_id, job_id, 1))
    stage.lab.clock.advance(900)
    await stage.act(sweep(stage.actor("sweeper")))


async def give_up(stage: Stage) -> None:
    """The sweeper ends a job that has lost its worker too often."""
    job_id = await _queued(stage)
    for attempt in (1, 2, 3):
        await claimed(stage.survivors, JobMessage(stage.movie_id, job_id, attempt))
        stage.lab.clock.advance(900)
        await (sweep(stage.survivors) if attempt < 3 else stage.act(sweep(stage.actor("sweeper"))))


async def replace_stale(stage: Stage) -> None:
    """A page acquires a movie whose worker is gone, and edits it."""
    job_id = await _queued(stage)
    await claimed(stage.survivors, JobMessage(stage.movie_id, job_id, 1))
    stage.lab.clock.advance(900)
    await _edit_as(stage)


async def edit(stage: Stage) -> None:
    """Acquire, edit, release."""
    await stage.traced_movie()
    await release(stage.survivors, stage.owner, stage.movie_id, stage.page)
    await _edit_as(stage)


async def _edit_as(stage: Stage) -> None:
    page = stage.actor("page")
    acquired = await stage.act(acquire(page, stage.owner, stage.movie_id))
    if acquired is None:
        return
    assert acquired.lease
    token = acquired.lease.lease_id
    before = (await stage.lab.movie(stage.movie_id)).edit_seq
    edited = await stage.act(edit_movie.put_frame_trackpoints(page, stage.owner, stage.movie_id, token, 0, POINTS[:1]))
    after = (await stage.lab.movie(stage.movie_id)).edit_seq
    stored = await stage.survivors.frames.get(stage.movie_id, 0)
    assert stored
    assert len(stored["trackpoints"]) == (1 if after > before else 3)  # I12: whole or not at all
    if edited is not None:
        assert after == before + 1
        await stage.act(release(page, stage.owner, stage.movie_id, token))


JOURNEYS: tuple[tuple[Callable[[Stage], Awaitable[None]], int, int], ...] = (
    (trace, 16, 0),
    (upload, 12, 0),
    (hand_back, 9, 5),
    (stop_it, 1, 0),
    (announce, 2, 0),
    (resume, 2, 0),
    (give_up, 1, 0),
    (replace_stale, 4, 0),
    (edit, 3, 0),
)
"""Each with its number of durable calls, and how many of them are skipped because another journey has them."""


async def _live_through(
    lab: Lab, owner: Actor, journey: Callable[[Stage], Awaitable[None]], point: Point | None
) -> tuple[Fate, str, int]:
    stage = Stage(lab, owner, Fate(point))
    try:
        await journey(stage)
        await stage.judge_shown()
        took = await stage.recover()
        assert took <= (ONE_DEATH if point else 0)
        status = await stage.judge()
    except BaseException as error:
        error.add_note(f"{journey.__name__}, died {point}; calls: {stage.fate.calls}")
        raise
    finally:
        await stage.remove()
    return stage.fate, status, took


@pytest.mark.parametrize(("journey", "durable", "skipped"), JOURNEYS, ids=[j.__name__ for j, _, _ in JOURNEYS])
async def test_whoever_dies_at_whichever_point_the_job_ends_and_the_movie_is_free_i11(
    lab: Lab,
    owner: Actor,
    journey: Callable[[Stage], Awaitable[None]],
    durable: int,
    skipped: int,
    table: list[str],
) -> None:
    await _die_everywhere(lab, owner, journey, durable, skipped, table, every_point=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("journey", "durable"), [(j, n) for j, n, _ in JOURNEYS], ids=[j.__name__ for j, _, _ in JOURNEYS]
)
async def test_whoever_dies_just_before_or_just_after_any_point_the_job_ends_and_the_movie_is_free_i11(
    lab: Lab,
    owner: Actor,
    journey: Callable[[Stage], Awaitable[None]],
    durable: int,
    table: list[str],
) -> None:
    await _die_everywhere(lab, owner, journey, durable, 0, table, every_point=True)


async def _die_everywhere(
    lab: Lab,
    owner: Actor,
    journey: Callable[[Stage], Awaitable[None]],
    durable: int,
    skipped: int,
    table: list[str],
    *,
    every_point: bool,
) -> None:
    """Just before a call is just after the one before it, for an actor who makes both: once is enough by default."""
    fate, status, _ = await _live_through(lab, owner, journey, None)
    calls = fate.calls
    assert len(calls) == durable, calls
    table.append(f"| {journey.__name__} | | | nobody | {status} | 0 |")
    for number, call in list(enumerate(calls, 1))[skipped:]:
        who = call.partition(":")[0]
        begins = number == skipped + 1 or who != calls[number - 2].partition(":")[0]
        for after in (False, True) if begins or every_point else (True,):
            point = Point(number, after)
            fate, status, took = await _live_through(lab, owner, journey, point)
            assert fate.victim == who
            table.append(f"| {journey.__name__} | {point} | {call} | {who} | {status} | {took} |")


async def test_every_crash_point_is_in_the_table(table: list[str]) -> None:
    """Written for people; shown by `-rA` too. It needs the tests above to have run."""
    if len(table) == 2:
        pytest.skip("no journey was made")
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n".join(table))
    deaths = [line for line in table if "| after " in line]
    assert len(deaths) >= sum(durable - skipped for _, durable, skipped in JOURNEYS)
