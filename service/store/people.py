"""Users, their keys and their courses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from service.domain.access import Actor
from service.domain.errors import CourseNotFound, OutcomeUnknown
from service.domain.policy import SESSION, SESSION_SECONDS
from service.store import conditions as when
from service.store.expressions import Condition, Update, equals
from service.store.schema import COURSE_USERS, COURSES, EMAILS, KEYS, USERS
from service.store.table import Change, Check, ConditionFailed, Database, Item, Put, Write


class People:
    """A user's item carries the courses he belongs to and administers, so that one read tells his rights.

    `course_users` lists the same from the course's side, and a course's `enrolled` counts it; all three change in one
    transaction. Methods named `..._write` and `..._writes` return what such a transaction is made of.
    """

    def __init__(self, database: Database) -> None:
        self._db = database

    async def actor_of_key(self, api_key: str, now: int = 0) -> Actor | None:
        """The person whose key this is; None if the key or the person is unknown or disabled, or the key has ended.

        `now`: epoch seconds. Only keys that signing in has made end.
        """
        return (await self.actors_of_keys({api_key: None}, now)).get(api_key)

    async def actors_of_keys(self, whose: Mapping[str, str | None], now: int) -> dict[str, Actor]:
        """The same for many keys at once. `whose`: the user that each key was last seen to be of, None if of none.

        A key stays its user's, so those seen before cost one read of both.
        """
        seen = {user_id for user_id in whose.values() if user_id}
        found = await self._db.get_across(
            [(KEYS, {"api_key": key}) for key in whose] + [(USERS, {"user_id": user_id}) for user_id in sorted(seen)]
        )
        owners = {key["api_key"]: key["user_id"] for key in found.get(KEYS, ()) if _is_good(key, now)}
        users = {user["user_id"]: user for user in found.get(USERS, ())}
        for user in await self.users(set(owners.values()) - seen):
            users[user["user_id"]] = user
        return {
            key: actor_of(users[user_id])
            for key, user_id in owners.items()
            if user_id in users and users[user_id].get("enabled", 1)
        }

    async def user(self, user_id: str, *, consistent: bool = False) -> Item | None:
        return await self._db.get(USERS, {"user_id": user_id}, consistent=consistent)

    async def users(self, user_ids: Iterable[str]) -> list[Item]:
        """Those of these users who exist, in any order."""
        return await self._db.get_many(USERS, [{"user_id": user_id} for user_id in sorted(set(user_ids))])

    def everybody(self) -> AsyncIterator[Item]:
        return self._db.scan(USERS)

    async def user_id_of_email(self, email: str) -> str | None:
        claimed = await self._db.get(EMAILS, {"email": email})
        return claimed["user_id"] if claimed else None

    async def user_of_email(self, email: str) -> Item | None:
        user_id = await self.user_id_of_email(email)
        return await self.user(user_id, consistent=True) if user_id else None

    def new_user_writes(self, user: Mapping[str, Any], course_id: str, now: int, *, course_admin: bool) -> list[Write]:
        """A new user under an address that nobody has, as a member of a course. The first write is the address's."""
        item = {
            "created": now,
            "enabled": 1,
            "courses": [course_id],
            "admin_of": [course_id] if course_admin else [],
            **user,
        }
        return [
            Put(EMAILS, {"email": user["email"], "user_id": user["user_id"]}, when.is_new("email")),
            Put(USERS, item, when.is_new("user_id")),
            self._member_write(course_id, user["user_id"], now),
        ]

    def join_writes(self, user: Mapping[str, Any], course_id: str, now: int, **lists: Sequence[str]) -> list[Write]:
        """Make a user as he was read a member of one more course; `lists` as of `courses_write`."""
        return [
            self.courses_write(user, courses=[*(user.get("courses") or ()), course_id], **lists),
            self._member_write(course_id, user["user_id"], now),
        ]

    @staticmethod
    def courses_write(user: Mapping[str, Any], **lists: Sequence[str]) -> Change:
        """Replace `courses`, `admin_of` or both, if they are as they were in `user`.

        A counter tells, since the embedded database takes any two lists for equal.
        """
        condition = when.courses_are_as_read(int(user.get("courses_seq") or 0))
        changed = Update(set=lists, add={"courses_seq": 1})
        return Change(USERS, {"user_id": user["user_id"]}, changed, condition)

    @staticmethod
    def _member_write(course_id: str, user_id: str, now: int) -> Put:
        return Put(COURSE_USERS, {"course_id": course_id, "user_id": user_id, "joined": now})

    @staticmethod
    def seat_write(course_id: str, *, limited: bool) -> Change:
        """One member more. `limited`: only while the course has room."""
        condition: Condition = when.has_a_seat() if limited else when.members_are_counted()
        return Change(COURSES, {"course_id": course_id}, Update(add={"enrolled": 1}), condition)

    @staticmethod
    def course_check(course_id: str) -> Check:
        return Check(COURSES, {"course_id": course_id}, when.course_exists())

    async def count_members(self, course: Mapping[str, Any]) -> None:
        """Give a course of an older service the number of its members, which every later change of it keeps."""
        if "enrolled" in course:
            return
        course_id = course["course_id"]
        members = [member async for member in self.members(course_id, consistent=True)]
        counted = Update(set={"enrolled": len(members)})
        with suppress(ConditionFailed):  # somebody else has just done it
            await self._db.write(Change(COURSES, {"course_id": course_id}, counted, when.members_are_not_counted()))

    async def set_user(self, user_id: str, details: Mapping[str, Any]) -> bool:
        """Change a user's attributes. False if there is no such user."""
        return await self._set_user(user_id, details, when.user_exists())

    async def set_default_course(self, user_id: str, course_id: str, *, any_course: bool) -> bool:
        """False if he does not belong to the course. `any_course`: he need not."""
        condition = when.user_exists() if any_course else when.belongs_to(course_id)
        return await self._set_user(user_id, {"primary_course_id": course_id}, condition)

    async def _set_user(self, user_id: str, details: Mapping[str, Any], condition: Condition) -> bool:
        """One conditional write of whole values. After a lost reply the row tells whether it was made."""
        try:
            await self._db.write(Change(USERS, {"user_id": user_id}, Update(set=details), condition))
        except ConditionFailed:
            return False
        except OutcomeUnknown:
            after = await self.user(user_id, consistent=True) or {}
            if any(after.get(name) != value for name, value in details.items()):
                raise
        return True

    async def add_key(self, api_key: str, user_id: str, now: int) -> None:
        """A key that nobody has, so that after a lost or doubled request its own name tells whether it was stored."""
        key = {"api_key": api_key, "user_id": user_id, "enabled": 1, "created": now}
        try:
            await self._db.write(Put(KEYS, key, when.is_new("api_key")))
        except (OutcomeUnknown, ConditionFailed):
            if not await self._db.get(KEYS, {"api_key": api_key}):
                raise

    async def disable_key(self, api_key: str, now: int) -> bool:
        """False if there is no such key."""
        gone = Update(set={"enabled": 0, "disabled_at": now})
        try:
            await self._db.write(Change(KEYS, {"api_key": api_key}, gone, when.key_exists()))
        except ConditionFailed:
            return False
        except OutcomeUnknown:
            after = await self._db.get(KEYS, {"api_key": api_key})
            if after is None or after.get("enabled", 1):
                raise
        return True

    async def course(self, course_id: str, *, consistent: bool = False) -> Item:
        item = await self._db.get(COURSES, {"course_id": course_id}, consistent=consistent)
        if item is None:
            raise CourseNotFound
        return item

    async def course_of_key(self, course_key: str) -> Item | None:
        """The one course with this key; None if there is none, or if older rows share it."""
        found = [
            course
            async for course in self._db.query(
                COURSES, equals("course_key", course_key), index="course_key_idx", limit=2
            )
        ]
        return found[0] if len(found) == 1 else None

    def course_writes(self, course: Mapping[str, Any]) -> list[Write]:
        """A new course."""
        return [Put(COURSES, {**course, "enrolled": 0}, when.is_new("course_id"))]

    def every_course(self) -> AsyncIterator[Item]:
        return self._db.scan(COURSES)

    async def courses(self, course_ids: Iterable[str]) -> list[Item]:
        """Those of these courses that exist, in any order."""
        return await self._db.get_many(COURSES, [{"course_id": course_id} for course_id in sorted(set(course_ids))])

    def members(self, course_id: str, *, consistent: bool = False) -> AsyncIterator[Item]:
        return self._db.query(COURSE_USERS, equals("course_id", course_id), consistent=consistent)


def _is_good(key: Item, now: int) -> bool:
    ended = key.get("made_for") == SESSION and now >= int(key["created"]) + SESSION_SECONDS
    return bool(key.get("enabled", 1)) and not ended


def actor_of(user: Mapping[str, Any]) -> Actor:
    """A stored user as the person behind a request."""
    roles = {role for role in ("superadmin", "superauditor") if user.get(role)}
    return Actor(
        user_id=user["user_id"],
        name=user.get("user_name") or user.get("email") or user["user_id"],
        email=user.get("email", ""),
        course_id=user.get("primary_course_id", ""),
        courses=frozenset(user.get("courses") or ()),
        admin_of=frozenset(user.get("admin_of") or ()),
        roles=frozenset(roles),
    )
