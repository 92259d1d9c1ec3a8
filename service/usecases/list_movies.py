"""The movies that a person may see, newest first, each with the lock that is live on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from service.domain.access import Actor, may_read
from service.domain.movie import Movie
from service.store.stores import Stores
from service.usecases.read_movie import metadata

_SHOWN = (
    "movie_id", "title", "description", "status", "status_reason", "tracing_failure_summary", "failure_code",
    "resuming", "user_id", "user_name", "course_id", "published", "deleted", "created_at", "uploaded_at",
    "last_activity_at", "total_frames", "total_bytes", "width", "height", "frame_width", "frame_height", "fpm",
    "last_frame_tracked", "needs_retracing", "can_edit", "analysis_lock", "tracking_lock", "results_job_id",
)  # fmt: skip


async def list_movies(stores: Stores, actor: Actor, *, course_id: str | None = None) -> list[dict[str, Any]]:
    """Own movies and those of the person's courses (or of `course_id`) that he may read. Raises Unavailable."""
    found: dict[str, Movie] = {}
    if course_id is None:
        async for movie in stores.movies.of_user(actor.user_id):
            found[movie.movie_id] = movie
    courses = {course_id} if course_id else actor.courses | actor.admin_of
    for course in sorted(courses):
        async for movie in stores.movies.of_course(course):
            found[movie.movie_id] = movie
    readable = [movie for movie in found.values() if may_read(actor, movie)]
    readable.sort(key=lambda movie: int(movie.row.get("created_at") or 0), reverse=True)
    return [_summary(stores, actor, movie) for movie in readable]


async def courses_of(stores: Stores, listed: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Id and name of every course that these movies belong to, by name. Raises Unavailable."""
    courses = await stores.people.courses({movie["course_id"] for movie in listed if movie.get("course_id")})
    named = [
        {"course_id": one["course_id"], "course_name": one.get("course_name") or one["course_id"]} for one in courses
    ]
    return sorted(named, key=lambda one: one["course_name"].casefold())


def _summary(stores: Stores, actor: Actor, movie: Movie) -> dict[str, Any]:
    told = metadata(stores, actor, movie)
    return {name: told[name] for name in _SHOWN if name in told}
