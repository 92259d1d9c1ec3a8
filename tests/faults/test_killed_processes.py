"""Real processes that die, sleep and come back, under real leases of a few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import psutil
import pytest
import pytest_asyncio

from service.domain.movie import Movie
from service.local.emulator import Emulator
from service.store.table import Item
from service.usecases.analysis_lease import acquire
from tests.support import uploads
from tests.support.worker_process import WorkerProcess
from tests.support.workshop import Workshop, open_workshop

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]
FRAMES = 250
MOVIE = uploads.mp4(FRAMES)
POINTS = [
    {"label": "Apex", "x": 43.0, "y": 415.0},
    {"label": "Ruler 0mm", "x": 301.0, "y": 201.0},
    {"label": "Ruler 10mm", "x": 401.0, "y": 101.0},
]
SHORT = {"lease_seconds": 4, "heartbeat_seconds": 1, "sweep_seconds": 0.5, "max_attempts": 3}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workshop(emulator: Emulator) -> AsyncIterator[Workshop]:
    async with open_workshop(emulator.endpoint, slots=0, **SHORT) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def movie(workshop: Workshop, emulator: Emulator) -> AsyncIterator[Movie]:
    async with worker(workshop, emulator) as process:
        inspected = await workshop.upload(MOVIE)
        assert 'tiptrace_jobs_ended_total{kind="inspect",result="completed"} 1.0' in process.metrics()
    yield inspected


@asynccontextmanager
async def worker(workshop: Workshop, emulator: Emulator, **changed: Any) -> AsyncIterator[WorkerProcess]:
    process = WorkerProcess(emulator.endpoint, workshop.settings, **changed)
    try:
        yield process
    except BaseException:
        print("the worker's last words:", *process.lines()[-8:], sep="\n")
        raise
    finally:
        await process.end()


async def started(workshop: Workshop, movie: Movie) -> str:
    """Submit a trace; returns its job id."""
    submitted = await workshop.submit(movie, await workshop.place(movie, POINTS))
    return submitted.receipt.job_id


async def under_way(workshop: Workshop, movie: Movie, frame: int = 1) -> None:
    """Wait until the job has stored frames up to `frame`, and is not yet done."""
    async with asyncio.timeout(120):
        while True:
            now = await workshop.stores.movies.get(movie.movie_id)
            assert now
            assert now.tracing, "the job ended too early for this test"
            if now.tracing.state == "running" and int(now.row["last_frame_tracked"]) >= frame:
                return
            await asyncio.sleep(0.02)


async def events_of(workshop: Workshop, movie: Movie, job_id: str) -> Counter[str]:
    trail = workshop.stores.audit.of("movie_id", movie.movie_id)
    return Counter([event["event_type"] async for event in trail if event.get("trace_job_id") == job_id])


async def request_key_of(workshop: Workshop, movie: Movie, job_id: str) -> str:
    """As the audit trail tells it; the log must join the same two."""
    trail = workshop.stores.audit.of("movie_id", movie.movie_id)
    (started,) = [e async for e in trail if (e["event_type"], e["trace_job_id"]) == ("movie.tracing.started", job_id)]
    key: str = started["request_key"]
    return key


async def frames_of(workshop: Workshop, movie: Movie) -> dict[int, Item]:
    span = workshop.stores.frames.span(movie.movie_id, 0, FRAMES, consistent=True)
    return {item["frame_number"]: item async for item in span}


def places(frames: dict[int, Item]) -> np.ndarray:
    return np.array([[(p["x"], p["y"]) for p in frames[n]["trackpoints"]] for n in sorted(frames)])


async def assert_ended_well(workshop: Workshop, movie: Movie, job_id: str) -> dict[int, Item]:
    """Completed by this job alone: all frames are its own, one end is told, the movie is free."""
    ended = await workshop.settled(movie.movie_id, 200)
    assert ended.status == "tracing completed", ended.row.get("tracing_failure_summary")
    assert ended.row["results_job_id"] == job_id
    frames = await frames_of(workshop, movie)
    assert sorted(frames) == list(range(FRAMES))
    assert {item["job_id"] for item in frames.values()} == {job_id}
    told = await events_of(workshop, movie, job_id)
    assert told == {"movie.tracing.started": 1, "movie.tracing.completed": 1}
    return frames


async def test_a_killed_workers_job_is_resumed_by_another_a04(
    workshop: Workshop, emulator: Emulator, movie: Movie
) -> None:
    async with worker(workshop, emulator) as first, worker(workshop, emulator) as second:
        await asyncio.gather(first.says("worker.started"), second.says("worker.started"))
        job_id = await started(workshop, movie)
        await under_way(workshop, movie)
        holder = first if any(line.get("event") == "job.claimed" for line in first.lines()) else second
        children = holder.engine_pids()
        await holder.end(signal.SIGKILL)
        await assert_ended_well(workshop, movie, job_id)
        await gone(children)


async def gone(pids: list[int]) -> None:
    """A killed worker leaves no child behind."""
    async with asyncio.timeout(10):
        while any(  # noqa: ASYNC110  the kernel gives no signal of it
            psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids
        ):
            await asyncio.sleep(0.05)


async def test_a_killed_pool_child_costs_an_attempt_and_the_next_job_works_c15(
    workshop: Workshop, emulator: Emulator, movie: Movie
) -> None:
    async with worker(workshop, emulator) as only:
        job_id = await started(workshop, movie)
        await under_way(workshop, movie)
        (child,) = only.engine_pids()
        os.kill(child, signal.SIGKILL)
        await assert_ended_well(workshop, movie, job_id)
        assert any(line.get("event") == "job.tried_again" for line in only.lines())
        next_job = await started(workshop, movie)
        await assert_ended_well(workshop, movie, next_job)


@pytest.mark.long
async def test_a_worker_that_slept_past_its_lease_writes_nothing_more_a14_c01(
    workshop: Workshop, emulator: Emulator, movie: Movie
) -> None:
    async with worker(workshop, emulator) as sleeper:
        await started(workshop, movie)
        await under_way(workshop, movie)
        for pid in (sleeper.pid, *sleeper.engine_pids()):
            os.kill(pid, signal.SIGSTOP)
        children = sleeper.engine_pids()
        await asyncio.sleep(SHORT["lease_seconds"] + 1)  # what passes here is the lease itself
        taken = await acquire(workshop.stores, workshop.student, movie.movie_id)
        assert taken.lease, taken.message
        async with worker(workshop, emulator):
            moved = [{**point, "x": point["x"] + 100} for point in POINTS]
            lease = await workshop.place(movie, moved)
            second = (await workshop.submit(movie, lease)).receipt.job_id
            frames = await assert_ended_well(workshop, movie, second)
        row = (await workshop.settled(movie.movie_id)).row
        for pid in (*children, sleeper.pid):
            os.kill(pid, signal.SIGCONT)
        await sleeper.says("job.lease_lost")
        assert await frames_of(workshop, movie) == frames
        assert (await workshop.settled(movie.movie_id)).row == row


async def test_sigterm_hands_the_job_back_and_another_goes_on_as_if_nothing_had_happened(
    workshop: Workshop, emulator: Emulator, movie: Movie
) -> None:
    async with worker(workshop, emulator):
        whole = places(await assert_ended_well(workshop, movie, await started(workshop, movie)))
    async with worker(workshop, emulator) as first:
        job_id = await started(workshop, movie)
        await under_way(workshop, movie)
        code = asyncio.create_task(first.end(signal.SIGTERM))
        async with worker(workshop, emulator) as second:
            await second.says("job.claimed")
            assert await code == 0
            frames = await assert_ended_well(workshop, movie, job_id)
            (end,) = [line for line in second.lines() if line.get("event") == "job.ended"]
            assert (end["job_id"], end["request_key"]) == (job_id, await request_key_of(workshop, movie, job_id))
    attempts = [frames[n]["attempt"] for n in range(FRAMES)]
    assert attempts == sorted(attempts), "a frame was traced twice"
    assert set(attempts) == {1, 2}
    row = (await workshop.settled(movie.movie_id)).row
    assert "tracing_failures" not in row
    assert np.abs(places(frames) - whole).max() <= 0.3


@pytest.mark.long
async def test_the_emulators_death_costs_a_pause(workshop: Workshop, emulator: Emulator, movie: Movie) -> None:
    async with worker(workshop, emulator):
        job_id = await started(workshop, movie)
        await under_way(workshop, movie)
        os.kill(emulator.pid, signal.SIGKILL)
        await assert_ended_well(workshop, movie, job_id)


@pytest.mark.long
@pytest.mark.timeout(3600)
async def test_a_hundred_kills_leave_no_movie_stuck_and_no_frames_mixed(workshop: Workshop, emulator: Emulator) -> None:
    """20 movies, 100 kills of workers and of their children at random moments."""
    chance = random.Random(11)
    crew = [WorkerProcess(emulator.endpoint, workshop.settings, max_attempts=1000) for _ in range(2)]
    try:
        body = uploads.mp4(300, 160, 120)
        movies = [await workshop.upload(body) for _ in range(20)]
        jobs = {movie.movie_id: await started(workshop, movie) for movie in movies}
        for _ in range(100):
            await asyncio.sleep(chance.uniform(0.2, 1.5))
            n = chance.randrange(len(crew))
            children = crew[n].engine_pids()
            if children and chance.random() < 0.5:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(children[0], signal.SIGKILL)
                continue
            await crew[n].end(signal.SIGKILL)
            crew[n] = WorkerProcess(emulator.endpoint, workshop.settings, max_attempts=1000)
        for movie in movies:
            ended = await workshop.settled(movie.movie_id, 600)
            assert ended.status in ("tracing completed", "tracing failed")
            told = await events_of(workshop, movie, jobs[movie.movie_id])
            assert told["movie.tracing.started"] == 1
            assert told["movie.tracing.completed"] + told["movie.tracing.failed"] == 1
            span = workshop.stores.frames.span(movie.movie_id, 1, FRAMES, consistent=True)
            owners = {item["job_id"] async for item in span}
            assert owners <= {jobs[movie.movie_id]}
    finally:
        for process in crew:
            await process.end()
