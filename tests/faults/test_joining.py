"""Workers and web services that join the embedded storage of another process: they never start one, and end with it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from service.cli.manners import joined
from service.local.datadir import find_running, read_endpoint, still_runs
from service.local.emulator import Emulator
from service.settings import Settings
from service.usecases import people
from service.worker.pool import Pool
from tests.support import uploads
from tests.support.worker_process import CommandProcess, WebProcess, WorkerProcess
from tests.support.workshop import Workshop

Start = Callable[..., CommandProcess]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Leases so short that nobody waits long for a dead worker's."""
    return Settings(
        _env_file=None,  # type: ignore[call-arg]
        data=tmp_path / "data",
        lease_seconds=4,
        heartbeat_seconds=1,
        sweep_seconds=0.5,
        grace_seconds=2,
    )


@pytest.fixture
async def start(settings: Settings) -> AsyncIterator[Start]:
    """Starts a process on the data directory; whatever still runs at the end is killed."""
    started: list[CommandProcess] = []

    def one(kind: Callable[..., CommandProcess], *words: object) -> CommandProcess:
        started.append(kind("", settings, *words, backend="embedded", data=settings.data))
        return started[-1]

    yield one
    for process in reversed(started):
        await process.end()


async def kept(start: Start, settings: Settings) -> CommandProcess:
    """`tiptrace emulator`, once it is up."""
    emulator = start(CommandProcess, ["emulator"])
    async with asyncio.timeout(30):
        while " is kept at " not in emulator.text():
            assert find_running(settings.data) or not emulator.text(), emulator.text()
            await asyncio.sleep(0.05)
    return emulator


@asynccontextmanager
async def student(settings: Settings) -> AsyncIterator[Workshop]:
    async with joined(settings.data) as runtime:
        await people.add_course(runtime.stores, "bio", "Bio")
        key = (await people.add_user(runtime.stores, "student@example.org", "Student", "bio")).api_key
        actor = await runtime.stores.people.actor_of_key(key)
        assert actor
        yield Workshop(runtime.stores, settings, Pool(runtime.stores, settings, 0), actor)


@pytest.mark.parametrize("words", [["worker"], ["serve", "--join", "--port", "0"]])
async def test_who_joins_starts_no_storage_of_its_own(start: Start, settings: Settings, words: list[str]) -> None:
    """It would hold the folder when the service comes."""
    lonely = start(CommandProcess, words)
    assert await lonely.ended() == 1
    assert lonely.text().splitlines()[-1] == (
        f"Error: No service runs on the data directory {settings.data}. Start `tiptrace serve` first."
    )
    assert not (settings.data / "lock").exists()


async def test_storage_web_service_and_worker_apart_trace_a_movie_and_end_with_the_storage(
    start: Start, settings: Settings
) -> None:
    """What was stored is there again when all three have been started anew, in whatever order."""
    emulator = await kept(start, settings)
    web, worker = start(WebProcess, "--join"), start(WorkerProcess)
    assert isinstance(web, WebProcess)
    await worker.says("worker.started")
    async with httpx.AsyncClient(base_url=await web.address()) as http:
        assert (await http.get("/readyz")).json()["status"] == "ok"
    async with student(settings) as workshop:
        movie = await workshop.upload(uploads.mp4(12))
        lease = await workshop.place(movie, [{"label": "Apex", "x": 20.0, "y": 30.0}])
        await workshop.submit(movie, lease)
        assert (await workshop.settled(movie.movie_id)).status == "tracing completed"

    assert await emulator.end(signal.SIGTERM) == 0
    assert (await web.ended(), await worker.ended()) == (1, 1)
    for one in (web, worker):
        assert one.text().splitlines()[-1] == (
            f"Error: The service on the data directory {settings.data} has ended, and so does this process."
        )

    await kept(start, settings)
    again = start(WorkerProcess)
    await again.says("worker.started")
    async with joined(settings.data) as runtime:
        assert (await runtime.stores.movies.get(movie.movie_id)).status == "tracing completed"


async def test_a_worker_in_the_middle_of_a_trace_ends_with_its_service_and_the_next_finishes_it(
    start: Start, settings: Settings
) -> None:
    emulator = await kept(start, settings)
    worker = start(WorkerProcess)
    await worker.says("worker.started")
    async with student(settings) as workshop:
        movie = await workshop.upload(uploads.mp4(400))
        lease = await workshop.place(movie, [{"label": "Apex", "x": 20.0, "y": 30.0}])
        await workshop.submit(movie, lease)
        await worker.says("job.claimed", count=2)
        await emulator.end(signal.SIGKILL)
    async with asyncio.timeout(settings.grace_seconds + 20):
        assert await worker.ended() == 1

    await kept(start, settings)
    start(WorkerProcess)
    async with joined(settings.data) as runtime, asyncio.timeout(60):
        while (await runtime.stores.movies.get(movie.movie_id)).status != "tracing completed":  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def test_an_emulator_that_is_replaced_is_not_gone(start: Start, settings: Settings) -> None:
    """Its address stays, and requests wait for the successor: nobody who joined has to end."""
    async with Emulator(settings.data) as emulator:
        worker = start(WorkerProcess)
        await worker.says("worker.started")
        before = emulator.pid
        os.kill(before, signal.SIGKILL)
        async with asyncio.timeout(20):
            while emulator.pid == before or find_running(settings.data) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        await asyncio.sleep(2.5)
        assert not any(line["event"] == "joined_service_gone" for line in worker.lines())
        assert await worker.end(signal.SIGTERM) == 0


async def test_the_lock_tells_whether_a_service_still_runs(tmp_path: Path) -> None:
    """Not its process id, which means nothing in another container."""
    async with Emulator(tmp_path):
        first = read_endpoint(tmp_path)
        assert first
        assert still_runs(tmp_path, first)
        (tmp_path / "endpoint.json").rename(tmp_path / "kept.json")
        assert not still_runs(tmp_path, first)
        (tmp_path / "kept.json").rename(tmp_path / "endpoint.json")
        assert still_runs(tmp_path, first)
        left_behind = (tmp_path / "endpoint.json").read_bytes()
    (tmp_path / "endpoint.json").write_bytes(left_behind)
    assert not still_runs(tmp_path, first), "the file of a service that was killed says nothing"
    (tmp_path / "endpoint.json").unlink()
    async with Emulator(tmp_path):
        assert not still_runs(tmp_path, first), "another service is not the one that was joined"
