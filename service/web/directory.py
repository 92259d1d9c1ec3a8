"""Who there is, which course one works in, and what has happened."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from service.usecases import courses, directory
from service.usecases.read_logs import Wanted, read_logs
from service.web.auth import caller
from service.web.context import stores, web
from service.web.movies import course_context
from service.web.people_schemas import DefaultCourse, GetLogs, ListUsers
from service.web.render import said
from service.web.schemas import parsed

people_directory = Blueprint("directory", __name__, url_prefix="/api")


@people_directory.route("/list-users", methods=["GET", "POST"])
@people_directory.route("/list-users-courses", methods=["GET", "POST"], endpoint="list_users_courses")
async def list_users() -> Response:
    """The people whom the caller may see (himself, members of courses that he administers), and those courses."""
    actor, asked = await caller(), parsed(ListUsers)
    page, found = await directory.list_users(
        stores(), actor, course_id=asked.course_id, offset=asked.offset, count=asked.count
    )
    return said(users=page.entries, courses=found, **paged(asked.offset, page))


@people_directory.patch("/default-course")
@people_directory.patch("/current-course", endpoint="current_course")
async def default_course() -> Response:
    """The course that the caller's lists and uploads are of from now on."""
    actor, asked = await caller(), parsed(DefaultCourse)
    course = await courses.set_default_course(stores(), actor, asked.course_id)
    web().authenticator.forget_person(actor.user_id)
    context = await course_context(actor, course["course_id"])
    return said(course_id=course["course_id"], course_name=course.get("course_name", ""), course_context=context)


@people_directory.route("/get-logs", methods=["GET", "POST"])
async def get_logs() -> Response:
    """What has happened, newest first, each event with a sentence: to whoever may read the movie that it is about."""
    actor, asked = await caller(), parsed(GetLogs)
    wanted = Wanted(
        start_time=asked.start_time,
        end_time=2**40 if asked.end_time is None else asked.end_time,
        course_id=asked.course_id,
        movie_id=asked.movie_id,
        user_id=asked.log_user_id,
        offset=asked.offset,
        count=asked.count,
    )
    found = await read_logs(stores(), actor, wanted)
    return said(
        logs=found.events,
        count=len(found.events),
        offset=asked.offset,
        next_offset=asked.offset + len(found.events) if found.more else None,
        cut_short=found.cut_short,
    )


def paged(offset: int, page: directory.Page) -> dict[str, Any]:
    """Where a list goes on, if it does."""
    after = offset + len(page.entries)
    return {"total": page.total, "offset": offset, "next_offset": after if after < page.total else None}
