"""Pages and jobs one by one, against the arithmetic of service/bench/capacity.py.

    pytest -m bench tests/bench/test_capacity_simulation.py -s

Classes that open one movie at the start of a lesson, intervals with jitter, answers that fail and are asked for again
with growing pauses; a queue with so many workers. Time is simulated, and the same seed gives the same lesson.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from service.bench.capacity import HABITS, MEASURED, PARTITION_READS, PARTITION_WRITES, demand, limits, rates

pytestmark = pytest.mark.bench
LESSON = 600
CLASS = 30
ARRIVE = 20.0
"""Seconds within which a class comes in."""
JITTER = 0.1
FAILS = 0.01


@dataclass
class Seen:
    """Units of each second by partition, and deeds by name."""

    reads: Counter[tuple[str, int]] = field(default_factory=Counter)
    writes: Counter[tuple[str, int]] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    repeated: int = 0

    def peak(self, counted: Counter[tuple[str, int]], kind: str) -> float:
        return max((units for (where, _), units in counted.items() if where.startswith(kind)), default=0)


def lesson(
    pages: int, *, one_movie: bool, shared: float = 0.0, size: int = CLASS, seconds: float = LESSON, seed: int = 1
) -> Seen:
    """Every page's deeds over a lesson. `one_movie`: each class looks at one movie of its teacher's, else everybody has
    his own. `shared`: seconds of one read, which all that ask meanwhile share (0: none)."""
    chance, seen = random.Random(seed), Seen()
    deeds: list[tuple[float, int, str, int]] = []
    every = {"heartbeat": HABITS.heartbeat_every, "edit": HABITS.edit_every, "view": HABITS.view_every,
             "trace": HABITS.trace_every}  # fmt: skip
    for page in range(pages):
        share = (page % 10) / 10
        kinds = ["heartbeat", "edit"] if share < HABITS.editing else ["view"]
        kinds = ["trace"] if share >= HABITS.editing + HABITS.viewing - 1e-9 else kinds
        for kind in kinds:
            heapq.heappush(deeds, (chance.uniform(0, ARRIVE), page, kind, 0))
    last_read: dict[str, float] = {}
    while deeds:
        at, page, kind, failed = heapq.heappop(deeds)
        if at >= seconds + ARRIVE:
            continue
        second, number = int(at), page // size
        movie = f"movie {number}" if one_movie else f"movie {number}-{page}"
        if kind in ("view", "trace"):
            if at - last_read.get(movie, -1.0) >= shared:
                last_read[movie] = at
                seen.reads[movie, second] += MEASURED.poll.read
        else:
            done = MEASURED.heartbeat if kind == "heartbeat" else MEASURED.edit
            seen.writes[movie, second] += MEASURED.heartbeat.write
            seen.writes[f"frames of {movie}", second] += done.write - MEASURED.heartbeat.write
            # Two indexes hold the row, one of them by course.
            seen.writes[f"course {number // 10}", second] += done.index / 2
        if at >= ARRIVE:
            seen.deeds["polls" if kind in ("view", "trace") else f"{kind}s"] += 1
        if chance.random() < FAILS:
            seen.repeated += 1
            pause = 2 ** min(failed, 6) * chance.uniform(0.5, 1)
            heapq.heappush(deeds, (at + pause, page, kind, failed + 1))
        else:
            heapq.heappush(deeds, (at + every[kind] * chance.uniform(1 - JITTER, 1 + JITTER), page, kind, 0))
    return seen


def waits(jobs: int, workers: int, within: float, seed: int = 1) -> list[float]:
    """Seconds that each of so many jobs waits, all asked for within so many seconds."""
    chance = random.Random(seed)
    free = [0.0] * workers
    told = []
    for asked in sorted(chance.uniform(0, within) for _ in range(jobs)):
        begins = max(asked, heapq.heappop(free))
        heapq.heappush(free, begins + MEASURED.trace.processor_seconds * chance.uniform(0.8, 1.2))
        told.append(begins - asked)
    return sorted(told)


@pytest.mark.parametrize("pages", [10, 1000, 5000])
def test_means_are_those_of_the_arithmetic(pages: int) -> None:
    seen, said = lesson(pages, one_movie=False), rates(pages, 0)
    for name in ("polls", "heartbeats", "edits"):
        measured = seen.deeds[name] / LESSON
        print(f"{pages} pages: {measured:.2f} {name} a second, {said[name]:.2f} by arithmetic")
        assert measured == pytest.approx(said[name], rel=0.1 if pages <= 10 else 0.03)
    assert pages <= 10 or seen.repeated > 0


def test_no_partition_is_near_its_end_when_classes_begin() -> None:
    """A thousand pages of which each class opens one movie: the hottest row, its frames, and the hottest course."""
    seen = lesson(1000, one_movie=True)
    row, frames = seen.peak(seen.writes, "movie"), seen.peak(seen.writes, "frames")
    course, reads = seen.peak(seen.writes, "course"), seen.peak(seen.reads, "movie")
    print(f"peak a second: row {row:.0f} and frames {frames:.0f} and course {course:.0f} written, row {reads:.1f} read")
    assert max(row, frames, course) < PARTITION_WRITES / 10
    assert reads < PARTITION_READS / 10


def test_a_whole_faculty_on_one_movie_reads_it_as_often_as_one_read_takes_and_no_more() -> None:
    """20,000 watchers of one movie: without sharing they would be beyond the partition, with it they are not."""
    everybody: dict[str, Any] = {"one_movie": True, "size": 20_000, "seconds": 60}
    alone, together = lesson(20_000, **everybody), lesson(20_000, shared=0.005, **everybody)
    peak, shared = alone.peak(alone.reads, "movie"), together.peak(together.reads, "movie")
    by_arithmetic = rates(20_000, 0)["polls"] * MEASURED.poll.read
    print(f"one movie, 20,000 pages: {peak:.0f} read units a second, {shared:.0f} with reads shared;"
          f" {by_arithmetic:.0f} on average by arithmetic, of {PARTITION_READS}")  # fmt: skip
    assert peak == pytest.approx(by_arithmetic, rel=0.25)
    assert shared <= MEASURED.poll.read / 0.005 + 1


@pytest.mark.parametrize(("workers", "most"), [(10, 75.0), (50, 18.0), (200, 6.0)])
def test_a_lecture_of_two_hundred_waits_as_long_as_its_workers_are_few(workers: int, most: float) -> None:
    """Two hundred traces asked for within ten seconds."""
    told = waits(200, workers, 10.0)
    last = max(0.0, 200 / workers * MEASURED.trace.processor_seconds - 10.0)
    print(
        f"200 jobs, {workers} workers: half wait {told[100]:.1f} s, the last {told[-1]:.1f} s; {last:.1f} by arithmetic"
    )
    assert told[-1] <= most
    assert told[-1] == pytest.approx(last, abs=5)


def test_the_arithmetic_grows_in_proportion() -> None:
    """Ten times the pages and jobs need ten times as much, so that the table in the documents can be read between."""
    small, large = demand(1000, 100), demand(10_000, 1000)
    for name in ("requests", "calls", "read_units", "write_units", "storage_requests"):
        assert large[name] == pytest.approx(10 * small[name])
    assert limits()["jobs"] < 1000 < limits()["one_course"]
