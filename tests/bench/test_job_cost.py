"""What a whole job costs, from its claim to its publish: frames per second, database calls and S3 requests.

    pytest -m bench tests/bench/test_job_cost.py -s

One worker slot, one process for the engine, the emulator on the same machine. The first job warms everything up; the
median of the next ones counts. Figures are printed; the assertions are the promises that hold on any machine.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from service.cli.trace_run import Run
from service.local.emulator import Emulator
from service.metrics import REGISTRY
from tests.support.workshop import SHARED, Workshop, open_workshop
from tracer.media import open_movie

pytestmark = pytest.mark.bench
MOVIE = SHARED / "plants" / "circumnutation_2019-07-12.mp4"
ROUNDS = 5
POINTS: list[dict[str, Any]] = [
    {"label": "Apex", "x": 279.0, "y": 312.0},
    {"label": "Ruler 0mm", "x": 477.0, "y": 234.0},
    {"label": "Ruler 10mm", "x": 479.0, "y": 282.0},
]


class Calls:
    """Counts the requests of a client by operation."""

    def __init__(self, client: Any) -> None:
        self.made: Counter[str] = Counter()
        client.meta.events.register("before-call", self._note)

    def _note(self, model: Any, **_: Any) -> None:
        self.made[model.name] += 1


def decoding_alone(path: Path) -> float:
    """Seconds for decoding and resizing to the tracking size, nothing else."""
    started = time.perf_counter()
    with open_movie(path) as movie:
        for frame in movie.frames():
            frame.gray()
    return time.perf_counter() - started


def tracing_alone(folder: Path) -> float:
    """Seconds that the tracer itself takes for the same trace and its labelled movie, without any service.

    It takes pixels of the source, which is half as large as the analysis frame.
    """
    started = time.perf_counter()
    Run(MOVIE, [(p["label"], p["x"] / 2, p["y"] / 2) for p in POINTS], 0, None, 0).follow(folder / "labelled.mp4")
    return time.perf_counter() - started


@pytest.mark.skipif(not MOVIE.exists(), reason="the real movies do not lie beside this repository")
async def test_a_whole_job(emulator: Emulator, tmp_path: Path) -> None:
    decoding_alone(MOVIE)
    alone = statistics.median(decoding_alone(MOVIE) for _ in range(ROUNDS))
    tracing_alone(tmp_path)
    own = statistics.median(tracing_alone(tmp_path) for _ in range(ROUNDS))
    async with open_workshop(emulator.endpoint) as workshop:
        body = MOVIE.read_bytes()
        seconds, database, storage = [], Counter[str](), Counter[str]()
        for n in range(ROUNDS + 1):
            movie = await workshop.upload(body)
            lease = await workshop.place(movie, POINTS)
            counted, stored = Calls(workshop.stores.database.client), Calls(workshop.stores.objects.client)
            seconds.append(await _one_job(workshop, movie.movie_id, lease))
            database, storage = counted.made, stored.made
            if n == 0:
                seconds.clear()
    took, frames = statistics.median(seconds), movie.total_frames
    # Not the job's: the submit, this test's polling (of the reads one is the job's) and the sweeper's four queries.
    calls = database["TransactWriteItems"] - 1 + database["UpdateItem"] + 1 + database["Query"] % 4
    print(
        f"\nwhole job: {frames / took:.0f} frames/s"
        f" ({took:.2f} s for {frames}; {min(seconds):.2f} to {max(seconds):.2f})"
        f"\n  stages, seconds on average: {_stages()}"
        f"\n  decoding alone {alone:.2f} s: the job takes {took / alone:.1f} x"
        f"\n  the tracer by itself, labelled movie included, {own:.2f} s: the job takes {took / own:.2f} x"
        f"\n  database calls {dict(database)}: {calls / frames:.3f} calls per frame"
        f"\n  S3 requests {dict(storage)}"
    )
    assert calls / frames <= 0.05
    assert sum(storage.values()) <= 3 * 3
    assert took / own <= 1.3


async def _one_job(workshop: Workshop, movie_id: str, lease: str) -> float:
    """Seconds from its claim to the end of its publishing, as the worker itself measures them."""
    movie = await workshop.stores.movies.get(movie_id)
    assert movie
    before = _measured()
    await workshop.submit(movie, lease)
    ended = await workshop.settled(movie_id)
    assert ended.status == "tracing completed", ended.row.get("tracing_failure_summary")
    async with asyncio.timeout(10):
        while _measured() == before:  # noqa: ASYNC110  what follows the publish: former artifacts are removed
            await asyncio.sleep(0.01)
    return _measured() - before


def _stages() -> dict[str, float]:
    """Mean seconds of each stage over all jobs of this process."""
    found = {}
    for stage in ("fetch", "clear", "trace", "store", "publish"):
        count = REGISTRY.get_sample_value("tiptrace_stage_seconds_count", {"stage": stage}) or 1.0
        total = REGISTRY.get_sample_value("tiptrace_stage_seconds_sum", {"stage": stage}) or 0.0
        found[stage] = round(total / count, 3)
    return found


def _measured() -> float:
    told = {"kind": "trace", "outcome": "completed"}
    return REGISTRY.get_sample_value("tiptrace_job_seconds_sum", told) or 0.0
