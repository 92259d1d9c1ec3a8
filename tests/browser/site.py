"""The whole service as a browser meets it: `create_app` on a data folder of its own, with a worker, on a real port.

It runs on an event loop of its own in a thread, so that a test which waits for a browser never holds it up.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from service.asgi import Service, create_app
from service.domain.audit import EventType, event
from service.domain.markers import MARKER_MAP
from service.local.demo import Placed, Student
from service.settings import Settings
from service.store.movies import ANALYSIS, JOB
from service.store.queue import Queue
from service.store.schema import FRAMES, MOVIES
from service.store.table import Put
from service.usecases import people
from service.usecases.submit_trace import TraceOrder, submit
from service.web.people import sign_in_link
from tests.support.asgi_server import serving
from tracer import synthetic

T = TypeVar("T")
COURSE = "bio"
WIDTH, HEIGHT = 640, 480


@dataclass(frozen=True, slots=True)
class Person:
    user_id: str
    api_key: str
    name: str


@dataclass(frozen=True, slots=True)
class Filmed:
    """A movie with known truth: where its markers are on frame 0 (upper-left origin), and its scene."""

    path: Path
    scene: synthetic.Scene
    markers: Sequence[Placed]


def _nothing(_word: str, _done: int, _total: int) -> None:
    """Progress that nobody looks at."""


class Site:
    """A running service. `url` has no slash at its end."""

    def __init__(self, app: Service, url: str, loop: asyncio.AbstractEventLoop) -> None:
        self.app = app
        self.url = url
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 60) -> T:
        """Do something on the service's own loop, where its clients live, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=seconds)

    def person(self, name: str, *, admin: bool = False, super_role: str | None = None) -> Person:
        """Somebody of the course Bio 101."""

        async def add() -> Person:
            stores = self.app.runtime.stores
            await people.add_course(stores, COURSE, "Bio 101")
            email = f"{name.lower().replace(' ', '.')}@school.test"
            added = await people.add_user(stores, email, name, COURSE, course_admin=admin, super_role=super_role)
            return Person(added.user_id, added.api_key, name)

        return self.run(add())

    def link_for(self, person: Person) -> str:
        return self.run(sign_in_link(self.app.runtime, person.user_id, self.url))

    def shelve(self, person: Person, *titles: str) -> None:
        """Movies that are only there to be listed: rows without files, as if not yet uploaded."""

        async def put() -> None:
            stores = self.app.runtime.stores
            for title in titles:
                row = {
                    "movie_id": stores.ids.movie_id(),
                    "user_id": person.user_id,
                    "user_name": person.name,
                    "course_id": COURSE,
                    "title": title,
                    "status": "uploading",
                    "published": False,
                    "deleted": False,
                    "created_at": stores.clock.now(),
                }
                await stores.database.write(Put(MOVIES, row))

        self.run(put())

    def upload(self, person: Person, film: Filmed, title: str) -> str:
        """A movie that is ready to be marked; returns its id."""
        return self._as(person, lambda student: _uploaded(student, film, title))

    def traced(self, person: Person, film: Filmed, title: str) -> str:
        """A movie that was marked and traced; nobody holds it."""
        return self._as(person, lambda student: _traced(student, film, title))

    def copy(self, movie_id: str, title: str) -> str:
        """Another movie with the same files and frames, held by nobody: quicker than to upload and trace once more."""

        async def put() -> str:
            stores = self.app.runtime.stores
            movie = await stores.movies.get(movie_id)
            assert movie is not None
            other = stores.ids.movie_id()
            # A trace replaces the labelled movie, and this one is not the copy's to replace.
            left_out = {*ANALYSIS, *JOB, "movie_traced_urn"}
            row = {name: value for name, value in movie.row.items() if name not in left_out}
            await stores.database.write(Put(MOVIES, {**row, "movie_id": other, "title": title}))
            frames = [item async for item in stores.frames.span(movie_id, MARKER_MAP, movie.total_frames)]
            for item in frames:
                await stores.database.write(Put(FRAMES, {**item, "movie_id": other}))
            return other

        return self.run(put())

    def hold(self, person: Person, movie_id: str) -> None:
        """Let somebody edit a movie, as if in a window elsewhere."""
        self._as(person, lambda student: student.post("/api/acquire-movie-analysis-lease", movie_id=movie_id))

    def strand(self, person: Person, movie_id: str) -> None:
        """A trace that was accepted and then lost: no worker hears of it, and its lease has run out."""

        async def submit_unheard() -> None:
            stores = self.app.runtime.stores
            deaf = replace(
                stores, queue=Queue(stores.queue.client, dict.fromkeys(stores.queue.urls, "http://127.0.0.1:9/nobody"))
            )
            actor = await stores.people.actor_of_key(person.api_key)
            assert actor is not None
            await submit(deaf, actor, TraceOrder(movie_id, f"stranded-{movie_id}"[:60], {"movie_id": movie_id}))

        self.run(submit_unheard())
        self.change(movie_id, tracing_expires_at=int(time.time()) - 1)

    def change(self, movie_id: str, **attributes: Any) -> None:
        """Give a movie's row these attributes, behind the service's back; None takes one away."""

        async def put() -> None:
            stores = self.app.runtime.stores
            movie = await stores.movies.get(movie_id)
            assert movie is not None
            row = {name: value for name, value in {**movie.row, **attributes}.items() if value is not None}
            await stores.database.write(Put(MOVIES, row))

        self.run(put())

    def tell(self, event_type: EventType, person: Person, movie_id: str, times: int = 1, **fields: Any) -> None:
        """Write what somebody did with a movie into the audit trail, once each second up to now."""

        async def put() -> None:
            stores = self.app.runtime.stores
            for ago in range(times):
                now = stores.clock.now() - ago
                told = event(
                    stores.ids.log_id(now), event_type, now,
                    user_id=person.user_id, movie_id=movie_id, course_id=COURSE, **fields,
                )  # fmt: skip
                await stores.database.write(stores.audit.event_write(told))

        self.run(put())

    def free(self, movie_id: str) -> None:
        """Take away the lease of a window that an earlier test closed."""

        async def release() -> None:
            stores = self.app.runtime.stores
            movie = await stores.movies.get(movie_id)
            if movie and movie.analysis:
                await stores.movies.release_analysis(movie_id, movie.analysis.lease_id, movie.analysis.user_id)

        self.run(release())

    def break_movie(self, movie_id: str) -> None:
        """Take the file away behind the service's back, so that the next trace fails for a real reason."""

        async def remove() -> None:
            stores = self.app.runtime.stores
            movie = await stores.movies.get(movie_id)
            assert movie is not None
            await stores.objects.delete(stores.objects.key_of(movie.row["movie_data_urn"]))

        self.run(remove())

    def _as(self, person: Person, work: Callable[[Student], Coroutine[Any, Any, T]]) -> T:
        async def walk() -> T:
            async with Student(self.url, person.api_key) as student:
                return await work(student)

        return self.run(walk(), 120)


