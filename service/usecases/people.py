"""Who is behind a request, and the people that operators add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from service import metrics
from service.domain.access import Actor
from service.domain.address import checked_name, normal_email
from service.domain.audit import OPERATOR, event
from service.domain.courses import COURSE_KEY_LENGTH, checked_course_id, checked_course_name
from service.domain.errors import CourseNotFound, InvalidApiKey, InvalidParameter, OutcomeUnknown
from service.domain.ids import API_KEY
from service.store.shared_reads import SharedReads
from service.store.stores import Stores
from service.store.table import Item, TransactionRefused, Write

REMEMBERED_SECONDS = 5.0
"""How long a process may go on with what it has read of a key."""


class Authenticator:
    """API keys to people, remembered for five seconds: a disabled key works at most that much longer.

    What is not remembered is looked up together with whatever else is asked for at that moment: one read for keys that
    were seen before, two for new ones.
    """

    def __init__(self, stores: Stores, keep: int = 10_000) -> None:
        self._stores = stores
        self._keep = keep
        self._known: dict[str, tuple[float, Actor]] = {}
        self._lookups = SharedReads[str, Actor](self._look_up, most=50)  # each is two items, and a read takes a hundred

    async def actor(self, api_key: str | None) -> Actor:
        """The person whose key this is. Raises InvalidApiKey, Unavailable."""
        if not api_key or not API_KEY.fullmatch(api_key):
            raise InvalidApiKey
        now = self._stores.clock.monotonic()
        known = self._known.get(api_key)
        if known and now - known[0] < REMEMBERED_SECONDS:
            return known[1]
        actor = await self._lookups.get(api_key)
        if actor is None:
            self._known.pop(api_key, None)
            raise InvalidApiKey
        if len(self._known) >= self._keep:
            metrics.CACHE_EVICTIONS.labels(cache="keys").inc(len(self._known))
            self._known.clear()
        self._known[api_key] = (now, actor)
        metrics.CACHE_WRITES.labels(cache="keys").inc()
        return actor

    async def _look_up(self, api_keys: Sequence[str]) -> dict[str, Actor]:
        seen = {key: self._known[key][1].user_id if key in self._known else None for key in api_keys}
        return await self._stores.people.actors_of_keys(seen, self._stores.clock.now())

    def forget(self, api_key: str) -> None:
        """This key has just been disabled here: look it up again."""
        self._known.pop(api_key, None)

    def forget_person(self, user_id: str) -> None:
        """What this person may do, or is called, has just been changed here: look it up again."""
        for api_key in [key for key, (_, actor) in self._known.items() if actor.user_id == user_id]:
            del self._known[api_key]


@dataclass(frozen=True, slots=True)
class Added:
    user_id: str
    api_key: str


async def add_course(
    stores: Stores,
    course_id: str,
    name: str,
    *,
    limit: int = 500,
    acting_user_id: str = OPERATOR,
    ipaddr: str | None = None,
) -> Item | None:
    """A new course with a key of its own, and the event of it; None if its id is taken.

    Students register with the key; `limit` is how many may. Raises InvalidParameter, Unavailable.
    """
    now = stores.clock.now()
    course: dict[str, Any] = {
        "course_id": checked_course_id(course_id),
        "course_name": checked_course_name(name),
        "course_key": stores.ids.token()[:COURSE_KEY_LENGTH],
        "max_enrollment": limit,
        "created": now,
    }
    log_id = stores.ids.log_id(now)
    made = event(log_id, "course.created", now, user_id=acting_user_id, course_id=course["course_id"], ipaddr=ipaddr)
    try:
        await commit(stores, [*stores.people.course_writes(course), stores.audit.event_write(made)], log_id)
    except TransactionRefused:
        return None
    return course


async def add_user(
    stores: Stores,
    email: str,
    name: str,
    course_id: str,
    *,
    course_admin: bool = False,
    super_role: str | None = None,
) -> Added:
    """A new user of an existing course, with a key. The course's limit is for students who register themselves.

    Raises CourseNotFound, InvalidParameter (address taken).
    """
    course = await stores.people.course(course_id)
    await stores.people.count_members(course)
    now = stores.clock.now()
    address = normal_email(email)
    user: dict[str, Any] = {
        "user_id": stores.ids.user_id(),
        "email": address,
        "user_name": checked_name(name, address),
        "primary_course_id": course_id,
    }
    if super_role:
        user[super_role] = 1
    writes = stores.people.new_user_writes(user, course_id, now, course_admin=course_admin)
    writes.append(stores.people.seat_write(course_id, limited=False))
    if course_admin:
        assigned = event(
            stores.ids.log_id(now),
            "course.admin.assigned",
            now,
            user_id=OPERATOR,
            course_id=course_id,
            subject_user_id=user["user_id"],
        )
        writes.append(stores.audit.event_write(assigned))
    try:
        await stores.transact(writes)
    except TransactionRefused as refusal:
        if 0 in refusal.refused:
            raise InvalidParameter("email", "somebody is registered under this address already") from None
        raise CourseNotFound from None
    except OutcomeUnknown:
        if await stores.people.user_id_of_email(address) != user["user_id"]:
            raise
    return Added(user["user_id"], await add_key(stores, user["user_id"]))


async def add_key(stores: Stores, user_id: str) -> str:
    """One more key for a user."""
    api_key = stores.ids.api_key()
    await stores.people.add_key(api_key, user_id, stores.clock.now())
    return api_key


async def commit(stores: Stores, writes: Sequence[Write], log_id: str) -> None:
    """A transaction that holds an event; after a lost reply the event's own id tells whether it was made.

    Raises TransactionRefused, StoreUnavailable, OutcomeUnknown (not even that could be read).
    """
    try:
        await stores.transact(writes)
    except OutcomeUnknown:
        if not await stores.audit.holds(log_id):
            raise
