"""Who is behind a request, and the people that operators add."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from service.domain.access import Actor
from service.domain.errors import InvalidApiKey, InvalidParameter
from service.domain.ids import API_KEY
from service.store.stores import Stores

_SECONDS = 5.0


class Authenticator:
    """API keys to people, remembered for five seconds: a disabled key works at most that much longer."""

    def __init__(self, stores: Stores, keep: int = 10_000) -> None:
        self._stores = stores
        self._keep = keep
        self._known: dict[str, tuple[float, Actor]] = {}

    async def actor(self, api_key: str | None) -> Actor:
        """The person whose key this is. Raises InvalidApiKey, Unavailable."""
        if not api_key or not API_KEY.fullmatch(api_key):
            raise InvalidApiKey
        now = self._stores.clock.monotonic()
        known = self._known.get(api_key)
        if known and now - known[0] < _SECONDS:
            return known[1]
        actor = await self._stores.people.actor_of_key(api_key)
        if actor is None:
            self._known.pop(api_key, None)
            raise InvalidApiKey
        if len(self._known) >= self._keep:
            self._known.clear()
        self._known[api_key] = (now, actor)
        return actor

    def forget(self, api_key: str) -> None:
        """This key has just been disabled here: look it up again."""
        self._known.pop(api_key, None)


def normal_email(email: str) -> str:
    """One form for every way of typing an address: trimmed, NFKC, lower case, the domain in ASCII.

    Raises InvalidParameter for what is no address.
    """
    clean = unicodedata.normalize("NFKC", email).strip().lower()
    local, at, domain = clean.rpartition("@")
    try:
        domain = domain.encode("idna").decode("ascii")
    except UnicodeError:
        domain = ""
    if not (at and local and "." in domain) or any(c.isspace() for c in clean) or len(clean) > 254:
        raise InvalidParameter("email", "is not an e-mail address")
    return f"{local}@{domain}"


@dataclass(frozen=True, slots=True)
class Added:
    user_id: str
    api_key: str


async def add_course(stores: Stores, course_id: str, name: str, *, key: str | None = None, limit: int = 500) -> bool:
    """A new course; False if its id is taken. `key` is what students register with, `limit` how many may."""
    course = {
        "course_id": course_id,
        "course_name": name,
        "course_key": key or stores.ids.token()[:8],
        "max_enrollment": limit,
        "created": stores.clock.now(),
    }
    return await stores.people.add_course(course)


async def add_user(
    stores: Stores,
    email: str,
    name: str,
    course_id: str,
    *,
    course_admin: bool = False,
    super_role: str | None = None,
) -> Added:
    """A new user of an existing course, with a key. Raises CourseNotFound, InvalidParameter (address taken)."""
    await stores.people.course(course_id)
    now = stores.clock.now()
    user: dict[str, Any] = {
        "user_id": stores.ids.user_id(),
        "email": normal_email(email),
        "user_name": name.strip(),
        "primary_course_id": course_id,
    }
    if super_role:
        user[super_role] = 1
    if not await stores.people.add_user(user, course_id, course_admin, now):
        raise InvalidParameter("email", "somebody is registered under this address already")
    return Added(user["user_id"], await add_key(stores, user["user_id"]))


async def add_key(stores: Stores, user_id: str) -> str:
    """One more key for a user."""
    api_key = stores.ids.api_key()
    await stores.people.add_key(api_key, user_id, stores.clock.now())
    return api_key
