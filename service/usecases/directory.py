"""Who there is, and how the courses stand: what their administrators and superusers may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.access import Actor, check_sees_everything, may_read_members
from service.domain.courses import shown_course, shown_user
from service.domain.errors import NoRight
from service.domain.movie import condition
from service.store.stores import Stores


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the entries of a list, and how many there are in all."""

    entries: list[dict[str, Any]]
    total: int


def _page(entries: list[dict[str, Any]], offset: int, count: int) -> Page:
    return Page(entries[offset : offset + count], len(entries))


async def list_users(
    stores: Stores, actor: Actor, *, course_id: str | None, offset: int, count: int
) -> tuple[Page, list[dict[str, Any]]]:
    """The people whom this person may see, by name, and the courses that they were looked for in.

    Administrators see the members of their courses, superusers everybody, everybody himself. Raises NoRight for the
    members of a course that the caller does not administer, Unavailable.
    """
    if course_id is not None:
        if not may_read_members(actor, course_id):
            raise NoRight(what="see the members of this course")
        courses = [await stores.people.course(course_id)]
        users = await _members(stores, [course_id])
    elif actor.sees_everything:
        courses = [course async for course in stores.people.every_course()]
        users = [user async for user in stores.people.everybody()]
    else:
        courses = await stores.people.courses(actor.courses | actor.admin_of)
        users = await _members(stores, sorted(actor.admin_of), actor.user_id)
    shown = sorted((_visible(actor, user) for user in users), key=lambda user: _by_name(user))
    told = [shown_course(course, administers=actor.administers(course["course_id"])) for course in courses]
    return _page(shown, offset, count), sorted(told, key=lambda course: course["course_id"])


async def _members(stores: Stores, course_ids: list[str], *also: str) -> list[dict[str, Any]]:
    found = set(also)
    for course_id in course_ids:
        found |= {member["user_id"] async for member in stores.people.members(course_id)}
    return await stores.people.users(found)


def _visible(actor: Actor, user: Mapping[str, Any]) -> dict[str, Any]:
    """A person without the courses of his that are none of the caller's business."""
    told = shown_user(user)
    if actor.sees_everything or actor.user_id == user["user_id"]:
        return told
    for name in ("courses", "admin_of"):
        told[name] = [course_id for course_id in told[name] if may_read_members(actor, course_id)]
    if told["primary_course_id"] not in told["courses"]:
        told["primary_course_id"] = ""
    return told


def _by_name(user: Mapping[str, Any]) -> tuple[str, str]:
    return (user["user_name"] or user["email"]).casefold(), user["user_id"]


async def summary(stores: Stores, actor: Actor, *, offset: int, count: int) -> Page:
    """The courses by id, each with its members, its movies by what they are, and the bytes of what was uploaded.

    Only the courses of this page are counted. Raises NoRight, Unavailable.
    """
    check_sees_everything(actor)
    courses = [course async for course in stores.people.every_course()]
    page = _page(sorted(courses, key=lambda course: str(course["course_id"])), offset, count)
    return Page([await _counted(stores, actor, course) for course in page.entries], page.total)


async def _counted(stores: Stores, actor: Actor, course: Mapping[str, Any]) -> dict[str, Any]:
    course_id, now = course["course_id"], stores.clock.now()
    members = 0
    async for _ in stores.people.members(course_id):
        members += 1
    by_status: Counter[str] = Counter()
    deleted = total_bytes = last = 0
    async for movie in stores.movies.of_course(course_id):
        if movie.deleted:
            deleted += 1
        else:
            by_status[condition(movie, now, stores.policy.max_attempts).status] += 1
        total_bytes += int(movie.row.get("total_bytes") or 0)
        last = max(last, int(movie.row.get("last_activity_at") or movie.row.get("created_at") or 0))
    return {
        **shown_course(course, administers=actor.administers(course_id)),
        "members": members,
        "movies": sum(by_status.values()),
        "movies_by_status": dict(sorted(by_status.items())),
        "movies_deleted": deleted,
        "total_bytes": total_bytes,
        "last_activity_at": last or None,
    }
