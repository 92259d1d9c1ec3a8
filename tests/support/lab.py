"""A small laboratory on the real emulator: people, movies that are ready to trace, and every row to look at."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from service.domain.access import Actor
from service.domain.movie import Movie
from service.runtime import Runtime, open_runtime
from service.settings import Settings
from service.store.schema import FRAMES, LOGS, MOVIES, RECEIPTS
from service.store.stores import Stores
from service.store.table import Item, Put
from service.usecases import people
from service.usecases.submit_trace import Submitted, TraceOrder, submit
from tests.support.clocks import FakeClock

COURSE = "bio-101"
POINTS = [
    {"label": "Apex", "x": 100.0, "y": 200.0},
    {"label": "Ruler 0mm", "x": 300.0, "y": 100.0},
    {"label": "Ruler 10mm", "x": 300.0, "y": 150.0},
]


def settings_for(prefix: str, data: Path = Path("unused"), **changed: Any) -> Settings:
    """Settings whose tables, bucket and queue belong to one test alone."""
    changed.setdefault("secret_key", "a secret for tests alone")
    return Settings(data=data, table_prefix=f"{prefix}-", bucket=f"{prefix}-movies", **changed)


@dataclasses.dataclass
class Lab:
    """`stores` keep `clock`'s time; `with_clock` gives another actor's view of the same database."""

    runtime: Runtime
    stores: Stores
    clock: FakeClock

    def with_clock(self, clock: Any) -> Stores:
        return dataclasses.replace(self.stores, clock=clock)

    async def person(self, name: str, *, course: str = COURSE, admin: bool = False, role: str | None = None) -> Actor:
        await people.add_course(self.stores, course, course.title())
        email = f"{uuid.uuid4().hex}@example.org"
        added = await people.add_user(self.stores, email, name, course, course_admin=admin, super_role=role)
        found = await self.stores.people.actor_of_key(added.api_key)
        assert found is not None
        return found

    async def ready_movie(self, owner: Actor, *, frames: int = 30, placed: bool = True) -> str:
        """A movie as its inspection leaves it, with the markers of POINTS on frame 0."""
        movie_id = self.stores.ids.movie_id()
        row = {
            "movie_id": movie_id,
            "user_id": owner.user_id,
            "user_name": owner.name,
            "course_id": owner.course_id,
            "title": "Bean",
            "status": "ready",
            "published": False,
            "deleted": False,
            "edit_seq": 0,
            "total_frames": frames,
            "width": 640,
            "height": 480,
            "frame_width": 640,
            "frame_height": 480,
            "rotation": 0,
            "created_at": self.clock.now(),
            "movie_data_urn": self.stores.objects.urn(f"movies/{movie_id}/movie"),
        }
        await self.stores.objects.put(f"movies/{movie_id}/movie", b"a movie's bytes", "video/mp4")
        await self.stores.database.write(Put(MOVIES, row))
        if placed:
            labels = {f"id-{p['label']}": {"label": p["label"], "color": "#0072B2"} for p in POINTS}
            points = [
                {"marker_id": f"id-{p['label']}", "x": p["x"], "y": p["y"], "status": 1, "err": 0.0, "placed": "user"}
                for p in POINTS
            ]
            await self.stores.database.write(self.stores.frames.marker_map_write(movie_id, labels))
            await self.stores.database.write(self.stores.frames.placed_write(movie_id, 0, points, 0))
        return movie_id

    async def submit(self, actor: Actor, movie_id: str, key: str = "key", **order: Any) -> Submitted:
        sent = {"movie_id": movie_id, **{k: v for k, v in order.items() if k != "analysis_lease_id"}}
        return await submit(self.stores, actor, TraceOrder(movie_id, key, sent, **order))

    async def movie(self, movie_id: str) -> Movie:
        found = await self.stores.movies.get(movie_id)
        assert found is not None
        return found

    async def rows(self, table: str) -> list[Item]:
        return [item async for item in self.stores.database.scan(table)]

    async def events(self, movie_id: str) -> list[Item]:
        """The movie's audit trail in the order of its ids."""
        found = [item for item in await self.rows(LOGS) if item.get("movie_id") == movie_id]
        return sorted(found, key=lambda item: item["log_id"])

    async def receipts(self, movie_id: str) -> list[Item]:
        return [item for item in await self.rows(RECEIPTS) if item.get("movie_id") == movie_id]

    async def frames(self, movie_id: str) -> dict[int, Item]:
        """Every stored frame, hidden or not, without the marker map."""
        return {
            item["frame_number"]: item
            for item in await self.rows(FRAMES)
            if item["movie_id"] == movie_id and item["frame_number"] >= 0
        }


@asynccontextmanager
async def open_lab(endpoint: str, **changed: Any) -> AsyncIterator[Lab]:
    """Tables, bucket and queue of its own on the session's emulator."""
    clock = FakeClock()
    settings = settings_for(f"t{uuid.uuid4().hex[:12]}", **changed)
    async with open_runtime(settings, endpoint=endpoint, clock=clock) as runtime:
        yield Lab(runtime, runtime.stores, clock)
