"""The audit trail as one person may read it: newest first, each event with a sentence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from service.domain.access import Actor, knows_all_of, may_read, may_read_event
from service.domain.audit import for_readers
from service.domain.movie import Movie, movie_from_row
from service.domain.narration import sentence
from service.store.schema import MOVIES
from service.store.stores import Stores
from service.store.table import Item

MOST_EXAMINED = 20_000
"""Events looked at for one answer, readable or not."""
_PAGE = 500
_HIDDEN = frozenset({"client_version"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events: between two instants (epoch seconds, inclusive), of a course, a movie, a person; which page."""

    start_time: int = 0
    end_time: int = 2**40
    course_id: str | None = None
    movie_id: str | None = None
    user_id: str | None = None
    offset: int = 0
    count: int = 100

    def takes(self, event: Mapping[str, Any]) -> bool:
        pairs = (("course_id", self.course_id), ("movie_id", self.movie_id), ("user_id", self.user_id))
        return all(value is None or event.get(name) == value for name, value in pairs)


@dataclass(slots=True)
class Found:
    """`more`: there are older ones. `cut_short`: too many were looked at; ask for a narrower span of time."""

    events: list[dict[str, Any]] = field(default_factory=list)
    more: bool = False
    cut_short: bool = False


async def read_logs(stores: Stores, actor: Actor, wanted: Wanted) -> Found:
    """The events that were asked for and that this person may read; of others he does not learn that they exist.

    Without a movie, person or course the trails of his own doing and of his courses are read together; a superuser's
    are all courses' (what belongs to no course is found by its movie or person). Of what others did, those who only
    read it get the sentence without its circumstances. Raises Unavailable.
    """
    found = Found()
    movies = _Movies(stores)
    skipped = examined = 0
    page = min(wanted.offset + wanted.count + 1, _PAGE)
    span = {"start": wanted.start_time, "end": wanted.end_time, "page": page}
    trails = [stores.audit.of(name, value, **span) for name, value in await _trails(stores, actor, wanted)]
    async with aclosing(_merged(trails)) as newest_first:
        async for events in _batches(newest_first, page):
            if examined >= MOST_EXAMINED:
                found.cut_short = found.more = True
                break
            examined += len(events)
            asked_for = [event for event in events if wanted.takes(event)]
            await movies.read(event for event in asked_for if not may_read_event(actor, event))
            for event in asked_for:
                if not may_read_event(actor, event, movies.of(event)):
                    continue
                if skipped < wanted.offset:
                    skipped += 1
                elif len(found.events) == wanted.count:
                    found.more = True
                    break
                else:
                    found.events.append(event)
            if found.more:
                break
    named = await _names(stores, actor, found.events)
    found.events = [{**_shown(actor, event), "sentence": sentence(event, named)} for event in found.events]
    return found


def _shown(actor: Actor, event: Mapping[str, Any]) -> dict[str, Any]:
    if not knows_all_of(actor, event):
        return for_readers(event)
    return {name: value for name, value in event.items() if name not in _HIDDEN}


class _Movies:
    """The movies that events are about, each read once, for whoever may read the event only if he may read these."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._known: dict[str, Movie | None] = {}

    async def read(self, events: Iterable[Mapping[str, Any]]) -> None:
        new = sorted({event["movie_id"] for event in events if "movie_id" in event} - self._known.keys())
        rows = await self._stores.database.get_many(MOVIES, [{"movie_id": movie_id} for movie_id in new])
        self._known |= dict.fromkeys(new)
        self._known |= {row["movie_id"]: movie_from_row(row) for row in rows}

    def of(self, event: Mapping[str, Any]) -> Movie | None:
        """None for what was not read or is gone."""
        return self._known.get(event.get("movie_id", ""))


async def _trails(stores: Stores, actor: Actor, wanted: Wanted) -> list[tuple[str, str]]:
    """The indexes to read: the narrowest one that holds everything wanted."""
    if wanted.movie_id is not None:
        return [("movie_id", wanted.movie_id)]
    if wanted.user_id is not None and (actor.sees_everything or wanted.user_id == actor.user_id):
        return [("user_id", wanted.user_id)]
    if wanted.course_id is not None:
        return [("course_id", wanted.course_id)]
    if actor.sees_everything:
        courses = [course["course_id"] async for course in stores.people.every_course()]
        return [*(("course_id", course) for course in courses), ("user_id", actor.user_id)]
    return [*(("course_id", course) for course in sorted(actor.courses | actor.admin_of)), ("user_id", actor.user_id)]


async def _batches(events: AsyncIterator[Item], size: int) -> AsyncGenerator[list[Item], None]:
    """`size` events at a time, so that the movies of all of them are read at once."""
    batch: list[Item] = []
    async for event in events:
        batch.append(event)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def _merged(trails: list[AsyncIterator[Item]]) -> AsyncGenerator[Item, None]:
    """Newest first out of trails that are newest first; an event on two of them comes once."""
    heads: list[tuple[int, int, Item, AsyncIterator[Item]]] = []

    async def refill(place: int, trail: AsyncIterator[Item]) -> None:
        event = await anext(trail, None)
        if event is not None:
            heappush(heads, (-event["time_t"], place, event, trail))

    for place, trail in enumerate(trails):
        await refill(place, trail)
    instant: int | None = None
    seen = set[str]()
    while heads:
        time, place, event, trail = heappop(heads)
        if time != instant:
            instant, seen = time, set()
        if event["log_id"] not in seen:
            seen.add(event["log_id"])
            yield event
        await refill(place, trail)


async def _names(stores: Stores, actor: Actor, events: list[dict[str, Any]]) -> Callable[[str, str], str | None]:
    """What people call the users, movies and courses of these events; three reads, however many there are.

    A movie that the reader may not see any more is not named: it may be called otherwise by now.
    """
    people = {event[name] for event in events for name in ("user_id", "subject_user_id") if name in event}
    movies = {event["movie_id"] for event in events if "movie_id" in event}
    courses = {event["course_id"] for event in events if "course_id" in event}
    rows = await stores.database.get_many(MOVIES, [{"movie_id": movie_id} for movie_id in sorted(movies)])
    seen = [row for row in rows if may_read(actor, movie_from_row(row))]
    called: dict[tuple[str, str], str | None] = {("movie", row["movie_id"]): row.get("title") for row in seen}
    called |= {("user", user["user_id"]): user.get("user_name") for user in await stores.people.users(people)}
    called |= {
        ("course", course["course_id"]): course.get("course_name") for course in await stores.people.courses(courses)
    }
    return lambda kind, identity: called.get((kind, identity))
