"""Rows of the older service, brought up to date in place: each by one conditional write, so none is turned twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from service.domain.markers import MARKER_MAP, MarkerMap
from service.domain.movie import ORIGIN, Movie, movie_from_row
from service.store import conditions as when
from service.store.expressions import Update
from service.store.schema import EMAILS, FRAMES, MOVIES, USERS
from service.store.table import Change, ConditionFailed, Database, Item, Put

LAST_FRAME = 2**31


class Legacy:
    """Guarantees: a row that this service has written, or that was brought up to date before, is left as it is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def movies(self) -> AsyncIterator[Movie]:
        """Every movie, also deleted ones."""
        async for row in self._db.scan(MOVIES):
            yield movie_from_row(row)

    async def turn(self, item: Item, points: Sequence[Mapping[str, Any]]) -> bool:
        """Store the frame's points as they are shown. False if that, an edit or a trace was done meanwhile."""
        key = {"movie_id": item["movie_id"], "frame_number": item["frame_number"]}
        turned = Update(set={"trackpoints": [dict(point) for point in points], "edit_seq": 0})
        return await self._written(Change(FRAMES, key, turned, when.frame_is_of_the_older_service()))

    async def write_markers(self, movie_id: str, labels: MarkerMap) -> bool:
        """The marker map of a movie that has none. False if it has one by now."""
        item = {"movie_id": movie_id, "frame_number": MARKER_MAP, "markers": labels}
        return await self._written(Put(FRAMES, item, when.is_new("frame_number")))

    async def complete(self, movie: Movie, attributes: Mapping[str, Any]) -> bool:
        """Add what the row lacks and correct what has another form, if those attributes are still as they were read."""
        condition = when.movie_exists()
        for name in attributes:
            condition = condition & when.attribute_is_as_read(name, movie.row)
        update = Update(set=attributes)
        return await self._written(Change(MOVIES, {"movie_id": movie.movie_id}, update, condition))

    async def say_turned(self, movie_id: str) -> bool:
        """Note on the row that all its points have their origin at the lower left."""
        update = Update(set={"trackpoint_origin": ORIGIN})
        condition = when.movie_exists() & when.points_are_not_all_turned()
        return await self._written(Change(MOVIES, {"movie_id": movie_id}, update, condition))

    def people(self) -> AsyncIterator[Item]:
        """Every user, also disabled ones."""
        return self._db.scan(USERS)

    async def claim(self, address: str, user_id: str) -> bool:
        """Say whose address this is. False if somebody's it is already."""
        return await self._written(Put(EMAILS, {"email": address, "user_id": user_id}, when.is_new("email")))

    async def write_address(self, user_id: str, written: str, address: str) -> bool:
        """Replace an address as it was read by its one form. False if it was changed meanwhile."""
        condition = when.attribute_is_as_read("email", {"email": written})
        return await self._written(Change(USERS, {"user_id": user_id}, Update(set={"email": address}), condition))

    async def _written(self, write: Change | Put) -> bool:
        try:
            await self._db.write(write)
        except ConditionFailed:
            return False
        return True
