"""Whole jobs, from the upload to the published result: how long they take and what they ask of database and storage."""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from service.bench.stages import Place
from service.domain.access import Actor
from service.domain.failures import sentence
from service.domain.movie import COMPLETED, READY, Movie, condition
from service.metrics import REGISTRY
from service.store.stores import Stores
from service.usecases import people
from service.usecases.analysis_lease import acquire
from service.usecases.edit_movie import put_frame_trackpoints
from service.usecases.submit_trace import TraceOrder, submit
from service.usecases.upload_movie import NewMovie, new_movie, process_upload

STAGES = ("fetch", "clear", "inspect", "trace", "store", "publish")
_POLL_SECONDS = 0.05
_COURSE = "bench"


class JobDidNotEnd(Exception):
    """A job of the measurement failed; the message is the movie's own sentence."""


@dataclass(frozen=True, slots=True)
class Spent:
    """From the first job's submit to the end of the last: seconds, frames of all movies, what the workers' clients
    asked for by operation, and the seconds of each stage, summed over all jobs.
    """

    seconds: float
    frames: int
    database: Counter[str]
    storage: Counter[str]
    stages: dict[str, float]

    @property
    def frames_per_second(self) -> float:
        return self.frames / self.seconds


class Requests:
    """Counts the requests of two clients by operation."""

    def __init__(self, stores: Stores) -> None:
        self.database, self.storage = Counter[str](), Counter[str]()
        for client, made in ((stores.database.client, self.database), (stores.objects.client, self.storage)):
            client.meta.events.register("before-call", _counting(made))


def _counting(made: Counter[str]) -> Any:
    def note(model: Any, **_: Any) -> None:
        made[model.name] += 1

    return note


class Bench:
    """A person with movies. `mine` are that person's stores, `theirs` the workers', whose requests are counted."""

    def __init__(self, mine: Stores, theirs: Stores, person: Actor) -> None:
        self._mine = mine
        self._person = person
        self._requests = Requests(theirs)

    @classmethod
    async def open(cls, mine: Stores, theirs: Stores) -> Bench:
        await people.add_course(mine, _COURSE, "Load test")
        added = await people.add_user(mine, f"{uuid.uuid4().hex}@bench.example", "Load", _COURSE)
        person = await mine.people.actor_of_key(added.api_key)
        if person is None:
            raise AssertionError("a key that was just made is unknown")
        return cls(mine, theirs, person)

    async def inspected(self, path: Path, movies: int) -> tuple[list[Movie], Spent]:
        """Upload `path` as so many movies and have all of them inspected. Raises JobDidNotEnd."""
        body = await asyncio.to_thread(path.read_bytes)
        uploaded = [await self._uploaded(body) for _ in range(movies)]
        before = self._reading()
        for movie_id in uploaded:
            await process_upload(self._mine, self._person, movie_id)
        ready = [await self._ended(movie_id, READY) for movie_id in uploaded]
        return ready, self._since(before, ready)

    async def traced(self, movies: Sequence[Movie], places: Sequence[Place]) -> Spent:
        """Place the markers on frame 0 of each movie, then trace all of them at once. Raises JobDidNotEnd."""
        leases = [await self._placed(movie, places) for movie in movies]
        before = self._reading()
        for movie, lease in zip(movies, leases, strict=True):
            key = uuid.uuid4().hex
            order = TraceOrder(movie.movie_id, key, {"key": key}, analysis_lease_id=lease)
            await submit(self._mine, self._person, order)
        ended = [await self._ended(movie.movie_id, COMPLETED) for movie in movies]
        return self._since(before, ended)

    async def _uploaded(self, body: bytes) -> str:
        order = NewMovie(
            title="Load test",
            sha256=hashlib.sha256(body).hexdigest(),
            length=len(body),
            request_key=uuid.uuid4().hex,
            sent={"length": len(body)},
        )
        made = await new_movie(self._mine, self._person, order)
        form = aiohttp.FormData(dict(made.form["fields"]))
        form.add_field("file", body, filename="movie")
        async with aiohttp.ClientSession() as http, http.post(made.form["url"], data=form) as reply:
            reply.raise_for_status()
        return made.movie_id

    async def _placed(self, movie: Movie, places: Sequence[Place]) -> str:
        taken = await acquire(self._mine, self._person, movie.movie_id, take_over=True)
        if taken.lease is None:
            raise AssertionError("nobody else edits this movie")
        points = [{"label": label, "x": x, "y": round(movie.frame_height - y, 1)} for label, x, y in places]
        await put_frame_trackpoints(self._mine, self._person, movie.movie_id, taken.lease.lease_id, 0, points)
        return taken.lease.lease_id

    async def _ended(self, movie_id: str, wanted: str) -> Movie:
        while True:
            movie = await self._mine.movies.get(movie_id)
            if movie is None:
                raise AssertionError("a movie of the measurement is gone")
            told = condition(movie, self._mine.clock.now(), self._mine.policy.max_attempts)
            if movie.tracing is None and told.status == wanted:
                return movie
            if movie.tracing is None and told.failure_code:
                raise JobDidNotEnd(told.failure_summary or sentence(told.failure_code))
            await asyncio.sleep(_POLL_SECONDS)

    def _reading(self) -> tuple[float, Counter[str], Counter[str], dict[str, float]]:
        made = self._requests
        return time.monotonic(), made.database.copy(), made.storage.copy(), stage_seconds()

    def _since(self, before: tuple[float, Counter[str], Counter[str], dict[str, float]], movies: list[Movie]) -> Spent:
        now, database, storage, stages = self._reading()
        return Spent(
            seconds=now - before[0],
            frames=sum(movie.total_frames for movie in movies),
            database=database - before[1],
            storage=storage - before[2],
            stages={name: stages[name] - before[3][name] for name in STAGES},
        )


def stage_seconds() -> dict[str, float]:
    """Seconds that all jobs of this process spent in each stage so far."""
    return {name: REGISTRY.get_sample_value("tiptrace_stage_seconds_sum", {"stage": name}) or 0.0 for name in STAGES}
