"""Several web processes on one socket, and how a web service stops: it is not ready first, and closed last."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from service.cli.manners import joined
from service.local.emulator import Emulator
from service.settings import Settings
from service.store.stores import Stores
from service.usecases import people
from service.worker.pool import Pool
from tests.support import uploads
from tests.support.asgi_server import raw
from tests.support.lab import open_lab, settings_for
from tests.support.worker_process import WebProcess, WorkerProcess
from tests.support.workshop import Workshop

pytestmark = pytest.mark.long
CONTEST_SECONDS = "30"
SECRET = "for tests alone, and long enough"


@asynccontextmanager
async def two_processes(emulator: Emulator, *words: str, **changed: object) -> AsyncIterator[WebProcess]:
    async with open_lab(emulator.endpoint) as lab:
        settings = lab.runtime.settings
        process = WebProcess(emulator.endpoint, settings, "--processes", "2", *words, secret_key=SECRET, **changed)
        try:
            yield process
        finally:
            await process.end()


async def gone(processes: list[psutil.Process]) -> None:
    async with asyncio.timeout(30):
        while any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def counted(http: httpx.AsyncClient, route: str) -> int:
    """How many answers of this route all processes have counted."""
    said = (await http.get("/metrics")).text
    found = re.findall(rf'^tiptrace_http_requests_total{{route="{re.escape(route)}",status="200"}} (\S+)', said, re.M)
    return int(float(found[0])) if found else 0


async def test_two_processes_serve_one_address_and_a_dead_one_is_replaced(emulator: Emulator) -> None:
    """What they count is told as one sum, whichever is asked; a parent that is killed leaves nobody behind."""
    async with two_processes(emulator) as parent:
        address = await parent.address()
        first = parent.children()
        assert len(first) == 2
        async with httpx.AsyncClient(base_url=address, headers={"Connection": "close"}) as http:
            for _ in range(20):
                assert (await http.get("/api/ver")).status_code == 200
            assert await counted(http, "/api/ver") == 20
            first[0].kill()
            await parent.says("child.replaced")
            second = parent.children()
            assert len(second) == 2
            assert first[1] in second
            assert first[0] not in second
            for _ in range(20):
                assert (await http.get("/api/ver")).status_code == 200
            assert await counted(http, "/api/ver") == 40
        await parent.end(signal.SIGKILL)
        await gone(second)


async def test_a_service_that_is_to_stop_is_not_ready_while_it_answers_on(emulator: Emulator) -> None:
    """SIGTERM: 503 from /readyz, answers to requests that are under way and to new ones, then exit code 0."""
    async with two_processes(emulator, drain_seconds=2) as parent:
        address = await parent.address()
        port = int(address.rpartition(":")[2])
        async with httpx.AsyncClient(base_url=address) as http:
            assert (await http.get("/readyz")).json()["status"] == "ok"
            body = b"movie_id=m1"
            reader, writer = await raw(
                port,
                b"POST /api/ver HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                b"Content-Length: %d\r\n\r\n" % len(body),
            )
            began = time.monotonic()
            parent.tell(signal.SIGTERM)
            async with asyncio.timeout(2):
                while (answer := await http.get("/readyz")).status_code == 200:
                    pass
            assert (answer.status_code, answer.json()["code"]) == (503, "stopping")
            assert int(answer.headers["retry-after"]) > 0
            assert (await http.get("/healthz")).status_code == 200
            writer.write(body)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            writer.close()
        assert await parent.ended() == 0
        assert time.monotonic() - began >= 2
        assert [line["event"] for line in parent.lines()].count("web.stopping") == 2


async def test_a_second_signal_ends_the_wait(emulator: Emulator) -> None:
    async with open_lab(emulator.endpoint) as lab:
        alone = WebProcess(emulator.endpoint, lab.runtime.settings, secret_key=SECRET, drain_seconds=3600)
        try:
            await alone.address()
            alone.tell(signal.SIGTERM)
            await alone.says("web.stopping")
        finally:
            assert await alone.end(signal.SIGTERM) == 0


async def test_the_embedded_default_runs_its_workers_once_and_dies_with_its_parent(tmp_path: Path) -> None:
    """One database and one worker process beside two web processes; all gone after kill -9 of the parent."""
    parent = WebProcess(
        "", settings_for("any"), "--processes", "2", "--workers", "1", backend="embedded", data=tmp_path
    )
    try:
        async with httpx.AsyncClient(base_url=await parent.address()) as http:
            assert (await http.get("/readyz")).status_code == 200
        assert len([line for line in parent.lines() if line["event"] == "worker.started"]) == 1
        family = psutil.Process(parent.pid).children(recursive=True)
        assert len(parent.children()) == 3
        assert len(family) == 4
        await parent.end(signal.SIGKILL)
        await gone(family)
    finally:
        await parent.end()


async def contest(address: str, data: Path) -> tuple[int, dict[str, Any]]:
    """64 people contend for the leases of 8 movies; the checker's verdict over all that they did and were told."""
    words = ("--clients", "64", "--movies", "8", "--seconds", CONTEST_SECONDS, "--json")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "service.cli", "bench", "leases", "--url", address, "--data", str(data), *words),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    return process.returncode or 0, json.loads(out)


