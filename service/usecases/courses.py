"""Who administers a course, and which course a person works in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from service.domain.access import Actor, check_course, check_superadmin
from service.domain.address import normal_email
from service.domain.audit import event
from service.domain.errors import ChangedMeanwhile, CourseTaken, NoRight, UserNotFound
from service.domain.ids import USER_ID
from service.store.stores import Stores
from service.store.table import Item, TransactionRefused, Write
from service.usecases import people

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Administration:
    """Who administers the course now, and whether this request changed it."""

    user: Mapping[str, Any]
    changed: bool


async def create_course(
    stores: Stores, actor: Actor, course_id: str, name: str, *, limit: int, ipaddr: str | None = None
) -> Item:
    """A new course. Raises NoRight (superadmins make courses), CourseTaken, InvalidParameter, Unavailable."""
    check_superadmin(actor)
    course = await people.add_course(stores, course_id, name, limit=limit, acting_user_id=actor.user_id, ipaddr=ipaddr)
    if course is None:
        raise CourseTaken(course_id=course_id.strip())
    return course


async def assign(
    stores: Stores, actor: Actor, course_id: str, who: str, *, ipaddr: str | None = None
) -> Administration:
    """Make a user an administrator of a course, and a member if he was none. Doing it again changes nothing.

    `who` is an id or an address. Raises NoRight, CourseNotFound, UserNotFound, InvalidParameter, ChangedMeanwhile,
    Unavailable.
    """

    def writes(user: Item) -> list[Write] | None:
        administers, belongs = user.get("admin_of") or (), user.get("courses") or ()
        if course_id in administers:
            return None
        now = stores.clock.now()
        new = {"admin_of": [*administers, course_id]}
        if course_id in belongs:
            return [stores.people.courses_write(user, **new), stores.people.course_check(course_id)]
        return [
            *stores.people.join_writes(user, course_id, now, **new),
            stores.people.seat_write(course_id, limited=False),
        ]

    return await _change(stores, actor, course_id, who, "course.admin.assigned", writes, ipaddr)


async def remove(
    stores: Stores, actor: Actor, course_id: str, who: str, *, ipaddr: str | None = None
) -> Administration:
    """Take the right away; the person stays a member. Doing it again changes nothing. Raises as `assign` does."""

    def writes(user: Item) -> list[Write] | None:
        administers = user.get("admin_of") or ()
        if course_id not in administers:
            return None
        left = [course for course in administers if course != course_id]
        return [stores.people.courses_write(user, admin_of=left)]

    return await _change(stores, actor, course_id, who, "course.admin.removed", writes, ipaddr)


async def _change(
    stores: Stores,
    actor: Actor,
    course_id: str,
    who: str,
    happened: Literal["course.admin.assigned", "course.admin.removed"],
    writes: Callable[[Item], list[Write] | None],
    ipaddr: str | None,
) -> Administration:
    """The change and its event in one transaction, on the person as he is now."""
    check_superadmin(actor)
    await stores.people.count_members(await stores.people.course(course_id, consistent=True))
    user_id = await _user_id(stores, who)
    for _ in range(_TRIES):
        user = await stores.people.user(user_id, consistent=True)
        if user is None:
            raise UserNotFound
        change = writes(user)
        if change is None:
            return Administration(user, False)
        now = stores.clock.now()
        log_id = stores.ids.log_id(now)
        told = event(
            log_id,
            happened,
            now,
            user_id=actor.user_id,
            course_id=course_id,
            ipaddr=ipaddr,
            subject_user_id=user_id,
        )
        try:
            await people.commit(stores, [*change, stores.audit.event_write(told)], log_id)
        except TransactionRefused:
            continue  # the person's courses changed meanwhile
        return Administration(await stores.people.user(user_id, consistent=True) or user, True)
    raise ChangedMeanwhile


async def _user_id(stores: Stores, who: str) -> str:
    if USER_ID.fullmatch(who):
        return who
    user_id = await stores.people.user_id_of_email(normal_email(who, "user"))
    if user_id is None:
        raise UserNotFound
    return user_id


async def set_default_course(stores: Stores, actor: Actor, course_id: str) -> Item:
    """The course that a person's lists and uploads are of from now on: one that he belongs to; a superadmin's is any.

    Raises NoRight, CourseNotFound, Unavailable.
    """
    check_course(actor, course_id)
    course = await stores.people.course(course_id)
    everywhere = "superadmin" in actor.roles
    if not await stores.people.set_default_course(actor.user_id, course_id, any_course=everywhere):
        raise NoRight(what="work in this course; you do not belong to it")
    return course
