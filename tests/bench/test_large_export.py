"""An export of 10,000 frames and 20 markers: what it takes of the server's memory, and of the time of polls beside it.

    pytest -m bench tests/bench/test_large_export.py -s

The service runs in a process of its own, so that its memory is its own, and the polls come from another one.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from service.bench import machine
from service.local.emulator import Emulator
from service.store.schema import FRAMES
from service.store.table import Put
from tests.support.service import Lab, serving_lab

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1200)]
FRAMES_OF_IT, MARKERS = 10_000, 20
MOST_MB = 200
POLLS_APART = 0.02


async def filled(lab: Lab) -> str:
    """A traced movie with rulers and many markers."""
    movie_id = await lab.movie(
        total_frames=FRAMES_OF_IT,
        last_frame_tracked=FRAMES_OF_IT - 1,
        status="tracing completed",
        fpm="2",
        trackpoint_origin="lower-left",
    )
    names = ["Ruler 0mm", "Ruler 10mm", "Apex", *(f"Leaf {n}" for n in range(MARKERS - 3))]
    stores = lab.runtime.stores
    labels = {f"k{n:02d}": {"label": name, "color": f"#0072{n:02x}"} for n, name in enumerate(names)}
    await stores.database.write(stores.frames.marker_map_write(movie_id, labels))

    def frame(number: int) -> Put:
        points = [
            {"marker_id": marker, "x": round(20.5 * n + number % 13 / 10, 1), "y": 100.3 + n, "status": 1,
             "err": 0.25, "placed": "trace"}
            for n, marker in enumerate(labels)
        ]  # fmt: skip
        item = {"movie_id": movie_id, "frame_number": number, "trackpoints": points, "job_id": "j", "time": number / 20}
        return Put(FRAMES, item)

    for start in range(0, FRAMES_OF_IT, 100):
        await stores.database.transact([frame(n) for n in range(start, min(start + 100, FRAMES_OF_IT))])
    return movie_id


@asynccontextmanager
async def server(lab: Lab) -> AsyncIterator[tuple[int, int]]:
    """Port and process id of the service over this lab's tables."""
    settings = lab.runtime.settings
    told = {"endpoint": lab.runtime.endpoint, "data": str(settings.data), "table_prefix": settings.table_prefix,
            "bucket": settings.bucket, "secret_key": "a secret for tests alone"}  # fmt: skip
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.lab_server", json.dumps(told), stdin=pipe, stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert child.stdin
    assert child.stdout
    try:
        async with asyncio.timeout(60):
            while not (line := await child.stdout.readline()).strip().isdigit():
                assert line, "the service ended before it listened"
        drain = asyncio.create_task(child.stdout.read())
        yield int(line), child.pid
        child.stdin.close()
        await drain
    finally:
        if child.returncode is None:
            child.terminate()
        await child.wait()


def peak_mb(pid: int) -> float:
    """The most memory that the process has held so far."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) / 1024


async def polled(client: httpx.AsyncClient, movie_id: str, until: asyncio.Future[object]) -> list[float]:
    """Seconds of each poll, one at a time, until the other thing has ended."""
    spent = []
    while not until.done():
        start = time.perf_counter()
        (await client.get("/api/get-movie-metadata", params={"movie_id": movie_id})).raise_for_status()
        spent.append(time.perf_counter() - start)
        await asyncio.sleep(POLLS_APART)
    return spent


def quantile(spent: list[float], share: float) -> float:
    return sorted(spent)[min(len(spent) - 1, int(share * len(spent)))]


async def test_a_large_export_stays_small_and_lets_polls_through(emulator: Emulator, tmp_path: Path) -> None:
    """C17: the export and the polls share one process."""
    async with serving_lab(emulator.endpoint, tmp_path) as lab:
        movie_id, other = await filled(lab), await lab.movie()
        headers = lab.people.ada.headers
        for kind in ("csv", "xlsx", "json"):
            async with server(lab) as (port, pid):
                base = f"http://127.0.0.1:{port}"
                async with httpx.AsyncClient(base_url=base, headers=headers, timeout=300) as client:
                    alone = await polled(client, other, asyncio.ensure_future(asyncio.sleep(4)))
                    before, start = peak_mb(pid), time.perf_counter()
                    export = asyncio.ensure_future(fetched(client, movie_id, kind))
                    beside = await polled(client, other, export)
                    size, spent = await export, time.perf_counter() - start
                    after = peak_mb(pid)
            print(
                f"\n{kind}: {size / 1e6:.1f} MB in {spent:.1f} s; memory {before:.0f} -> {after:.0f} MB;"
                f" polls alone p50 {1000 * quantile(alone, 0.5):.0f} p99 {1000 * quantile(alone, 0.99):.0f} ms,"
                f" beside p50 {1000 * quantile(beside, 0.5):.0f} p99 {1000 * quantile(beside, 0.99):.0f}"
                f" max {1000 * max(beside):.0f} ms ({len(alone)}, {len(beside)} polls)"
                f"\n  {machine.in_words(machine.description())}"
            )
            assert after < MOST_MB, kind


async def fetched(client: httpx.AsyncClient, movie_id: str, kind: str) -> int:
    """Bytes of the export, taken as they come and thrown away."""
    size = 0
    query = {"movie_id": movie_id, "format": kind}
    async with client.stream("GET", "/api/get-movie-trackpoints", params=query) as answer:
        assert answer.status_code == 200
        async for piece in answer.aiter_bytes():
            size += len(piece)
    return size
