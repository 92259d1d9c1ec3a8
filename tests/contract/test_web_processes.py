"""Several web processes on one socket, and how a web service stops: it is not ready first, and closed last."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from service.local.emulator import Emulator
from tests.support.asgi_server import raw
from tests.support.lab import open_lab, settings_for
from tests.support.worker_process import WebProcess

pytestmark = pytest.mark.long
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
