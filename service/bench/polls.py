"""Pages that poll their movies over HTTP: the load itself, in a process of its own.

In a closed loop every page asks again as soon as it has its answer, or `interval` seconds after it. In an open one
questions come by a schedule of their own, `rate` a second, whether or not earlier ones have been answered; each is
timed from the moment at which it should have been asked.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from service.bench.apart import main, tell_ends
from service.bench.histogram import Histogram
from service.bench.pace import at_rate, closed
from service.bench.session import LONGEST_REST, Session
from service.bench.sightings import LATE_SECONDS, Sightings
from service.bench.wire import Client, Reply, Unanswered, get

ROUTE = "/api/get-movie-metadata"
_EDIT = re.compile(rb'"edit_seq":(\d+)')


@dataclass(frozen=True, slots=True)
class Load:
    """Who polls what and how.

    `pages`: API key and movie of each. `editor`: key of somebody who may edit, and edits `edits` times a second, each
    movie in turn. `query`: what is asked besides the movie's id. `tags`: show the tag of the last answer.
    `late_seconds`: how much later than its acknowledgement an edit may be seen. Of `ramp` seconds pages come in during
    the first half, and nothing that is asked in them is counted; what is asked in the `seconds` after them is.
    """

    url: str
    pages: Sequence[tuple[str, str]]
    editor: str
    seconds: float
    ramp: float
    rate: float | None = None
    interval: float | None = None
    edits: float = 1.0
    query: str = ""
    tags: bool = True
    late_seconds: float = LATE_SECONDS
    seed: int = 1

    @property
    def movies(self) -> list[str]:
        return sorted({movie for _, movie in self.pages})


class Count:
    """What came of the questions that were asked while it was measured, and of all edits."""

    def __init__(self, load: Load, begin: float, end: float) -> None:
        self._begin, self._end, self._interval = begin, end, load.interval
        self.seen = Sightings(load.late_seconds)
        self.took, self.corrected = Histogram(), Histogram()
        self.answers = Counter[str]()
        self.edits = Counter[str]()
        self.bytes = 0

    def note(self, what: str, due: float, done: float, size: int = 0) -> None:
        if not self._begin <= due < self._end:
            return
        self.answers[what] += 1
        self.bytes += size
        self.took.record(done - due)
        if self._interval:
            self.corrected.record_corrected(done - due, self._interval)


class Page:
    """One page with its movie, its connection and the tag of its last answer: one question at a time."""

    def __init__(self, number: int, load: Load, count: Count) -> None:
        key, self.movie = load.pages[number]
        self._number, self._count, self._tags = number, count, load.tags
        self._client = Client(load.url)
        self._target = f"{ROUTE}?movie_id={self.movie}{load.query}"
        self._headers = f"Cookie: api_key={key}\r\nX-Client-Version: bench-1\r\n".encode()
        self._tag: bytes | None = None
        self._request = get(self._client.host, self._target, self._headers)
        self.due = asyncio.Queue[float]()

    async def turn(self, due: float) -> float:
        """Ask once."""
        asked = time.monotonic()
        try:
            reply = await self._client.ask(self._request)
        except Unanswered as fault:
            self._count.note(f"unanswered, {fault}", due, time.monotonic())
            return 1.0
        self._count.note(str(reply.status), due, time.monotonic(), len(reply.head) + len(reply.body))
        if reply.status in (200, 304):
            self._look(reply, asked)
            return 0.0
        return min(LONGEST_REST, float(reply.header(b"retry-after") or 1))

    def _look(self, reply: Reply, asked: float) -> None:
        tag = reply.header(b"etag")
        if reply.status == 304:
            self._count.seen.unchanged(self._number, self.movie, asked, self._tag, tag)
            return
        found = _EDIT.search(reply.body)
        self._count.seen.shown(self._number, self.movie, asked, self._tag, tag, int(found[1]) if found else -1)
        if self._tags and tag is not None and tag != self._tag:
            self._tag = tag
            self._request = get(self._client.host, self._target, self._headers + b"If-None-Match: %s\r\n" % tag)


class Editor:
    """Changes each movie in turn, so that there is something to be shown."""

    def __init__(self, load: Load, count: Count) -> None:
        self._load, self._count = load, count
        self._session = Session(load.url, load.editor)
        self._leases: dict[str, str] = {}

    async def run(self, end: float) -> None:
        for number, movie in enumerate(_rounds(self._load.movies), start=1):
            await asyncio.sleep(1 / self._load.edits)
            if time.monotonic() >= end:
                return
            self._count.edits[await self._edit(movie, number)] += 1

    async def _edit(self, movie: str, number: int) -> str:
        """What came of it."""
        if movie not in self._leases:
            taken = await self._session.post("/api/acquire-movie-analysis-lease", movie_id=movie, take_over=1)
            self._leases[movie] = taken.told.get("lease_id") or ""
        lease, fpm = self._leases[movie], f"{1 + number / 1e6:.8g}"
        told = await self._session.post("/api/set-movie-fpm", movie_id=movie, analysis_lease_id=lease, fpm=fpm)
        if told.accepted:
            self._count.seen.edited(movie, told.told["metadata"]["edit_seq"], told.end)
            return "acknowledged"
        del self._leases[movie]
        return "refused" if told.fault is None else "failed"


def _rounds(movies: Sequence[str]) -> Any:
    while movies:
        yield from movies


async def run(load: Load) -> dict[str, Any]:
    """Put the load on, to its end; what was found."""
    start = time.monotonic()
    begin, end = start + load.ramp, start + load.ramp + load.seconds
    count = Count(load, begin, end)
    pages = [Page(number, load, count) for number in range(len(load.pages))]
    used: list[float] = []
    tasks: list[Coroutine[Any, Any, None]] = [tell_ends(begin, end, used)]
    if load.edits > 0:
        tasks.append(Editor(load, count).run(end))
    if load.rate is None:
        arrivals = [start + load.ramp / 2 * number / len(pages) for number in range(len(pages))]
        tasks += [closed(page, at, end, load.interval) for page, at in zip(pages, arrivals, strict=True)]
    else:
        tasks.append(_schedule(pages, load, start, end, count))
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(task)
    seen = count.seen
    return {
        "answers": dict(sorted(count.answers.items())),
        "edits": dict(count.edits),
        "bytes_per_answer": round(count.bytes / max(1, count.took.count)),
        "needless": seen.needless,
        "latest_seconds": round(seen.latest, 3),
        "broken": seen.broken,
        "violations": seen.violations,
        "processor_seconds": used[1] - used[0],
        "took": count.took.told(),
        "corrected": count.corrected.told(),
    }


async def _schedule(pages: Sequence[Page], load: Load, start: float, end: float, count: Count) -> None:
    assert load.rate is not None
    for due in await at_rate(pages, load.rate, start, load.ramp, end, load.seed):
        count.note("unanswered, never asked", due, time.monotonic())


if __name__ == "__main__":
    main(lambda told: run(Load(**told)))
