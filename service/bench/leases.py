"""Many clients contend for the analysis leases of a few movies; every operation is recorded."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from service.bench.history import Final, Kind, Operation
from service.domain.errors import InvalidParameter
from service.store.schema import MOVIES
from service.store.stores import Stores
from service.store.table import Put
from service.usecases import people

_COURSE = "bench"


@dataclass
class Contest:
    """Who takes part (API keys), over which movies, and what happened."""

    keys: Sequence[str]
    movies: Sequence[str]
    history: list[Operation] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


async def prepare(stores: Stores, clients: int, movies: int) -> Contest:
    """People who may all edit, and movies that are ready, straight through the store."""
    await people.add_course(stores, _COURSE, "Load test", limit=100_000)
    keys, owner = [], ""
    for _ in range(clients):
        try:
            added = await people.add_user(
                stores, f"{uuid.uuid4().hex}@bench.example", "Load", _COURSE, course_admin=True
            )
        except InvalidParameter as fault:  # an address can only be taken if random numbers repeat
            raise AssertionError from fault
        keys.append(added.api_key)
        owner = added.user_id
    return Contest(keys, [await _ready_movie(stores, owner) for _ in range(movies)])


async def _ready_movie(stores: Stores, owner: str) -> str:
    movie_id = stores.ids.movie_id()
    row = {
        "movie_id": movie_id,
        "user_id": owner,
        "course_id": _COURSE,
        "title": "Load test",
        "status": "ready",
        "published": False,
        "deleted": False,
        "edit_seq": 0,
        "total_frames": 100,
        "width": 640,
        "height": 480,
        "frame_width": 640,
        "frame_height": 480,
        "created_at": stores.clock.now(),
    }
    await stores.database.write(Put(MOVIES, row))
    return movie_id


async def contend(url: str, contest: Contest, seconds: float, *, seed: int = 1) -> float:
    """All clients at once until `seconds` are over; returns how long it took."""
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as http:
        started = time.monotonic()
        clients = [
            _Client(n, key, contest, http, random.Random(f"{seed}-{n}"))  # nosec B311  # noqa: S311  repeatable, not secret
            for n, key in enumerate(contest.keys)
        ]
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(client.run(started + seconds))
        return time.monotonic() - started


async def finals(stores: Stores, movies: Sequence[str]) -> dict[str, Final]:
    """The rows as they stand, read consistently."""
    found = {}
    for movie_id in movies:
        movie = await stores.movies.get(movie_id)
        if movie is None:
            raise AssertionError("a movie of the load test is gone")
        found[movie_id] = Final(movie.edit_seq, movie.row.get("fpm"))
    return found


class _Client:
    """One page: acquire, edit a few times with a heartbeat between, release; sometimes take over or just leave."""

    def __init__(
        self, number: int, key: str, contest: Contest, http: aiohttp.ClientSession, chance: random.Random
    ) -> None:
        self._number = number
        self._contest = contest
        self._http = http
        self._chance = chance
        self._headers = {"x-api-key": key, "X-Client-Version": "bench-1"}
        self._written = 0

    async def run(self, until: float) -> None:
        while time.monotonic() < until:
            movie = self._chance.choice(self._contest.movies)
            kind: Kind = "take over" if self._chance.random() < 0.02 else "acquire"
            fields = {"take_over": 1} if kind == "take over" else {}
            answer, start, end = await self._ask(
                "/api/acquire-movie-analysis-lease", movie, lease_request_key=uuid.uuid4().hex, **fields
            )
            lease = answer.get("lease_id") if answer else None
            lock = (answer or {}).get("analysis_lock") or {}
            self._note(kind, movie, start, end, answer, bool(lease), lease=lease, expires=_on_our_clock(lock, end))
            if lease:
                await self._edit(movie, lease)

    async def _edit(self, movie: str, lease: str) -> None:
        for _ in range(self._chance.randint(0, 3)):
            self._written += 1
            value = f"{1 + self._number + self._written / 1_000_000:.10g}"
            answer, start, end = await self._ask("/api/set-movie-fpm", movie, fpm=value, analysis_lease_id=lease)
            accepted = bool(answer) and not (answer or {}).get("error")
            told = ((answer or {}).get("metadata") or {}) if accepted else {}
            self._note(
                "write", movie, start, end, answer, accepted, lease=lease, edit_seq=told.get("edit_seq", 0), value=value
            )
            if self._chance.random() < 0.3:
                answer, start, end = await self._ask(
                    "/api/heartbeat-movie-analysis-lease", movie, analysis_lease_id=lease
                )
                active = bool((answer or {}).get("active"))
                self._note(
                    "heartbeat",
                    movie,
                    start,
                    end,
                    answer,
                    active,
                    lease=lease,
                    expires=_on_our_clock(answer or {}, end),
                )
        if self._chance.random() < 0.97:  # the others close the laptop: only expiry or a take-over frees the movie
            answer, start, end = await self._ask("/api/release-movie-analysis-lease", movie, analysis_lease_id=lease)
            self._note("release", movie, start, end, answer, bool((answer or {}).get("released")), lease=lease)

    async def _ask(self, path: str, movie: str, **fields: Any) -> tuple[dict[str, Any] | None, float, float]:
        """The answer, or None if it never came or was no answer (5xx), between two instants."""
        start = time.monotonic()
        try:
            async with self._http.post(path, data={"movie_id": movie, **fields}, headers=self._headers) as reply:
                answer: dict[str, Any] = await reply.json(content_type=None)
                status = reply.status
        except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
            self._contest.errors.append(f"{path}: {type(fault).__name__}")
            return None, start, time.monotonic()
        if status >= 500:
            self._contest.errors.append(f"{path}: {status} {answer.get('code')}")
            return None, start, time.monotonic()
        return answer, start, time.monotonic()

    def _note(self, kind: Kind, movie: str, start: float, end: float, answer: Any, accepted: bool, **more: Any) -> None:
        self._contest.history.append(
            Operation(kind, self._number, movie, start, end, accepted, answered=answer is not None, **more)
        )


def _on_our_clock(answer: dict[str, Any], end: float) -> float:
    """The earliest instant, on our monotonic clock, at which a lease with this wall-clock expiry can be stale.

    Both clocks are this machine's or close; a second is given away because stored instants are whole seconds.
    """
    expires = answer.get("expires_at")
    return end + max(0.0, expires - time.time() - 1.0) if expires else 0.0
