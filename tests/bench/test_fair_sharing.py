"""How long one person waits beside a class that uploads two hundred movies, and an upload beside a flood of traces.

    pytest -m bench tests/bench/test_fair_sharing.py -s

Real uploads, the real queue, a real worker with two slots. What counts is the order in which jobs are done.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from service.domain.access import Actor
from service.domain.movie import COMPLETED, READY
from service.local.emulator import Emulator
from service.usecases import people
from service.usecases.upload_movie import NewMovie, new_movie, process_upload
from service.worker.pool import Pool
from tests.support import uploads
from tests.support.workshop import Workshop, open_workshop

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1200)]
CLASS, SLOTS, TRACES = 200, 2, 30
MOVIE = uploads.mp4(12)


async def upload(workshop: Workshop, person: Actor) -> str:
    """Send a movie and do not wait for its inspection."""
    digest = hashlib.sha256(MOVIE).hexdigest()
    key = uuid.uuid4().hex
    order = NewMovie(title="A movie", sha256=digest, length=len(MOVIE), request_key=key, sent={"key": key})
    made = await new_movie(workshop.stores, person, order)
    form = aiohttp.FormData(dict(made.form["fields"]))
    form.add_field("file", MOVIE, filename="movie")
    async with aiohttp.ClientSession() as http, http.post(made.form["url"], data=form) as reply:
        assert reply.status < 300
    await process_upload(workshop.stores, person, made.movie_id)
    return made.movie_id


async def person_of(workshop: Workshop, course: str) -> Actor:
    await people.add_course(workshop.stores, course, course)
    added = await people.add_user(workshop.stores, f"{course}@example.org", course, course)
    found = await workshop.stores.people.actor_of_key(added.api_key)
    assert found
    return found


@asynccontextmanager
async def working(workshop: Workshop) -> AsyncIterator[None]:
    pool = Pool(workshop.stores, workshop.settings, SLOTS)
    running = asyncio.create_task(pool.run())
    try:
        yield
    finally:
        pool.stop()
        await running


async def until(workshop: Workshop, movie_id: str, status: str) -> None:
    while True:
        movie = await workshop.stores.movies.get(movie_id)
        assert movie
        if movie.status == status:
            return
        await asyncio.sleep(0.02)


async def count(workshop: Workshop, movies: list[str], status: str) -> int:
    found = [await workshop.stores.movies.get(movie_id) for movie_id in movies]
    return sum(movie is not None and movie.status == status for movie in found)


async def test_one_upload_beside_two_hundred_of_a_class_and_one_beside_many_traces(emulator: Emulator) -> None:
    async with open_workshop(emulator.endpoint, slots=0) as workshop:
        other = await person_of(workshop, "chem")
        theirs = [await upload(workshop, workshop.student) for _ in range(CLASS)]
        began = time.monotonic()
        async with working(workshop):
            await until(workshop, theirs[2 * SLOTS], READY)  # the worker is warm and under way
            sent = time.monotonic()
            single = await upload(workshop, other)
            await until(workshop, single, READY)
            waited = time.monotonic() - sent
            ahead = await count(workshop, theirs, READY) - 2 * SLOTS
            for movie_id in theirs:
                await until(workshop, movie_id, READY)
            took = time.monotonic() - began
        print(f"\n{CLASS} inspections in {took:.1f} s; the one of another course after {waited:.2f} s")
        print(f"at most {ahead} of the class were done meanwhile")
        assert ahead < 10 * SLOTS

        jobs = []
        for movie_id in theirs[:TRACES]:
            movie = await workshop.stores.movies.get(movie_id)
            assert movie
            await workshop.submit(movie, await workshop.place(movie, [{"label": "Apex", "x": 60.0, "y": 150.0}]))
            jobs.append(movie_id)
        began = time.monotonic()
        async with working(workshop):
            await until(workshop, jobs[0], COMPLETED)
            sent = time.monotonic()
            late = await upload(workshop, workshop.student)
            await until(workshop, late, READY)
            waited, ahead = time.monotonic() - sent, await count(workshop, jobs, COMPLETED)
            for movie_id in jobs:
                await until(workshop, movie_id, COMPLETED)
            took = time.monotonic() - began
        print(f"{TRACES} traces in {took:.1f} s; an upload among them after {waited:.2f} s, when {ahead} were done")
        assert ahead < TRACES
