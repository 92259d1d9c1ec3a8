"""What superusers and administrators do: courses and who administers them, how things stand, what lies in the store."""

from __future__ import annotations

from dataclasses import asdict

from flask import Blueprint, Response, request

from service.domain.courses import shown_course, shown_user
from service.usecases import courses, directory, inspect_storage
from service.usecases.courses import Administration
from service.web.auth import caller, reachable
from service.web.context import stores, web
from service.web.directory import paged
from service.web.people_schemas import NewCourse, OfAdministrator, OfMoviePath, Page
from service.web.render import said
from service.web.schemas import checked, parsed

admin = Blueprint("admin", __name__, url_prefix="/api/admin")


@admin.get("/summary")
async def summary() -> Response:
    """Each course with its members, its movies by status, and the bytes of what was uploaded."""
    actor, asked = await caller(), parsed(Page)
    page = await directory.summary(stores(), actor, offset=asked.offset, count=asked.count)
    return said(courses=page.entries, **paged(asked.offset, page))


@admin.post("/courses")
async def new_course() -> Response:
    """A new course; the answer holds the key that its students register with."""
    actor, asked = await caller(), parsed(NewCourse)
    course = await courses.create_course(
        stores(),
        actor,
        asked.course_id,
        asked.course_name or asked.course_id,
        limit=asked.max_enrollment,
        ipaddr=request.remote_addr,
    )
    return said(201, course=shown_course(course, administers=True))


@admin.put("/courses/<path:course_id>/administrators/<user>")
async def assign_administrator(course_id: str, user: str) -> Response:
    """Make a user (id or address) an administrator of the course, and a member. Repeating it changes nothing."""
    actor, of = await caller(), checked(OfAdministrator, {"course_id": course_id, "user": user})
    done = await courses.assign(stores(), actor, of.course_id, of.user, ipaddr=request.remote_addr)
    return _administration(of.course_id, done)


@admin.delete("/courses/<path:course_id>/administrators/<user>")
async def remove_administrator(course_id: str, user: str) -> Response:
    """Take the administrator's right away; the person stays a member. Repeating it changes nothing."""
    actor, of = await caller(), checked(OfAdministrator, {"course_id": course_id, "user": user})
    done = await courses.remove(stores(), actor, of.course_id, of.user, ipaddr=request.remote_addr)
    return _administration(of.course_id, done)


def _administration(course_id: str, done: Administration) -> Response:
    web().authenticator.forget_person(done.user["user_id"])
    return said(course_id=course_id, user=shown_user(done.user), changed=done.changed)


@admin.get("/movies/<movie_id>/media")
async def movie_media(movie_id: str) -> Response:
    """Each file that the movie names: where it lies, how long it is, and a signed link."""
    actor, of = await caller(), checked(OfMoviePath, {"movie_id": movie_id})
    found = await inspect_storage.media(stores(), actor, of.movie_id)
    for entry in found:
        if "url" in entry:
            entry["url"] = reachable(entry["url"])
    return said(movie_id=of.movie_id, media=found)


@admin.get("/movies/<movie_id>/storage-health")
async def movie_storage_health(movie_id: str) -> Response:
    """Whether the files that the movie names are there and whole, and which others lie beside them."""
    actor, of = await caller(), checked(OfMoviePath, {"movie_id": movie_id})
    health = await inspect_storage.storage_health(stores(), actor, of.movie_id)
    return said(healthy=not health.problems, **asdict(health))
