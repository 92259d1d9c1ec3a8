"""A machine that tries interleavings of pages, API processes, workers, sweepers and clocks on the real store.

Every step calls the real use cases; after every step all invariants are checked from the stored rows. At the end the
world goes on with one healthy worker, and every job must reach a terminal state and the movie become free (I11).
Here each step is a whole use case; `stepwise` adds actors that are stopped within one.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from service.domain.access import Actor
from service.domain.errors import Conflict, FenceLost, KeyReused
from service.domain.failures import Failure
from service.domain.receipt import TERMINAL
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.usecases import edit_movie, run_job
from service.usecases.analysis_lease import acquire, heartbeat, release
from service.usecases.cancel_trace import cancel
from service.usecases.job_lease import JobLease, claim
from service.usecases.submit_trace import TraceOrder, submit
from service.usecases.sweep import sweep
from service.usecases.workplace import Workplace
from tests.protocol.invariants import Admitted, Known, check, read_rows
from tests.support.engines import ScriptedEngine
from tests.support.lab import POINTS, Lab

FRAMES = 12
SKEW = st.integers(-60, 60)
PICK = st.integers(0, 10**6)
STARTS = st.sampled_from([0, 0, 0, 3, 6, 9])
MOSTLY_NOT = st.sampled_from([False, False, False, True])


def only_if(able: Callable[[Any], Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A rule that does nothing where it makes no sense.

    Not a precondition: what may be chosen next would then depend on how many calls a use case makes, which random
    ids decide, and the library takes a choice that it cannot repeat for a fault of the test.
    """

    def guard(deed: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(deed)
        def guarded(self: Any, *args: Any, **drawn: Any) -> None:
            if able(self):
                deed(self, *args, **drawn)

        return guarded

    return guard


@dataclass
class Page:
    """One loaded Analyze page: what it believes to hold."""

    actor: Actor
    key: str
    lease_id: str | None = None


@dataclass
class Worker:
    """A worker in the middle of a job. `gate` lets it go on by one chunk; `stopped` asks it to hand back."""

    stores: Stores
    lease: JobLease
    gate: asyncio.Semaphore
    waiting: asyncio.Event
    stopped: asyncio.Event
    task: asyncio.Task[str]


@dataclass
class Tally:
    """What one run of the machine went through."""

    steps: int = 0
    granted: int = 0
    admitted: int = 0
    replayed: int = 0
    claimed: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    within: dict[str, int] = field(default_factory=dict)
    """Stops within a use case, by what happened there."""


class Interleavings(RuleBasedStateMachine):
    lab: Lab
    loop: asyncio.AbstractEventLoop
    tally: Tally

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    @initialize(skews=st.tuples(SKEW, SKEW, SKEW), begun=st.sampled_from(["open", "queued", "running", "traced"]))
    def open_the_laboratory(self, skews: tuple[int, int, int], begun: str) -> None:
        """The interesting part of the story begins where something is under way already."""
        self.owner = self.run(self.lab.person("Owner"))
        self.teacher = self.run(self.lab.person("Teacher", admin=True))
        self.movie_id = self.run(self.lab.ready_movie(self.owner, frames=FRAMES))
        self.apis = [self.lab.with_clock(self.lab.clock.skewed(skew)) for skew in skews[:2]]
        self.sweeper = self.lab.with_clock(self.lab.clock.skewed(skews[2]))
        self.known = Known()
        self.pages: list[Page] = []
        self.latest: Page | None = None
        self.tokens: list[tuple[Actor, str]] = []
        self.orders: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
        self.messages: list[JobMessage] = []
        self.claims: set[tuple[str, int]] = set()
        self.workers: list[Worker] = []
        self.counter = 0
        self.open_a_page(own=True, api=0, take_over=False)
        if begun != "open":
            self.trace_with_a_new_key(n=1, api=0, start=0, keep=False, bare=False)
        if begun in ("running", "traced"):
            self.deliver_some_message(n=0, skew=skews[0], fate="well")
        while begun == "traced" and self.workers:
            self.let_a_worker_go_on(n=0, stop=False)

    # pages

    def api(self, n: int) -> Stores:
        return self.apis[n % 2]

    def page(self, n: int) -> Page:
        """Mostly the page that was granted the lease last: what it does is what matters."""
        if n % 4 and self.latest in self.pages:
            return self.latest
        return self.pages[n % len(self.pages)]

    def fresh(self, word: str) -> str:
        self.counter += 1
        return f"{word}-{self.counter}"

    def holder(self) -> str | None:
        return self.run(self.lab.movie(self.movie_id)).row.get("analysis_lease_id")

    def ask(self, page: Page, api: int, **more: Any) -> None:
        answer = self.run(acquire(self.api(api), page.actor, self.movie_id, request_key=page.key, **more))
        if answer.lease:
            assert self.holder() == answer.lease.lease_id, "a granted lease is not on the row"
            page.lease_id = answer.lease.lease_id
            self.latest = page
            self.tokens.append((page.actor, answer.lease.lease_id))
            self.tally.granted += 1

    @rule(own=st.booleans(), api=PICK, take_over=MOSTLY_NOT)
    def open_a_page(self, own: bool, api: int, take_over: bool) -> None:
        page = Page(self.owner if own else self.teacher, self.fresh("load"))
        self.pages.append(page)
        self.ask(page, api, take_over=take_over)

    @rule(n=PICK, api=PICK)
    @only_if(lambda self: self.pages)
    def ask_again_with_the_same_key(self, n: int, api: int) -> None:
        before = self.holder()
        page = self.page(n)
        held = page.lease_id
        self.ask(page, api)
        if held and before == held and self.page(n).lease_id != held:
            movie = self.run(self.lab.movie(self.movie_id))
            assert movie.analysis, "the lease was there and is not"
            assert movie.analysis.started_at >= self.lab.clock.now() - 60, "a live lease was handed out anew"

    @rule(n=PICK, api=PICK)
    @only_if(lambda self: self.pages)
    def reload(self, n: int, api: int) -> None:
        page = self.page(n)
        former, page.key = page.lease_id, self.fresh("load")
        self.ask(page, api, former_lease_id=former)

    @rule(n=PICK, api=PICK)
    @only_if(lambda self: self.pages)
    def beat(self, n: int, api: int) -> None:
        page = self.page(n)
        if page.lease_id:
            told = self.run(heartbeat(self.api(api), page.actor, self.movie_id, page.lease_id))
            assert not told.active or self.holder() == page.lease_id

    @rule(n=PICK, api=PICK)
    @only_if(lambda self: self.tokens)
    def release_some_token_early_or_late(self, n: int, api: int) -> None:
        actor, token = self.tokens[n % len(self.tokens)]
        before = self.holder()
        released = self.run(release(self.api(api), actor, self.movie_id, token))
        assert released == (before == token)
        assert self.holder() == (None if released else before)

    @rule(n=PICK, api=PICK, value=st.integers(1, 6000))
    @only_if(lambda self: self.pages)
    def edit_the_interval(self, n: int, api: int, value: int) -> None:
        self.edit(
            self.page(n), lambda s, p: edit_movie.set_fpm(s, p.actor, self.movie_id, p.lease_id, value), api, value
        )

    @rule(n=PICK, api=PICK, frame=STARTS, shift=st.integers(0, 50))
    @only_if(lambda self: self.pages)
    def edit_markers(self, n: int, api: int, frame: int, shift: int) -> None:
        moved = [{**point, "x": point["x"] + shift} for point in POINTS]
        self.edit(
            self.page(n),
            lambda s, p: edit_movie.put_frame_trackpoints(s, p.actor, self.movie_id, p.lease_id, frame, moved),
            api,
            None,
        )

    def edit(self, page: Page, write: Any, api: int, fpm: int | None) -> None:
        before = self.holder()
        try:
            self.run(write(self.api(api), page))
        except Conflict:
            return
        assert page.lease_id
        assert before == page.lease_id, "a write without the live lease was accepted"
        self.known.edit_seq += 1
        if fpm is not None:
            self.known.fpm = f"{fpm:.10g}"

    # traces

    @rule(n=PICK, api=PICK, start=STARTS, keep=st.booleans(), bare=MOSTLY_NOT)
    @only_if(lambda self: self.pages)
    def trace_with_a_new_key(self, n: int, api: int, start: int, keep: bool, bare: bool) -> None:
        page = self.page(n)
        sent = {"frame_start": start, "keep_placed": keep}
        self.send(page, api, self.fresh("trace"), sent, None if bare else page.lease_id)

    @rule(n=PICK, api=PICK, changed=st.booleans())
    @only_if(lambda self: self.orders)
    def trace_with_a_known_key(self, n: int, api: int, changed: bool) -> None:
        (user_id, key), (sent, job_id) = list(self.orders.items())[n % len(self.orders)]
        page = Page(self.owner if user_id == self.owner.user_id else self.teacher, "")
        if changed:
            with pytest.raises(KeyReused):
                self.send(page, api, key, {**sent, "frame_start": sent["frame_start"] + 1}, None)
            return
        self.send(page, api, key, sent, None)
        assert self.orders[user_id, key][1] == job_id
        self.tally.replayed += 1

    def send(self, page: Page, api: int, key: str, sent: dict[str, Any], lease_id: str | None) -> None:
        order = TraceOrder(self.movie_id, key, sent, analysis_lease_id=lease_id, **sent)
        before = self.holder()
        try:
            answer = self.run(submit(self.api(api), page.actor, order))
        except KeyReused:
            raise
        except Exception as refused:
            if isinstance(refused, Conflict) or type(refused).__name__ == "MarkersMissing":
                return
            raise
        receipt = answer.receipt
        if answer.replayed:
            assert (page.actor.user_id, key) in self.orders, "a new key was taken for an old one"
            return
        assert (page.actor.user_id, key) not in self.orders, "an old key started a second job"
        assert lease_id is None or before == lease_id
        self.orders[page.actor.user_id, key] = (sent, receipt.job_id)
        self.known.jobs.append(
            Admitted(receipt.job_id, receipt.receipt_id, receipt.inputs["frame_start"], receipt.inputs["frame_end"])
        )
        self.messages.append(JobMessage(self.movie_id, receipt.job_id, 1))
        self.tally.admitted += 1

    @rule(api=PICK, own=st.booleans())
    def cancel_the_trace(self, api: int, own: bool) -> None:
        with contextlib.suppress(Conflict):
            self.run(cancel(self.api(api), self.owner if own else self.teacher, self.movie_id))

    # workers

    @rule(n=PICK, skew=SKEW, fate=st.sampled_from(["well", "well", "well", "bad movie", "crash"]))
    @only_if(lambda self: self.messages and len(self.workers) < 3)
    def deliver_some_message(self, n: int, skew: int, fate: str) -> None:
        """Any message that was ever sent may arrive, again and late."""
        message = self.messages[n % len(self.messages)]
        stores = self.lab.with_clock(self.lab.clock.skewed(skew))
        lease = self.run(claim(stores, message))
        if lease is None:
            return
        assert (message.job_id, message.attempt) not in self.claims, "an attempt was claimed twice"
        self.claims.add((message.job_id, message.attempt))
        self.tally.claimed += 1
        gate, waiting = asyncio.Semaphore(0), asyncio.Event()

        async def pause(_: int) -> None:
            waiting.set()
            await gate.acquire()
            waiting.clear()

        engine = ScriptedEngine(
            chunk=4,
            pause=pause,
            crash_after=7 if fate == "crash" else None,
            fail_with=Failure("movie_cut_off", {"last": 3, "promised": 12}) if fate == "bad movie" else None,
        )
        stopped = asyncio.Event()
        task = self.loop.create_task(_work(stores, lease, engine, stopped))
        self.workers.append(Worker(stores, lease, gate, waiting, stopped, task))
        self.run(self.until_it_waits(self.workers[-1]))

    async def until_it_waits(self, worker: Worker) -> None:
        waits = asyncio.ensure_future(worker.waiting.wait())
        await asyncio.wait({worker.task, waits}, return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        if worker.task.done():
            self.workers.remove(worker)
            outcome = worker.task.result()
            self.tally.ended[outcome] = self.tally.ended.get(outcome, 0) + 1
            if outcome == "handed back":
                self.messages.append(JobMessage(self.movie_id, worker.lease.job.job_id, worker.lease.job.attempt + 1))

    @rule(n=PICK, stop=st.booleans())
    @only_if(lambda self: self.workers)
    def let_a_worker_go_on(self, n: int, stop: bool) -> None:
        worker = self.workers[n % len(self.workers)]
        if stop:
            worker.stopped.set()
        worker.waiting.clear()
        worker.gate.release()
        self.run(self.until_it_waits(worker))

    @rule(n=PICK)
    @only_if(lambda self: self.workers)
    def renew_a_workers_lease(self, n: int) -> None:
        worker = self.workers[n % len(self.workers)]
        with contextlib.suppress(FenceLost):
            self.run(worker.lease.renew())

    @rule(n=PICK)
    @only_if(lambda self: self.workers)
    def kill_a_worker(self, n: int) -> None:
        worker = self.workers.pop(n % len(self.workers))
        self.run(_killed(worker.task))
        self.tally.ended["killed"] = self.tally.ended.get("killed", 0) + 1

    @rule()
    def sweep_once(self) -> None:
        self.run(self.swept())

    async def swept(self) -> None:
        """One pass over this machine's movie, as the sweeper makes it over all that the index nominates."""
        await sweep(self.sweeper)
        job = (await self.lab.movie(self.movie_id)).tracing
        if job and job.state == "queued":
            message = JobMessage(self.movie_id, job.job_id, job.attempt)
            if message not in self.messages:
                self.messages.append(message)

    @rule(seconds=st.sampled_from([1, 5, 29, 31, 120, 299, 450, 839, 899, 900, 901, 961]))
    def time_passes(self, seconds: int) -> None:
        self.lab.clock.advance(seconds)

    @invariant()
    def all_invariants_hold(self) -> None:
        if hasattr(self, "known"):
            self.tally.steps += 1
            check(self.run(read_rows(self.lab, self.movie_id, self.known)), self.known)

    def teardown(self) -> None:
        if not hasattr(self, "known"):
            return
        for worker in self.workers:
            self.run(_killed(worker.task))
        self.run(self.the_world_goes_on())

    async def the_world_goes_on(self) -> None:
        """I11: with one healthy worker every job ends within its attempts, and then the movie is free."""
        healthy = self.lab.stores
        for _ in range(8):
            job = (await self.lab.movie(self.movie_id)).tracing
            if job is None:
                break
            self.lab.clock.advance(healthy.policy.lease_seconds + 61)
            await self.swept()
            for message in list(self.messages):
                lease = await claim(healthy, message)
                if lease:
                    await _work(healthy, lease, ScriptedEngine(), asyncio.Event())
        rows = await read_rows(self.lab, self.movie_id, self.known)
        check(rows, self.known)
        assert rows.movie.tracing is None, "a job never ended"
        assert all(receipt.state in TERMINAL for receipt in rows.receipts)
        self.lab.clock.advance(healthy.policy.lease_seconds + 61)
        assert (await acquire(healthy, self.owner, self.movie_id)).lease, "the movie is not free"


async def _work(stores: Stores, lease: JobLease, engine: ScriptedEngine, stopped: asyncio.Event) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return await run_job.run(stores, lease, Workplace(engine, Path(folder), stopped))
        except FenceLost:
            return "lost"


async def _killed(task: asyncio.Task[str]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