async def workshop_of(stores: Stores, settings: Settings) -> Workshop:
    """A student at a service that runs elsewhere."""
    await people.add_course(stores, "bio", "Bio")
    added = await people.add_user(stores, "student@example.org", "Student", "bio")
    student = await stores.people.actor_of_key(added.api_key)
    assert student
    return Workshop(stores, settings, Pool(stores, settings, 0), student)


async def students_work(workshop: Workshop, over: asyncio.Event) -> list[tuple[str, str]]:
    """Upload a movie and have it traced, again and again; the movies and jobs that were completed."""
    body, done = uploads.mp4(30), []
    while not over.is_set():
        movie = await workshop.upload(body)
        lease = await workshop.place(movie, [{"label": "Apex", "x": 60.0, "y": 150.0}])
        submitted = await workshop.submit(movie, lease)
        ended = await workshop.settled(movie.movie_id)
        assert ended.status == "tracing completed"
        done.append((movie.movie_id, submitted.receipt.job_id))
    return done


async def test_children_that_do_not_come_up_end_the_service_with_their_reason(emulator: Emulator) -> None:
    parent = WebProcess(emulator.endpoint, settings_for("nobody"), "--processes", "2", secret_key=SECRET)
    try:
        assert await parent.ended() == 1
        assert "Run `tiptrace admin create-tables` first." in parent.text()
        assert parent.text().splitlines()[-1] == "Error: The service did not start; the lines above say why."
    finally:
        await parent.end()


@pytest.mark.timeout(600)
async def test_two_web_processes_and_three_workers_give_no_lease_and_no_job_twice(tmp_path: Path) -> None:
    """Clients contend over both web processes while students' movies are traced; the checker reads the history."""
    short = {"lease_seconds": 4, "heartbeat_seconds": 1, "sweep_seconds": 0.5, "log_level": "warning"}
    settings = Settings(_env_file=None, data=tmp_path, **short)  # type: ignore[call-arg]
    embedded = {"backend": "embedded", "data": tmp_path, "log_level": "info"}
    service = WebProcess("", settings, "--processes", "2", "--workers", "1", **embedded)
    workers: list[WorkerProcess] = []
    try:
        address = await service.address()
        workers = [WorkerProcess("", settings, **embedded) for _ in range(2)]
        async with joined(tmp_path) as runtime:
            workshop = await workshop_of(runtime.stores, settings)
            over = asyncio.Event()
            at_work = [asyncio.create_task(students_work(workshop, over)) for _ in range(3)]
            code, report = await contest(address, tmp_path)
            over.set()
            jobs = [job for done in await asyncio.gather(*at_work) for job in done]
            for movie_id, job_id in jobs:
                trail = [event async for event in runtime.stores.audit.of("movie_id", movie_id)]
                told = sorted(event["event_type"] for event in trail if event.get("trace_job_id") == job_id)
                assert told == ["movie.tracing.completed", "movie.tracing.started"]
        claims = Counter(
            (line["job_id"], line["attempt"])
            for one in (service, *workers)
            for line in one.lines()
            if line.get("event") == "job.claimed"
        )
    finally:
        ended = [await process.end(signal.SIGTERM) for process in (*workers, service)]
    assert ended == [0, 0, 0]
    print(f"\n{report['operations']} operations in {report['seconds']} s, {len(jobs)} traces meanwhile")
    assert (code, report["violations"]) == (0, [])
    assert not report["errors"]
    assert jobs
    assert set(claims.values()) == {1}
