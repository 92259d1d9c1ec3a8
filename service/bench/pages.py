"""Open Analyze pages at the pace of real ones: some edit, some look on, some wait for a trace.

An editing page renews its lease each minute, or three times in the life of a shorter one. One that looks on reads the
movie every ten seconds, one that waits for a trace every second, from the frame on that it has not seen; when its trace
has ended it takes its lease again and edits.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from service.bench.apart import main, tell_ends
from service.bench.histogram import Histogram
from service.bench.history import Kind, Operation, Record
from service.bench.pace import until
from service.bench.session import Answer, Session
from service.domain.policy import PAGE_BEAT_SECONDS

READ = "/api/get-movie-metadata"
TRACED = "tracing completed"
_FRAMES = 300
_PULSE, _LOOK, _WAIT = float(PAGE_BEAT_SECONDS), 10.0, 1.0
_SHORTEST_PULSE = 2.0


@dataclass(frozen=True, slots=True)
class Class:
    """API key and movie of each page, by kind. They open in the first half of `ramp`; the `seconds` after it count."""

    url: str
    editing: Sequence[tuple[str, str]]
    viewing: Sequence[tuple[str, str]]
    waiting: Sequence[tuple[str, str]]
    seconds: float
    ramp: float
    seed: int = 1


class Count:
    """Latencies from the moment at which a page's timer rang; what failed; what was promised to the pages' leases."""

    def __init__(self, begin: float, end: float) -> None:
        self.end = end
        self._begin = begin
        self.took: dict[str, Histogram] = {}
        self.errors = Counter[str]()
        self.record = Record()
        self.lost = 0
        self.traced = 0

    def note(self, what: str, due: float, answer: Answer) -> None:
        if not answer.accepted:
            self.errors[f"{what}: {answer.fault or answer.told.get('code')}"] += 1
        if self._begin <= due < self.end:
            self.took.setdefault(what, Histogram()).record(answer.end - due)


class Page:
    """One open page."""

    def __init__(self, number: int, url: str, key: str, movie: str, count: Count) -> None:
        self._number, self._movie, self._count = number, movie, count
        self._session = Session(url, key)
        self._tags: dict[str, bytes | None] = {}
        self._pulse = _PULSE

    async def edit(self, opens: float) -> None:
        await self._open(opens)
        await self._keep()

    async def view(self, opens: float) -> None:
        due = await self._open(opens)
        while (due := due + _LOOK) < self._count.end:
            await until(due)
            due = (await self._read("look", due, 0)).end

    async def wait(self, opens: float) -> None:
        await self._open(opens)
        lease = await self._acquire()
        if lease is None:
            return
        fields = {
            "movie_id": self._movie,
            "frame_start": 0,
            "analysis_lease_id": lease,
            "request_key": uuid.uuid4().hex,
        }
        asked = await self._session.post("/resize-api/v1/trace-movie", **fields)
        self._count.note("trace", asked.start, asked)
        if asked.accepted and await self._follow(asked.end):
            self._count.traced += 1
            await self._read("open", time.monotonic(), 0)
            await self._keep()

    async def _open(self, opens: float) -> float:
        await until(opens)
        return (await self._read("open", opens, 0)).end

    async def _follow(self, due: float) -> bool:
        """Poll to the end of the trace; False if the time is over before."""
        seen = 0
        while (due := due + _WAIT) < self._count.end:
            await until(due)
            answer = await self._read("wait", due, seen)
            due = answer.end + answer.rest
            told = answer.told.get("metadata")
            if told and not told.get("tracking_lock") and not told.get("resuming"):
                if told["status"] != TRACED:
                    self._count.errors[f"trace: {told.get('tracing_failure_summary') or told['status']}"] += 1
                return True
            if told:
                seen = max(seen, int((told.get("tracking_lock") or {}).get("last_frame_tracked", 0)))
        return False

    async def _read(self, what: str, due: float, first: int) -> Answer:
        """As a browser does: an address that was asked before is asked for with the tag of its last answer."""
        target = f"{READ}?movie_id={self._movie}&frame_start={first}&frame_count={_FRAMES}"
        answer = await self._session.get(target, self._tags.get(target))
        self._count.note(what, due, answer)
        if answer.status == 200:
            self._tags = {target: answer.tag}
        return answer

    async def _keep(self) -> None:
        """Edit to the end. A lease that was lost is asked for again."""
        while lease := await self._acquire():
            if not await self._loses(lease):
                return

    async def _loses(self, lease: str) -> bool:
        """Renew the lease until it is lost, or the time is over."""
        while (due := time.monotonic() + self._pulse) < self._count.end:
            await until(due)
            answer = await self._session.post(
                "/api/heartbeat-movie-analysis-lease", movie_id=self._movie, analysis_lease_id=lease
            )
            active = bool(answer.told.get("active"))
            self._note("heartbeat", answer, active, lease, answer.expires())
            self._count.note("heartbeat", due, answer)
            if answer.fault is None and not active:
                self._count.lost += 1
                return True
        return False

    async def _acquire(self) -> str | None:
        answer = await self._session.post(
            "/api/acquire-movie-analysis-lease", movie_id=self._movie, lease_request_key=uuid.uuid4().hex, take_over=1
        )
        self._count.note("acquire", answer.start, answer)
        lease: str | None = answer.told.get("lease_id")
        lock = answer.told.get("analysis_lock") or {}
        expires = answer.expires(lock)
        self._pulse = min(_PULSE, max(_SHORTEST_PULSE, (expires - answer.end) / 3))
        self._note("take over", answer, bool(lease), lease, expires)
        if answer.accepted and not lease:
            self._count.errors[f"acquire: {answer.told.get('message')}"] += 1
        return lease

    def _note(self, kind: Kind, answer: Answer, accepted: bool, lease: str | None, expires: float) -> None:
        answered = answer.fault is None
        self._count.record.note(
            Operation(
                kind,
                self._number,
                self._movie,
                answer.start,
                answer.end,
                accepted,
                lease=lease,
                expires=expires,
                answered=answered,
            )
        )


async def run(whole: Class) -> dict[str, Any]:
    """Open every page at a random moment and keep it open to the end; what was found."""
    start = time.monotonic()
    begin, end = start + whole.ramp, start + whole.ramp + whole.seconds
    count = Count(begin, end)
    chance = random.Random(whole.seed)  # nosec B311  # noqa: S311  repeatable, not secret
    used: list[float] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(tell_ends(begin, end, used))
        number = 0
        for kind, pages in ((Page.edit, whole.editing), (Page.view, whole.viewing), (Page.wait, whole.waiting)):
            for key, movie in pages:
                page = Page(number, whole.url, key, movie, count)
                group.create_task(kind(page, start + chance.uniform(0, whole.ramp / 2)))
                number += 1
    return {
        "operations": {name: took.told() for name, took in sorted(count.took.items())},
        "errors": dict(count.errors),
        "leases_lost": count.lost,
        "traced": count.traced,
        "violations": count.record.close({}),
        "broken": count.record.broken,
        "processor_seconds": used[1] - used[0],
    }


if __name__ == "__main__":
    main(lambda told: run(Class(**told)))
