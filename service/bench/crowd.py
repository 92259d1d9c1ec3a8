"""People with keys and movies that are ready, put into a service's store before a load begins."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from service.bench.stages import Place
from service.domain.movie import Movie
from service.store.schema import MOVIES
from service.store.stores import Stores
from service.store.table import Put
from service.usecases import people

COURSE = "bench"
_AT_ONCE = 100


async def add_people(stores: Stores, count: int, *, may_edit: bool = False) -> list[people.Added]:
    """So many members of the course of load tests; with `may_edit` they administer it."""
    await people.add_course(stores, COURSE, "Load test", limit=100_000)
    return [
        await people.add_user(stores, f"{uuid.uuid4().hex}@bench.example", "Load", COURSE, course_admin=may_edit)
        for _ in range(count)
    ]


async def add_movies(stores: Stores, owner: str, count: int, *, frames: int = 0) -> list[str]:
    """So many movies that all of the course may see and that can be edited; the ids.

    `frames`: how many of their frames hold a trackpoint of each of three markers.
    """
    return [await _ready_movie(stores, owner, frames) for _ in range(count)]


async def _ready_movie(stores: Stores, owner: str, frames: int) -> str:
    movie_id = stores.ids.movie_id()
    row: dict[str, Any] = {
        "movie_id": movie_id,
        "user_id": owner,
        "user_name": "Load",
        "course_id": COURSE,
        "title": "Load test",
        "status": "ready",
        "published": True,
        "deleted": False,
        "edit_seq": 0,
        "total_frames": max(100, frames),
        "width": 640,
        "height": 480,
        "frame_width": 640,
        "frame_height": 480,
        "created_at": stores.clock.now(),
    }
    await stores.database.write(Put(MOVIES, row))
    if frames:
        labels = {str(n): {"label": f"Point {n}", "color": "#0072B2"} for n in range(3)}
        writes = [
            stores.frames.placed_write(movie_id, number, _points(number, list(labels)), 0) for number in range(frames)
        ]
        await stores.database.write(stores.frames.marker_map_write(movie_id, labels))
        for start in range(0, frames, _AT_ONCE):
            await stores.transact(writes[start : start + _AT_ONCE])
    return movie_id


async def add_copies(stores: Stores, movie: Movie, owners: Sequence[str], places: Sequence[Place]) -> list[str]:
    """A movie for each of these people, ready to trace, that shares the file of `movie`; the ids.

    `places`: markers on frame 0.
    """
    labels = {str(n): {"label": label, "color": "#0072B2"} for n, (label, _, _) in enumerate(places)}
    points = [
        {"marker_id": str(n), "x": x, "y": movie.frame_height - y, "status": 1, "err": 0.0, "placed": "user"}
        for n, (_, x, y) in enumerate(places)
    ]
    made = []
    for owner in owners:
        movie_id = stores.ids.movie_id()
        row = {**movie.row, "movie_id": movie_id, "user_id": owner, "course_id": COURSE, "published": True}
        await stores.transact(
            [
                Put(MOVIES, row),
                stores.frames.marker_map_write(movie_id, labels),
                stores.frames.placed_write(movie_id, 0, points, 0),
            ]
        )
        made.append(movie_id)
    return made


def _points(frame: int, markers: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"marker_id": marker, "x": 100.0 + frame % 100, "y": 50.0 * n, "status": 1, "err": 0.0, "placed": "user"}
        for n, marker in enumerate(markers, start=1)
    ]
