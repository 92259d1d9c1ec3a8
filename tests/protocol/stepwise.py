"""The machine with actors that are stopped within a use case, at every call to the database.

Between two calls of one actor anything else may happen: other actors, hours, its own death, a lost reply. What each
single call did is read off the row before and after it, and must have been this actor's right at that very moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from service.domain.errors import FenceLost, TiptraceError
from service.domain.movie import Movie
from service.domain.receipt import receipt_id
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.usecases import edit_movie, run_job
from service.usecases.analysis_lease import Acquired, acquire, release
from service.usecases.cancel_trace import cancel
from service.usecases.job_lease import claim
from service.usecases.submit_trace import Submitted, TraceOrder, submit
from service.usecases.sweep import sweep
from service.usecases.workplace import Workplace
from tests.protocol.invariants import Admitted
from tests.protocol.machine import FRAMES, PICK, SKEW, STARTS, Interleavings, Page, only_if
from tests.support.engines import ScriptedEngine
from tests.support.lab import POINTS
from tests.support.mortal import DURABLE, Killed
from tests.support.stepwise import Fate, Steps, stepwise

MOST_ACTORS = 3
MEANWHILE = st.sampled_from(["edit", "edit", "release", "acquire", "submit", "sweep", "hours", "hours and a sweep"])
FATES = st.sampled_from(["go on", "go on", "go on", "go on", "go on", "throttle", "lose the reply", "die"])
RACES = st.tuples(
    st.sampled_from(["acquire", "edit", "submit", "submit", "work"]), MEANWHILE, FATES, PICK, st.booleans()
)


@dataclass
class StepwiseActor:
    """Somebody in the middle of a use case, and what his calls were seen to do."""

    verb: str
    steps: Steps
    task: asyncio.Task[Any]
    page: Page | None = None
    lease_id: str | None = None
    key: str = ""
    sent: dict[str, Any] = field(default_factory=dict)
    fpm: str | None = None
    edited: bool = False
    granted: set[str] = field(default_factory=set)
    admitted: str | None = None
    claim_id: str | None = None


class StepwiseInterleavings(Interleavings):
    def __init__(self) -> None:
        super().__init__()
        self.actors: list[StepwiseActor] = []

    def _begin(self, actor: StepwiseActor) -> None:
        self.actors.append(actor)
        self.run(self._until_it_stops(actor))

    def _spawn(
        self, verb: str, stores: Stores, deed: Callable[[Stores], Coroutine[Any, Any, Any]], **more: Any
    ) -> None:
        steps = Steps()
        task = self.loop.create_task(_alive(deed(stepwise(stores, steps))))
        self._begin(StepwiseActor(verb, steps, task, **more))

    # beginnings

    @rule(n=PICK, api=PICK, fresh=st.booleans())
    @only_if(lambda self: self.pages and len(self.actors) < MOST_ACTORS)
    def begin_to_acquire(self, n: int, api: int, fresh: bool) -> None:
        page = self.page(n)
        former = None if fresh else page.lease_id
        if former:
            page.key = self.fresh("load")
        self._spawn(
            "acquire",
            self.api(api),
            lambda s: acquire(s, page.actor, self.movie_id, request_key=page.key, former_lease_id=former),
            page=page,
            lease_id=former,
        )

    @rule(n=PICK, api=PICK, value=st.integers(1, 6000))
    @only_if(lambda self: self.pages and len(self.actors) < MOST_ACTORS)
    def begin_to_edit(self, n: int, api: int, value: int) -> None:
        page = self.page(n)
        held, moved = page.lease_id, [{**point, "x": point["x"] + value % 97} for point in POINTS]

        def deed(s: Stores) -> Coroutine[Any, Any, Movie]:
            if value % 2:
                return edit_movie.set_fpm(s, page.actor, self.movie_id, held, value)
            return edit_movie.put_frame_trackpoints(s, page.actor, self.movie_id, held, 0, moved)

        self._spawn("edit", self.api(api), deed, page=page, lease_id=held, fpm=str(value) if value % 2 else None)

    @rule(n=PICK, api=PICK, start=STARTS, keep=st.booleans(), again=st.booleans())
    @only_if(lambda self: self.pages and len(self.actors) < MOST_ACTORS)
    def begin_to_submit(self, n: int, api: int, start: int, keep: bool, again: bool) -> None:
        """With `again`, what an earlier submit of the same person still has under way, or has left unanswered."""
        page = self.page(n)
        held = page.lease_id
        key, sent = self.fresh("trace"), {"frame_start": start, "keep_placed": keep}
        twins = [a for a in self.actors if a.verb == "submit" and a.page and a.page.actor == page.actor]
        if again and twins:
            key, sent = twins[-1].key, twins[-1].sent
        order = TraceOrder(self.movie_id, key, sent, analysis_lease_id=held, **sent)
        self._spawn(
            "submit",
            self.api(api),
            lambda s: submit(s, page.actor, order),
            page=page,
            lease_id=held,
            key=key,
            sent=sent,
        )

    @rule(n=PICK, api=PICK)
    @only_if(lambda self: self.tokens and len(self.actors) < MOST_ACTORS)
    def begin_to_release(self, n: int, api: int) -> None:
        actor, token = self.tokens[n % len(self.tokens)]
        self._spawn("release", self.api(api), lambda s: release(s, actor, self.movie_id, token), lease_id=token)

    @rule(api=PICK)
    @only_if(lambda self: len(self.actors) < MOST_ACTORS)
    def begin_to_cancel(self, api: int) -> None:
        self._spawn("cancel", self.api(api), lambda s: cancel(s, self.owner, self.movie_id))

    @rule()
    @only_if(lambda self: len(self.actors) < MOST_ACTORS)
    def begin_to_sweep(self) -> None:
        self._spawn("sweep", self.sweeper, sweep)

    @rule(n=PICK, skew=SKEW, stopping=st.booleans())
    @only_if(lambda self: self.messages and len(self.actors) < MOST_ACTORS)
    def begin_to_work(self, n: int, skew: int, stopping: bool) -> None:
        """Any message that was ever sent may arrive, again and late."""
        message = self.messages[n % len(self.messages)]
        stores = self.lab.with_clock(self.lab.clock.skewed(skew))
        self._spawn("work", stores, lambda s: _work(s, message, stopping=stopping))

    # steps

    @rule(n=PICK, fates=st.lists(FATES, min_size=1, max_size=6))
    @only_if(lambda self: self.actors)
    def let_an_actor_go_on(self, n: int, fates: list[Fate]) -> None:
        actor = self.actors[n % len(self.actors)]
        for fate in fates:
            if actor not in self.actors:
                return
            self._step(actor, fate)

    @rule(n=PICK)
    @only_if(lambda self: self.actors)
    def bring_an_actor_to_the_brink_of_its_next_write(self, n: int) -> None:
        self._to_the_brink(self.actors[n % len(self.actors)])

    def _to_the_brink(self, actor: StepwiseActor) -> None:
        """All that it will decide by has been read: of what happens from now on it does not know."""
        while actor in self.actors:
            self._step(actor, "go on")
            if actor.steps.about_to in DURABLE:
                return

    @rule(races=st.lists(RACES, min_size=1, max_size=5), api=PICK)
    @only_if(lambda self: self.pages)
    def race(self, races: list[tuple[str, str, Fate, int, bool]], api: int) -> None:
        """Somebody begins and reads everything; before his write something else happens; then he goes on, or not."""
        for verb, meanwhile, fate, n, flag in races:
            while len(self.actors) >= MOST_ACTORS:
                self._step(self.actors[0], "go on")
            begin = {
                "acquire": self._acquire_what_is_free,
                "edit": self._edit_what_is_held,
                "submit": self._submit_what_is_held,
                "work": self._work_on_what_was_sent,
            }
            begin[verb](n, api, flag)
            actor = self.actors[-1] if self.actors else None
            if actor is None or actor.verb != verb:
                continue
            for _ in range(1 + n % 6 if verb == "work" else 1):  # a worker's first write is its claim
                self._to_the_brink(actor)
            self._meanwhile(meanwhile, actor.page or self.pages[-1], api, 0)
            if actor in self.actors:
                self._step(actor, fate)

    def _acquire_what_is_free(self, n: int, api: int, fresh: bool) -> None:
        for person, token in self.tokens:
            if token == self.holder():
                self.run(release(self.api(api), person, self.movie_id, token))
        self.begin_to_acquire(n, api, fresh)

    def _edit_what_is_held(self, n: int, api: int, _: bool) -> None:
        self.ask(self.page(n), api, take_over=True)
        self.begin_to_edit(n, api, n % 6000 + 1)

    def _submit_what_is_held(self, n: int, api: int, keep: bool) -> None:
        self.ask(self.page(n), api, take_over=True)
        self.begin_to_submit(n, api, 0, keep, again=False)

    def _work_on_what_was_sent(self, n: int, _: int, stopping: bool) -> None:
        if self.messages:
            self.begin_to_work(-1, 0, stopping=stopping)

    def _meanwhile(self, what: str, page: Page, api: int, frame: int) -> None:
        """The same page does something else, or the world does."""
        if what == "edit":
            moved = [{**point, "x": point["x"] + 7 + self.known.edit_seq} for point in POINTS]
            self.edit(
                page,
                lambda s, p: edit_movie.put_frame_trackpoints(s, p.actor, self.movie_id, p.lease_id, frame, moved),
                api,
                None,
            )
        elif what == "release" and page.lease_id:
            self.run(release(self.api(api), page.actor, self.movie_id, page.lease_id))
        elif what == "acquire":
            self.ask(self.pages[0], api, take_over=True)
        elif what == "submit":
            self.send(page, api, self.fresh("trace"), {"frame_start": frame, "keep_placed": False}, page.lease_id)
        elif what == "sweep":
            self.run(self.swept())
        elif what == "hours":
            self.lab.clock.advance(961)
        elif what == "hours and a sweep":
            self.lab.clock.advance(961)
            self.run(self.swept())

    def _step(self, actor: StepwiseActor, fate: Fate) -> None:
        before = self.run(self.lab.movie(self.movie_id))
        self.tally.within[fate] = self.tally.within.get(fate, 0) + 1
        actor.steps.go(fate)
        self.run(self._until_it_stops(actor))
        after = self.run(self.lab.movie(self.movie_id))
        self._saw(actor, before, after)
        if actor.task.done():
            self._ended(actor)

    async def _until_it_stops(self, actor: StepwiseActor) -> None:
        stops = asyncio.ensure_future(actor.steps.stopped.wait())
        await asyncio.wait({actor.task, stops}, return_when=asyncio.FIRST_COMPLETED)
        stops.cancel()

    def _saw(self, actor: StepwiseActor, before: Movie, after: Movie) -> None:
        """What one step did to the row, and whether it was this actor's to do."""
        now = self.lab.clock.now() + 60
        grown = after.edit_seq - before.edit_seq
        if grown:
            assert (grown, actor.verb, actor.edited) == (1, "edit", False), (grown, actor)
            assert before.row.get("analysis_lease_id") == actor.lease_id, "a write without the lease was made"
            assert before.tracing is None, "a write was made beside a trace"
            actor.edited = True
            self.known.edit_seq += 1
            self.known.fpm = actor.fpm or self.known.fpm
        token = after.row.get("analysis_lease_id")
        if token and token != before.row.get("analysis_lease_id"):
            assert actor.verb == "acquire", actor
            assert actor.page
            held = before.analysis
            assert held is None or held.expires_at <= now or held.lease_id == actor.lease_id, (held, actor)
            assert before.tracing is None or before.tracing.expires_at <= now, "a lease was granted beside a trace"
            actor.granted.add(token)
            self.tokens.append((actor.page.actor, token))
            self.tally.granted += 1
        if actor.verb == "work" and actor.claim_id and after.row != before.row:
            assert before.tracing, f"a worker changed a movie that nobody traced: {actor}"
            assert before.tracing.claim_id == actor.claim_id, f"a worker changed what was another's: {actor}"
        job = after.tracing
        if job and (before.tracing is None or before.tracing.job_id != job.job_id):
            self._saw_admission(actor, before, job.job_id, now)
        if job and job.claim_id and (before.tracing is None or before.tracing.claim_id != job.claim_id):
            assert (actor.verb, actor.claim_id) == ("work", None), actor
            assert (job.job_id, job.attempt) not in self.claims, "an attempt was claimed twice"
            actor.claim_id = job.claim_id
            self.claims.add((job.job_id, job.attempt))
            self.tally.claimed += 1
        elif job and job.state == "queued":
            message = JobMessage(self.movie_id, job.job_id, job.attempt)
            if message not in self.messages:
                self.messages.append(message)

    def _saw_admission(self, actor: StepwiseActor, before: Movie, job_id: str, now: int) -> None:
        assert (actor.verb, actor.admitted) == ("submit", None), actor
        assert actor.page
        held = before.analysis
        free = held is None or held.expires_at <= now
        assert held.lease_id == actor.lease_id if held and actor.lease_id else free, (held, actor)
        assert before.tracing is None or before.tracing.expires_at <= now, "a trace replaced a live one"
        intent = (actor.page.actor.user_id, actor.key)
        assert intent not in self.orders, "an old key started a second job"
        asked, marked = self.run(self._snapshot(receipt_id(*intent)))
        assert asked == marked, "a trace starts from markers that were moved before it was admitted"
        self.orders[intent] = (actor.sent, job_id)
        self.known.jobs.append(Admitted(job_id, receipt_id(*intent), actor.sent["frame_start"], FRAMES - 1))
        actor.admitted = job_id
        self.tally.admitted += 1

    async def _snapshot(self, admitted: str) -> tuple[list[float], list[float]]:
        """Where the markers are: in what the job was given, and on the frame itself (I3, A13, A32)."""
        receipt = await self.lab.stores.receipts.get(admitted)
        assert receipt
        stored = await self.lab.stores.frames.get(self.movie_id, receipt.inputs["frame_start"])
        shown = stored["trackpoints"] if stored else []
        return [point["x"] for point in receipt.inputs["markers"]], [float(point["x"]) for point in shown]

    def _ended(self, actor: StepwiseActor) -> None:
        """The answer must agree with what was done."""
        self.actors.remove(actor)
        outcome = actor.task.result()
        self.tally.ended[actor.verb] = self.tally.ended.get(actor.verb, 0) + 1
        if isinstance(outcome, Killed):
            return
        if isinstance(outcome, TiptraceError):
            done = actor.edited or actor.admitted
            assert not done, f"done, and told {outcome!r}: {actor}"
            return
        if actor.verb == "edit":
            assert actor.edited, "an edit was acknowledged and not made"
        if isinstance(outcome, Acquired) and outcome.lease:
            assert actor.page
            ours = [token for person, token in self.tokens if person == actor.page.actor]
            assert outcome.lease.lease_id in ours, "a lease was told that was never on the row"
            actor.page.lease_id, self.latest = outcome.lease.lease_id, actor.page
        if isinstance(outcome, Submitted):
            assert actor.page
            _, job_id = self.orders[actor.page.actor.user_id, actor.key]
            assert outcome.receipt.job_id == job_id
            assert outcome.replayed == (actor.admitted is None)

    # the end

    def teardown(self) -> None:
        """The world goes on while these actors stand still; then they come back, late, and it goes on again."""
        if not hasattr(self, "known"):
            return
        super().teardown()
        while self.actors:
            self._step(self.actors[0], "go on")
        self.run(self.the_world_goes_on())


async def _alive(deed: Coroutine[Any, Any, Any]) -> Any:
    """The deed's answer, its refusal, or Killed."""
    try:
        return await deed
    except (TiptraceError, Killed) as ended:
        return ended
    except BaseExceptionGroup as group:
        killed, others = group.split(Killed)
        if killed is None or others is not None:
            raise
        return Killed()


async def _work(stores: Stores, message: JobMessage, *, stopping: bool) -> str | None:
    lease = await claim(stores, message)
    if lease is None:
        return None
    stopped = asyncio.Event()
    if stopping:
        stopped.set()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(FenceLost):
        return await run_job.run(stores, lease, Workplace(ScriptedEngine(chunk=4), Path(folder), stopped))
    return "lost"
