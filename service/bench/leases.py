"""Pages that take, renew and give back the editing leases of movies over HTTP, and place a marker in between.

Every operation is told to the checker; what the movies hold afterwards is read over HTTP too.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections import Counter, deque
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.bench.apart import main, tell_ends
from service.bench.histogram import Histogram
from service.bench.history import Final, Kind, Operation, Record
from service.bench.machine import peak_megabytes
from service.bench.pace import at_rate, closed
from service.bench.session import Answer, Session
from service.bench.wire import Unanswered

ACQUIRE, HEARTBEAT, EDIT, RELEASE = ROUTES = (
    "/api/acquire-movie-analysis-lease",
    "/api/heartbeat-movie-analysis-lease",
    "/api/put-frame-trackpoints",
    "/api/release-movie-analysis-lease",
)
_KEPT_STALE = 3


@dataclass(frozen=True, slots=True)
class Mix:
    """What clients do, as shares: of acquires that `take_over`, of leases that are left behind (`leave`) as by a closed
    laptop. `roam`: every cycle is on another movie; else each client keeps to one. Who left a lease behind comes back
    to it later and tries what it allows.
    """

    take_over: float = 0.0
    leave: float = 0.0
    roam: bool = True


MIXES: Mapping[str, Mix] = {
    "plain": Mix(roam=False),
    "stale": Mix(leave=0.25, take_over=0.01),
    "takeover": Mix(take_over=0.05, leave=0.03),
}


@dataclass(frozen=True, slots=True)
class Contest:
    """Who takes part (API keys of people who may edit), over which movies, how, and how long; see polls.Load.

    `edits`: the share of leases under which a marker is placed.
    """

    url: str
    keys: Sequence[str]
    movies: Sequence[str]
    mix: str
    seconds: float
    ramp: float
    rate: float | None = None
    edits: float = 1.0
    seed: int = 1


class Count:
    """Latencies by operation of what was asked while it was measured; the whole history for the checker."""

    def __init__(self, begin: float, end: float) -> None:
        self._begin, self._end = begin, end
        self.record = Record()
        self.took: dict[str, Histogram] = {}
        self.errors = Counter[str]()

    def note(self, operation: Operation, due: float, fault: str | None) -> None:
        self.record.note(operation)
        if not self._begin <= due < self._end:
            return
        if fault is not None:
            self.errors[f"{operation.kind}: {fault}"] += 1
        name = operation.kind if operation.accepted else f"{operation.kind}, {'refused' if fault is None else 'failed'}"
        self.took.setdefault(name, Histogram()).record(operation.end - due)


class Page:
    """One cycle after the other: acquire, and if it was granted heartbeat, edit, release."""

    def __init__(self, number: int, contest: Contest, count: Count) -> None:
        self._number, self._contest, self._count = number, contest, count
        self._mix = MIXES[contest.mix]
        self._session = Session(contest.url, contest.keys[number])
        self._chance = random.Random(f"{contest.seed}-{number}")  # nosec B311  # noqa: S311  repeatable, not secret
        self._written = 0
        self._stale: deque[tuple[str, str]] = deque(maxlen=_KEPT_STALE)
        self._rest = 0.0
        self.due = asyncio.Queue[float]()

    async def turn(self, due: float) -> float:
        self._rest = 0.0
        movies = self._contest.movies
        movie = self._chance.choice(movies) if self._mix.roam else movies[self._number % len(movies)]
        lease = await self._acquire(movie, due)
        if lease:
            await self._heartbeat(movie, lease)
            if self._chance.random() < self._contest.edits:
                await self._write(movie, lease)
            if self._chance.random() < self._mix.leave:
                self._stale.append((movie, lease))
            else:
                await self._release(movie, lease)
        if self._stale and self._chance.random() < 0.3:
            movie, lease = self._stale.popleft()
            await self._heartbeat(movie, lease)
            await self._write(movie, lease)
            await self._release(movie, lease)
        return self._rest

    async def _acquire(self, movie: str, due: float) -> str | None:
        kind: Kind = "take over" if self._chance.random() < self._mix.take_over else "acquire"
        fields = {"take_over": 1} if kind == "take over" else {}
        answer = await self._ask(ACQUIRE, movie, lease_request_key=uuid.uuid4().hex, **fields)
        lease: str | None = answer.told.get("lease_id")
        expires = answer.expires(answer.told.get("analysis_lock") or {})
        self._note(kind, movie, answer, bool(lease), due, lease=lease, expires=expires)
        return lease

    async def _heartbeat(self, movie: str, lease: str) -> None:
        answer = await self._ask(HEARTBEAT, movie, analysis_lease_id=lease)
        active = bool(answer.told.get("active"))
        self._note("heartbeat", movie, answer, active, lease=lease, expires=answer.expires())

    async def _write(self, movie: str, lease: str) -> None:
        self._written += 1
        x, y = float(self._number), self._written / 10
        points = json.dumps([{"label": "Apex", "x": x, "y": y}])
        answer = await self._ask(EDIT, movie, frame_number=0, trackpoints=points, analysis_lease_id=lease)
        seq = answer.told["metadata"]["edit_seq"] if answer.accepted else 0
        self._note("write", movie, answer, answer.accepted, lease=lease, edit_seq=seq, value=_value(x, y))

    async def _release(self, movie: str, lease: str) -> None:
        answer = await self._ask(RELEASE, movie, analysis_lease_id=lease)
        self._note("release", movie, answer, bool(answer.told.get("released")), lease=lease)

    async def _ask(self, route: str, movie: str, **fields: Any) -> Answer:
        answer = await self._session.post(route, movie_id=movie, **fields)
        self._rest = max(self._rest, answer.rest)
        return answer

    def _note(
        self, kind: Kind, movie: str, answer: Answer, accepted: bool, due: float | None = None, **more: Any
    ) -> None:
        answered = answer.fault is None
        operation = Operation(kind, self._number, movie, answer.start, answer.end, accepted, answered=answered, **more)
        self._count.note(operation, answer.start if due is None else due, answer.fault)


def _value(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}"


async def run(contest: Contest) -> dict[str, Any]:
    """Put the load on, to its end, then look at the movies; what was found."""
    start = time.monotonic()
    begin, end = start + contest.ramp, start + contest.ramp + contest.seconds
    count = Count(begin, end)
    pages = [Page(number, contest, count) for number in range(len(contest.keys))]
    used: list[float] = []
    never: list[float] = []
    tasks: list[Coroutine[Any, Any, None]] = [tell_ends(begin, end, used)]
    if contest.rate is None:
        arrivals = [start + contest.ramp / 2 * number / len(pages) for number in range(len(pages))]
        tasks += [closed(page, at, end) for page, at in zip(pages, arrivals, strict=True)]
    else:
        tasks.append(_schedule(pages, contest, start, end, never))
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(task)
    violations = count.record.close(await finals(contest))
    return {
        "operations": {name: took.told() for name, took in sorted(count.took.items())},
        "errors": dict(count.errors) | ({"never begun": len(never)} if never else {}),
        "broken": count.record.broken,
        "violations": violations,
        "processor_seconds": used[1] - used[0],
        "peak_megabytes": peak_megabytes(),
    }


async def _schedule(pages: Sequence[Page], contest: Contest, start: float, end: float, never: list[float]) -> None:
    assert contest.rate is not None
    never += await at_rate(pages, contest.rate, start, contest.ramp, end, contest.seed)


async def finals(contest: Contest) -> dict[str, Final]:
    """The movies as they stand, once replicas have had a second to catch up. Raises Unanswered."""
    await asyncio.sleep(1.0)
    session, found = Session(contest.url, contest.keys[0]), {}
    for movie in contest.movies:
        answer = await session.get(f"/api/get-movie-metadata?movie_id={movie}&frame_start=0&frame_count=1")
        if not answer.accepted:
            raise Unanswered(answer.fault or f"status {answer.status}")
        told = answer.told
        frame = told["frames"].get("0", {})
        placed = [] if frame.get("untouched") else frame.get("markers", [])
        value = _value(placed[0]["x"], placed[0]["y"]) if placed else None
        found[movie] = Final(told["metadata"]["edit_seq"], value)
    session.close()
    return found


if __name__ == "__main__":
    main(lambda told: run(Contest(**told)))
