"""What pages and jobs ask of database, storage, queue and processor: the inputs of service/bench/capacity.py.

    pytest -m bench tests/bench/test_capacity_inputs.py -s

Calls and units do not depend on the machine, so they are held to what the module says. Bytes are those of one movie of
the real set; processor time is printed with the machine, and held to within a factor. What a poll costs
the processor is not measured here, since the test's own client would be counted too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import psutil
import pytest

from service.bench import machine
from service.bench.capacity import MEASURED, Cost
from service.bench.units import item_bytes
from service.local.emulator import Emulator
from service.runtime import open_runtime
from service.store.marshal import pack_item
from tests.support.ledger import Ledger
from tests.support.movies import real_movie
from tests.support.service import Lab, lab
from tests.support.workshop import Workshop, open_workshop

__all__ = ["lab"]
pytestmark = [pytest.mark.bench, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]
PLACES = [
    {"label": "Apex", "x": 279.0, "y": 312.0},
    {"label": "Ruler 0mm", "x": 477.0, "y": 234.0},
    {"label": "Ruler 10mm", "x": 479.0, "y": 282.0},
]
SLACK = 1.6
"""Another machine's processor, and what else it does meanwhile."""


async def cost(lab: Lab, deed: Callable[[], Awaitable[httpx.Response]]) -> Cost:
    ledger = Ledger(lab.runtime.stores, lab.runtime.settings.table_prefix)
    answer = await deed()
    units = await ledger.close()
    assert answer.status_code < 400, answer.text
    return Cost(sum(ledger.database.values()), units.read, units.write, units.index, sum(ledger.queue.values()))


async def test_what_a_page_costs(lab: Lab, emulator: Emulator) -> None:
    async with open_workshop(emulator.endpoint) as workshop:
        inspected = await workshop.upload(real_movie("plants/circumnutation_2019-07-12.mp4").read_bytes())
    strange = {"movie_id", "user_id", "course_id", "movie_data_urn", "status", "published", "created_at"}
    ours = {
        name: value.replace(workshop.stores.objects.bucket, lab.runtime.stores.objects.bucket)
        if name.endswith("_urn")
        else value
        for name, value in inspected.row.items()
        if name not in strange
    }
    movie_id = await lab.movie(**ours)
    ada, of = lab.people.ada, {"movie_id": movie_id}
    found: dict[str, Cost] = {}

    async def poll() -> httpx.Response:
        return await lab.get("/api/get-movie-metadata", ada, **of)

    await poll()
    found["poll"] = await cost(lab, poll)
    lab.clock.ahead += 6
    cold = await cost(lab, poll)
    found["authentication"] = cold - found["poll"]
    found["acquire"] = await cost(lab, lambda: lab.post("/api/acquire-movie-analysis-lease", ada, **of))
    lease = (await lab.post("/api/acquire-movie-analysis-lease", ada, take_over=1, **of)).json()["lease_id"]
    holding = {**of, "analysis_lease_id": lease}
    found["heartbeat"] = await cost(lab, lambda: lab.post("/api/heartbeat-movie-analysis-lease", ada, **holding))
    points = json.dumps(PLACES)
    found["edit"] = await cost(
        lab, lambda: lab.post("/api/put-frame-trackpoints", ada, frame_number=0, trackpoints=points, **holding)
    )
    found["submit"] = await cost(
        lab, lambda: lab.post("/resize-api/v1/trace-movie", ada, frame_start=0, request_key="k", **holding)
    )
    row = item_bytes(pack_item(await lab.row(movie_id)))
    print(f"\nmovie row {row} bytes")
    for name, told in found.items():
        print(f"  {name}: {told}")
    for name, told in found.items():
        assert told == getattr(MEASURED, name), name


async def test_what_a_job_costs(emulator: Emulator) -> None:
    body = real_movie("plants/circumnutation_2019-07-12.mp4").read_bytes()
    async with (
        open_workshop(emulator.endpoint, sweep_seconds=3600.0) as shop,
        open_runtime(shop.settings, endpoint=emulator.endpoint) as runtime,
    ):
        student = Workshop(runtime.stores, shop.settings, shop.pool, shop.student)
        await student.upload(body)  # warms everything up
        told, movie = await _job(shop, lambda: student.upload(body))
        lease = await student.place(movie, PLACES)

        async def traced() -> Any:
            await student.submit(movie, lease)
            return await student.settled(movie.movie_id)

        trace, movie = await _job(shop, traced)
        stores = runtime.stores
        sizes = {}
        for name in ("movie_data_urn", "movie_zipfile_urn", "first_frame_urn", "movie_traced_urn"):
            stored = await stores.objects.head(stores.objects.key_of(movie.row[name]))
            assert stored
            sizes[name] = stored.length
        rows = [item_bytes(pack_item(item)) async for item in stores.frames.span(movie.movie_id, 0, movie.total_frames)]
    row = sum(rows) / len(rows)
    print(f"\n{movie.total_frames} frames, {len(PLACES)} markers; {row:.0f} bytes a row of a frame; {sizes}")
    print(f"  {machine.in_words(machine.description())}")
    for name, one in (("inspection", told), ("trace", trace)):
        print(f"  {name}: {one}")
        said = getattr(MEASURED, name)
        more = one["calls"] - said.calls  # a slow job tells how far it is, or hands over a chunk, more often
        assert 0 <= more <= 4, name
        assert one["storage"] == said.storage, name
        assert one["queue"] == said.queue, name
        assert one["write"] == pytest.approx(said.write + 2 * more, abs=2 * more), name
        assert one["index"] == pytest.approx(said.index + 4 * more, abs=4 * more), name
        assert one["read"] == pytest.approx(said.read, rel=0.1, abs=1), name
        assert one["processor_ms_a_frame"] <= 1000 * SLACK * said.processor_seconds / movie.total_frames


async def _job(shop: Workshop, deed: Callable[[], Awaitable[Any]]) -> tuple[dict[str, Any], Any]:
    ledger = Ledger(shop.stores, shop.settings.table_prefix)
    before = _processor(shop)
    movie = await deed()
    # What follows the publish: former artifacts are looked for.
    await _quiet(ledger)
    spent = _processor(shop) - before
    units = await ledger.close()
    return {
        "calls": sum(ledger.database.values()),
        "read": units.read,
        "write": units.write,
        "index": units.index,
        "storage": sum(ledger.storage.values()),
        "queue": sum(often for name, often in ledger.queue.items() if name != "ReceiveMessage"),
        "processor_ms_a_frame": round(1000 * spent / movie.total_frames, 2),
        "database": dict(ledger.database),
        "objects": dict(ledger.storage),
    }, movie


def _processor(shop: Workshop) -> float:
    """Processor seconds of the worker and of the child that decodes."""
    own = psutil.Process().cpu_times()
    children = [psutil.Process(engine.pid).cpu_times() for engine in shop.pool.engines if engine.pid]
    return sum(times.user + times.system for times in (own, *children))


async def _quiet(ledger: Ledger) -> None:
    """Until nothing more is asked for half a second."""

    seen = -1
    while seen != (now := sum(ledger.database.values()) + sum(ledger.storage.values())):
        seen = now
        await asyncio.sleep(0.5)
