"""A whole service without its web part: the real stores, a real worker pool with real engines, on the emulator."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from service.domain.access import Actor
from service.domain.markers import DEFAULTS
from service.domain.movie import Movie, condition
from service.runtime import open_runtime
from service.settings import Settings
from service.store.stores import Stores
from service.usecases import people
from service.usecases.analysis_lease import acquire
from service.usecases.edit_movie import put_frame_trackpoints
from service.usecases.submit_trace import Submitted, TraceOrder, submit
from service.usecases.upload_movie import NewMovie, new_movie, process_upload
from service.worker.pool import Pool
from tests.support.lab import settings_for

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
"""Real movies, where a copy of them lies beside the repository; they are never part of it."""


@dataclass
class Workshop:
    stores: Stores
    settings: Settings
    pool: Pool
    student: Actor

    async def upload(self, body: bytes, *, announced: bytes | None = None) -> Movie:
        """Announce `announced` (the body itself unless told otherwise), send `body`, and wait for the verdict."""
        told = body if announced is None else announced
        order = NewMovie(
            title="A movie",
            sha256=hashlib.sha256(told).hexdigest(),
            length=len(told),
            request_key=uuid.uuid4().hex,
            sent={"length": len(told)},
        )
        made = await new_movie(self.stores, self.student, order)
        form = aiohttp.FormData(dict(made.form["fields"]))
        form.add_field("file", body, filename="movie")
        async with aiohttp.ClientSession() as http, http.post(made.form["url"], data=form) as reply:
            assert reply.status < 300, await reply.text()
        await process_upload(self.stores, self.student, made.movie_id)
        return await self.settled(made.movie_id)

    async def place(self, movie: Movie, points: list[dict[str, Any]] | None = None) -> str:
        """Take the lease and place markers on frame 0; returns the lease id."""
        taken = await acquire(self.stores, self.student, movie.movie_id, take_over=True)
        assert taken.lease
        height = movie.frame_height
        points = points or [{"label": name, "x": x + 60, "y": height - y - 40} for name, x, y in DEFAULTS]
        await put_frame_trackpoints(self.stores, self.student, movie.movie_id, taken.lease.lease_id, 0, points)
        return taken.lease.lease_id

    async def submit(self, movie: Movie, lease_id: str, **order: Any) -> Submitted:
        key = uuid.uuid4().hex
        return await submit(
            self.stores,
            self.student,
            TraceOrder(movie.movie_id, key, {"n": key}, analysis_lease_id=lease_id, **order),
        )

    async def settled(self, movie_id: str, seconds: float = 60) -> Movie:
        """The movie once nothing moves any more. Fails after `seconds`: a stuck row is what this looks for."""
        async with asyncio.timeout(seconds):
            while True:
                movie = await self.stores.movies.get(movie_id)
                assert movie is not None
                told = condition(movie, self.stores.clock.now(), self.stores.policy.max_attempts)
                if movie.tracing is None and told.status not in ("uploading", "processing", "tracing"):
                    return movie
                await asyncio.sleep(0.1)


@asynccontextmanager
async def open_workshop(endpoint: str, *, slots: int = 1, **changed: Any) -> AsyncIterator[Workshop]:
    """Tables of its own, one student, and a pool of real engines (none with 0 slots), stopped at the end."""
    settings = settings_for(f"w{uuid.uuid4().hex[:12]}", **{"grace_seconds": 0, **changed})
    async with open_runtime(settings, endpoint=endpoint) as runtime:
        await people.add_course(runtime.stores, "bio", "Bio")
        added = await people.add_user(runtime.stores, "student@example.org", "Student", "bio")
        student = await runtime.stores.people.actor_of_key(added.api_key)
        assert student is not None
        pool = Pool(runtime.stores, settings, slots)
        running = asyncio.create_task(pool.run() if slots else asyncio.sleep(0))
        try:
            yield Workshop(runtime.stores, settings, pool, student)
        finally:
            pool.stop()
            await running
