"""Users, their keys and their courses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from service.domain.access import Actor
from service.domain.errors import CourseNotFound
from service.store import conditions as when
from service.store.expressions import Update, equals, present
from service.store.schema import COURSE_USERS, COURSES, EMAILS, KEYS, USERS
from service.store.table import Change, ConditionFailed, Database, Item, Put, TransactionRefused, Write


class People:
    """A user's item carries the courses he belongs to and administers, so that one read tells his rights."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def actor_of_key(self, api_key: str) -> Actor | None:
        """The person whose key this is; None if the key or the person is unknown or disabled."""
        key = await self._db.get(KEYS, {"api_key": api_key}, consistent=False)
        if not key or not key.get("enabled", 1):
            return None
        user = await self.user(key["user_id"])
        return actor_of(user) if user and user.get("enabled", 1) else None

    async def user(self, user_id: str) -> Item | None:
        return await self._db.get(USERS, {"user_id": user_id}, consistent=False)

    async def user_of_email(self, email: str) -> Item | None:
        claimed = await self._db.get(EMAILS, {"email": email})
        return await self.user(claimed["user_id"]) if claimed else None

    async def add_user(self, user: Mapping[str, Any], course_id: str | None, course_admin: bool, now: int) -> bool:
        """A new user under an address that nobody has. False if somebody has it; nothing is written then."""
        item = {
            "created": now,
            "enabled": 1,
            "courses": [course_id] if course_id else [],
            "admin_of": [course_id] if course_id and course_admin else [],
            **user,
        }
        writes: list[Write] = [
            Put(EMAILS, {"email": user["email"], "user_id": user["user_id"]}, when.is_new("email")),
            Put(USERS, item, when.is_new("user_id")),
        ]
        if course_id:
            writes.append(Put(COURSE_USERS, {"course_id": course_id, "user_id": user["user_id"], "joined": now}))
        try:
            await self._db.transact(writes)
        except TransactionRefused:
            return False
        return True

    async def set_user(self, user_id: str, details: Mapping[str, Any]) -> bool:
        """Change a user's attributes. False if there is no such user."""
        try:
            await self._db.write(Change(USERS, {"user_id": user_id}, Update(set=details), present("user_id")))
        except ConditionFailed:
            return False
        return True

    async def add_key(self, api_key: str, user_id: str, now: int) -> None:
        await self._db.write(
            Put(KEYS, {"api_key": api_key, "user_id": user_id, "enabled": 1, "created": now}, when.is_new("api_key"))
        )

    async def disable_key(self, api_key: str, now: int) -> bool:
        """False if there is no such key."""
        gone = Update(set={"enabled": 0, "disabled_at": now})
        try:
            await self._db.write(Change(KEYS, {"api_key": api_key}, gone, present("api_key")))
        except ConditionFailed:
            return False
        return True

    async def course(self, course_id: str) -> Item:
        item = await self._db.get(COURSES, {"course_id": course_id}, consistent=False)
        if item is None:
            raise CourseNotFound
        return item

    async def add_course(self, course: Mapping[str, Any]) -> bool:
        """False if a course with this id exists already."""
        try:
            await self._db.write(Put(COURSES, course, when.is_new("course_id")))
        except ConditionFailed:
            return False
        return True

    def members(self, course_id: str) -> AsyncIterator[Item]:
        return self._db.query(COURSE_USERS, equals("course_id", course_id))


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
