"""Everything at once: workers, a sweeper, people and a network that loses, doubles and breaks what it likes.

Seeded, so that the same faults are drawn again; what they hit depends on timing, so a failure names the movie's rows.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import pytest

from service.domain.access import Actor
from service.domain.errors import BeingEdited, BeingTraced, EditedMeanwhile, LeaseLost, NothingToCancel, Unavailable
from service.usecases import edit_movie
from service.usecases.analysis_lease import acquire, release
from service.usecases.cancel_trace import cancel
from service.usecases.submit_trace import TraceOrder, submit
from service.usecases.sweep import sweep
from service.worker.delivery import handle
from tests.support.engines import ScriptedEngine
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import Fault
from tests.support.messages import next_message
from tests.support.scene import Scene, ready

pytestmark = pytest.mark.asyncio(loop_scope="module")

WEATHER = (
    (Fault.DROP_REPLY, 0.04),
    (Fault.RESET_REPLY, 0.04),
    (Fault.TWICE, 0.04),
    (Fault.ERROR_REPLY, 0.02),
    (Fault.ERROR_BEFORE, 0.03),
    (Fault.RESET_BEFORE, 0.03),
)
STARTED = "movie.tracing.started"
TICK = 60
"""Seconds that pass at each beat of the storm: jobs now and then lose their lease while they work."""


@dataclass
class Person:
    """Traces, cancels and edits one movie until `intents` traces were accepted; repeats what was not answered."""

    scene: Scene
    dice: random.Random
    intents: int
    jobs: dict[str, str] = field(default_factory=dict)
    """request key -> job, as acknowledged."""
    saved: list[float | None] = field(default_factory=lambda: [None])
    """What the capture interval may be: the last acknowledged value, and those sent after it."""

    async def live(self) -> None:
        for number in range(self.intents):
            await self._trace(f"intent-{number}-{self.scene.movie_id}")
            if self.dice.random() < 0.3:
                await self._cancel()
            await self._edit(float(number + 1))

    async def _trace(self, key: str) -> None:
        order = TraceOrder(self.scene.movie_id, key, {"movie_id": self.scene.movie_id})
        while key not in self.jobs:
            try:
                submitted = await submit(self.scene.faulty.stores, self.scene.owner, order)
                self.jobs[key] = submitted.receipt.job_id
            except (Unavailable, BeingTraced, BeingEdited, EditedMeanwhile):
                await asyncio.sleep(0.02)

    async def _cancel(self) -> None:
        try:
            await cancel(self.scene.faulty.stores, self.scene.owner, self.scene.movie_id)
        except (Unavailable, NothingToCancel, EditedMeanwhile):
            return

    async def _edit(self, fpm: float) -> None:
        """Wait for the editing lease, save once, give the lease back."""
        stores, owner, movie_id = self.scene.faulty.stores, self.scene.owner, self.scene.movie_id
        while True:
            try:
                lease = (await acquire(stores, owner, movie_id, request_key=f"page-{fpm}")).lease
                if lease:
                    break
            except (Unavailable, EditedMeanwhile):
                pass
            await asyncio.sleep(0.02)
        try:
            self.saved.append(fpm)
            await edit_movie.set_fpm(stores, owner, movie_id, lease.lease_id, fpm)
            self.saved = [fpm]
            await release(stores, owner, movie_id, lease.lease_id)
        except (Unavailable, LeaseLost, BeingTraced, EditedMeanwhile):
            return


async def _work(faulty: FaultLab) -> None:
    while True:
        try:
            delivery = await next_message(faulty.stores.queue)
            if delivery is None:
                await asyncio.sleep(0.02)
            else:
                engine = ScriptedEngine(chunk=8)
                await handle(faulty.stores, delivery, engine, asyncio.Event(), "veryfast")  # type: ignore[arg-type]
        except Unavailable:
            await asyncio.sleep(0.02)


async def _pass_time(faulty: FaultLab) -> None:
    while True:
        await asyncio.sleep(0.05)
        faulty.clock.advance(TICK)
        await sweep(faulty.stores)


async def _calm(faulty: FaultLab, people: list[Person]) -> None:
    """The storm is over: sweep and work until no job is left (I11)."""
    for _ in range(40):
        rows = [(await person.scene.movie()).row for person in people]
        if not any("trace_job_id" in row for row in rows):
            return
        while (delivery := await next_message(faulty.lab.stores.queue)) is not None:
            await handle(faulty.lab.stores, delivery, ScriptedEngine(), asyncio.Event(), "veryfast")  # type: ignore[arg-type]
        faulty.clock.advance(300)
        await sweep(faulty.lab.stores)
    raise AssertionError("a job never ended")


async def _judge(person: Person) -> Counter[str]:
    """I9, I10, I12 over the whole history of one movie; how its jobs ended."""
    scene = person.scene
    row = (await scene.movie()).row
    receipts = {r["job_id"]: r for r in await scene.faulty.lab.receipts(scene.movie_id)}
    assert {r["request_key"]: job for job, r in receipts.items()} == person.jobs
    assert {r["state"] for r in receipts.values()} <= {"done", "failed"}
    events = [e async for e in scene.direct.audit.of("movie_id", scene.movie_id)]
    told = Counter((e["trace_job_id"], e["event_type"] == STARTED) for e in events)
    assert told == {(job, started): 1 for job in receipts for started in (True, False)}
    assert not [name for name in row if name.startswith("sweep_") or name == "tracing_claim_id"]
    assert (float(row["fpm"]) if "fpm" in row else None) in person.saved
    if row["status"] == "tracing completed":
        frames = await scene.frames()
        assert {n: f["trackpoints"][0]["x"] for n, f in frames.items()} == {n: 100.0 + n for n in range(30)}
        assert {f["job_id"] for n, f in frames.items() if n} == {row["results_job_id"]}
        assert await scene.direct.objects.head(scene.direct.objects.key_of(row["movie_traced_urn"]))
    return Counter(f"{r['state']} {r.get('failure_code', '')}".strip() for r in receipts.values())


def _drawn(dice: random.Random, share: float) -> bool:
    return dice.random() < share


async def _storm(faulty: FaultLab, owner: Actor, seed: int, movies: int, intents: int) -> None:
    dice = random.Random(seed)
    people = []
    for _ in range(movies):
        scene = Scene(faulty, owner)
        await ready(scene)
        people.append(Person(scene, dice, intents))
    with ExitStack() as weather:
        for fault, share in WEATHER:
            weather.enter_context(faulty.proxy.fault("*", fault, active=partial(_drawn, dice, share)))
        others = [asyncio.create_task(_work(faulty)) for _ in range(3)] + [asyncio.create_task(_pass_time(faulty))]
        try:
            async with asyncio.timeout(120), asyncio.TaskGroup() as group:
                for person in people:
                    group.create_task(person.live())
        finally:
            for task in others:
                task.cancel()
            ended = await asyncio.gather(*others, return_exceptions=True)
    assert {type(error) for error in ended} == {asyncio.CancelledError}, ended
    await _calm(faulty, people)
    endings: Counter[str] = Counter()
    for person in people:
        try:
            endings += await _judge(person)
        except AssertionError as error:
            error.add_note(f"seed {seed}: {(await person.scene.movie()).row}")
            raise
        await person.scene.remove()
    assert endings.total() == movies * intents
    print(f"seed {seed}: {dict(endings)}")


async def test_after_a_storm_every_acknowledged_job_has_ended_once_and_every_edit_stands(faulty: FaultLab) -> None:
    await _storm(faulty, await faulty.lab.person("Owner"), seed=1, movies=4, intents=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 14))
async def test_after_many_storms_every_acknowledged_job_has_ended_once(faulty: FaultLab, seed: int) -> None:
    await _storm(faulty, await faulty.lab.person("Owner"), seed, movies=8, intents=5)