async def _uploaded(student: Student, film: Filmed, title: str) -> str:
    movie_id: str = (await student.upload(film.path, title, _nothing))["movie_id"]
    return movie_id


async def _traced(student: Student, film: Filmed, title: str) -> str:
    movie_id = await _uploaded(student, film, title)
    lease = await student.place(movie_id, film.markers, HEIGHT)
    await student.trace(movie_id, lease, _nothing)
    return movie_id


def filmed(path: Path, *, frames: int = 40, name: str = "circumnutation") -> Filmed:
    """Film a procedural plant of 640 x 480, which is its own analysis frame."""
    scene = synthetic.scene(name, 1, frames, WIDTH, HEIGHT)
    synthetic.write(scene, path)
    wanted = ("Apex", "Ruler 0mm", "Ruler 10mm")
    return Filmed(path, scene, [Placed(m.label, m.x, m.y) for m in scene.markers if m.label in wanted])


@contextmanager
def running_site(data: Path) -> Iterator[Site]:
    """Start the service with one worker; stop it at the end, also when a test fails."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="site", daemon=True)
    thread.start()
    opened = AsyncExitStack()
    settings = Settings(_env_file=None, data=data, workers=1, grace_seconds=1, log_level="warning")  # type: ignore[call-arg]
    app = create_app(settings)

    async def start() -> int:
        return await opened.enter_async_context(serving(app, lifespan="on"))

    try:
        port = asyncio.run_coroutine_threadsafe(start(), loop).result(timeout=60)
        yield Site(app, f"http://127.0.0.1:{port}", loop)
    finally:
        asyncio.run_coroutine_threadsafe(opened.aclose(), loop).result(timeout=60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
