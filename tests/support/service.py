"""The whole web service for tests: real views over real stores on the session's emulator, asked through the bridge.

Whatever a test asks, the answer must be as the service's own OpenAPI document describes it.

A module that uses `lab` says `pytestmark = pytest.mark.asyncio(loop_scope="module")`, since clients live on one loop.
Each module has tables, a bucket and people of its own.
"""

from __future__ import annotations

import io
import itertools
import json
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from service.asgi import MAX_BODY_BYTES
from service.bridge import Bridge
from service.domain.clock import SystemClock
from service.local.emulator import Emulator
from service.runtime import Runtime, open_runtime
from service.settings import Settings
from service.store.people import actor_of
from service.store.schema import MOVIES
from service.store.table import Put
from service.usecases import people
from service.web.app import build_app
from tests.support.described import hold_to_the_description

ORIGIN = "http://lab.test"
_numbers = itertools.count(1)


class MovableClock(SystemClock):
    """The system's clock, moved by `ahead` seconds: leases grow old without anybody waiting."""

    def __init__(self) -> None:
        self.ahead = 0

    def now(self) -> int:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


@dataclass(frozen=True, slots=True)
class Person:
    user_id: str
    api_key: str
    name: str

    @property
    def headers(self) -> dict[str, str]:
        return {"x-api-key": self.api_key}


@dataclass(frozen=True, slots=True)
class People:
    """Ada uploads. Ben is in her course, the teacher administers it, Eve is in another one."""

    ada: Person
    ben: Person
    teacher: Person
    eve: Person
    auditor: Person
    root: Person


@dataclass
class Lab:
    """A running service, the people around it, and short ways to ask it."""

    runtime: Runtime
    http: httpx.AsyncClient
    people: People
    clock: MovableClock

    async def post(self, path: str, person: Person | None = None, /, **fields: Any) -> httpx.Response:
        """Form fields, as our pages send them; `/resize-api` gets JSON."""
        headers = person.headers if person else {}
        given = {name: value for name, value in fields.items() if value is not None}
        if path.startswith("/resize-api"):
            return await self.http.post(path, json=given, headers=headers)
        return await self.http.post(path, data=given, headers=headers)

    async def get(
        self, path: str, person: Person | None = None, /, headers: dict[str, str] | None = None, **query: Any
    ) -> httpx.Response:
        return await self.http.get(
            path, params=query, headers={**(person.headers if person else {}), **(headers or {})}
        )

    async def movie(self, owner: Person | None = None, /, **row: Any) -> str:
        """A movie that has passed its inspection: 10 frames of 640 x 480, unpublished."""
        owner = owner or self.people.ada
        user = await self.runtime.stores.people.user(owner.user_id)
        movie_id = self.runtime.stores.ids.movie_id()
        item = {
            "movie_id": movie_id,
            "user_id": owner.user_id,
            "user_name": owner.name,
            "course_id": actor_of(user or {}).course_id,
            "title": f"Bean {next(_numbers)}",
            "status": "ready",
            "published": False,
            "deleted": False,
            "edit_seq": 0,
            "created_at": self.clock.now(),
            "total_frames": 10,
            "width": 640,
            "height": 480,
            "frame_width": 640,
            "frame_height": 480,
            "fps": "20",
            "rotation": 0,
            "movie_data_urn": self.runtime.stores.objects.urn(f"movies/{movie_id}/movie"),
            **row,
        }
        await self.runtime.stores.database.write(Put(MOVIES, item))
        return movie_id

    async def row(self, movie_id: str) -> dict[str, Any]:
        found = await self.runtime.stores.movies.get(movie_id)
        assert found is not None
        return dict(found.row)

    async def lease(self, movie_id: str, person: Person | None = None) -> str:
        """This person's (Ada's) fresh editing lease."""
        answer = await self.post("/api/acquire-movie-analysis-lease", person or self.people.ada, movie_id=movie_id)
        lease_id: str | None = answer.json()["lease_id"]
        assert lease_id, answer.text
        return lease_id

    async def marked_movie(self, **row: Any) -> tuple[str, str]:
        """A movie with two markers on frame 0, and Ada's lease on it."""
        movie_id = await self.movie(**row)
        lease_id = await self.lease(movie_id)
        points = [{"label": "Apex", "x": 100, "y": 200.5}, {"label": "Ruler 0mm", "x": 10, "y": 10}]
        answer = await self.post(
            "/api/put-frame-trackpoints",
            self.people.ada,
            movie_id=movie_id,
            analysis_lease_id=lease_id,
            frame_number=0,
            trackpoints=json.dumps(points),
        )
        assert answer.status_code == 200, answer.text
        return movie_id, lease_id

    async def archive(self, movie_id: str, frames: dict[int, bytes]) -> str:
        """Put an archive of these pictures into the store; returns its URN for the movie's row."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            for number, jpeg in frames.items():
                archive.writestr(f"frame_{number:04d}.jpeg", jpeg)
        key = f"movies/{movie_id}/archive-{next(_numbers)}.zip"
        await self.runtime.stores.objects.put(key, out.getvalue(), "application/zip")
        return self.runtime.stores.objects.urn(key)


@asynccontextmanager
async def serving_lab(endpoint: str, folder: Path, **changed: Any) -> AsyncIterator[Lab]:
    """A service with tables, bucket and people of its own over a running emulator. `changed`: other settings."""
    name = f"lab{next(_numbers)}"
    settings = Settings(
        _env_file=None,
        **{"data": folder, "table_prefix": f"{name}-", "bucket": f"{name}-movies", "lease_seconds": 900, **changed},
    )
    clock = MovableClock()
    async with open_runtime(settings, endpoint=endpoint, clock=clock) as runtime:
        bridge = Bridge(build_app(runtime), max_body_bytes=MAX_BODY_BYTES)
        transport, hooks = httpx.ASGITransport(bridge), {"response": [hold_to_the_description]}
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, event_hooks=hooks) as http:
            yield Lab(runtime, http, await _people(runtime), clock)


async def _people(runtime: Runtime) -> People:
    stores = runtime.stores
    for course_id, name in (("bio", "Bio 101"), ("chem", "Chemistry")):
        await people.add_course(stores, course_id, name)

    async def person(name: str, course_id: str, **more: Any) -> Person:
        added = await people.add_user(stores, f"{name.lower()}@school.test", name, course_id, **more)
        return Person(added.user_id, added.api_key, name)

    return People(
        ada=await person("Ada", "bio"),
        ben=await person("Ben", "bio"),
        teacher=await person("Teacher", "bio", course_admin=True),
        eve=await person("Eve", "chem"),
        auditor=await person("Auditor", "chem", super_role="superauditor"),
        root=await person("Root", "chem", super_role="superadmin"),
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def marked(lab: Lab) -> tuple[str, str]:
    """One movie and Ada's lease on it, for tests that are refused and change nothing."""
    return await lab.marked_movie()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """One service per test module."""
    async with serving_lab(emulator.endpoint, tmp_path_factory.mktemp("lab")) as running:
        yield running
