"""Workers and web services that join the embedded storage of another process: they never start one, and end with it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from service.cli.manners import joined
from service.local import emulator as emulator_module
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
        f"Error: No service runs on the data directory {settings.data}. "
        "Start `tiptrace serve` there, or `tiptrace emulator`."
    )
    assert not settings.data.exists()


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


@pytest.mark.long
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


async def test_where_the_folder_cannot_be_asked_nothing_is_known_to_be_gone(tmp_path: Path) -> None:
    """A web process that has run out of file descriptors is busy, not abandoned."""
    async with Emulator(tmp_path):
        joined_one = read_endpoint(tmp_path)
        assert joined_one
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
            with pytest.raises(OSError, match="Too many open files"):
                os.open(tmp_path, os.O_RDONLY)
            assert still_runs(tmp_path, joined_one)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        (tmp_path / "lock").rename(tmp_path / "kept")
        (tmp_path / "lock").symlink_to("lock")
        assert still_runs(tmp_path, joined_one)
        (tmp_path / "kept").replace(tmp_path / "lock")


async def test_two_that_look_at_once_do_not_take_each_other_for_the_service(tmp_path: Path) -> None:
    async with Emulator(tmp_path):
        joined_one = read_endpoint(tmp_path)
        assert joined_one
        left_behind = (tmp_path / "endpoint.json").read_bytes()
    (tmp_path / "endpoint.json").write_bytes(left_behind)
    with (tmp_path / "lock").open() as another:
        fcntl.flock(another, fcntl.LOCK_SH)
        assert not still_runs(tmp_path, joined_one)
        assert find_running(tmp_path) is None


@pytest.mark.parametrize(
    "changed",
    [{"endpoint": 5}, {"endpoint": "http://127.0.0.1:abc"}, {"endpoint": "http://127.0.0.1:99999"}, {"owner_pid": -5},
     {"owner_pid": "1"}, {"instance": None}, {"more": 1}],
    ids=str,
)  # fmt: skip
def test_an_endpoint_file_that_makes_no_sense_is_none(tmp_path: Path, changed: dict[str, object]) -> None:
    good = {"endpoint": "http://127.0.0.1:4000", "pid": 2, "owner_pid": 3, "instance": "x", "started": 1.5}
    (tmp_path / "endpoint.json").write_text(json.dumps(good))
    assert read_endpoint(tmp_path)
    (tmp_path / "endpoint.json").write_text(json.dumps({**good, **changed}))
    assert read_endpoint(tmp_path) is None
    assert find_running(tmp_path) is None


async def test_an_emulator_whose_successor_cannot_start_is_tried_again_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tiptrace emulator` ends then, to be started anew by whoever looks after it. No child is left."""
    monkeypatch.setattr(emulator_module, "FAILED_STARTS", 2)
    async with Emulator(tmp_path) as emulator:
        await _die(emulator, tmp_path, "no log")
        await asyncio.wait_for(emulator.given_up.wait(), 20)
        assert find_running(tmp_path) is None
        emulator.log_path.rmdir()
    monkeypatch.setattr(emulator_module, "FAILED_STARTS", 100)
    async with Emulator(tmp_path) as emulator:
        before = await _die(emulator, tmp_path, "no log either")
        await asyncio.sleep(0.5)  # in which it tries in vain
        emulator.log_path.rmdir()
        async with asyncio.timeout(20):
            while find_running(tmp_path) is None or emulator.pid == before:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert not emulator.given_up.is_set()


async def _die(emulator: Emulator, folder: Path, name: str) -> int:
    """Kill the child, with something in the way of the next one's log; returns its process id."""
    emulator.log_path.rename(folder / name)
    emulator.log_path.mkdir()
    pid = emulator.pid
    os.kill(pid, signal.SIGKILL)
    return pid
