"""The audit trail. An event is written in the same transaction as the state it tells of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from service.store import conditions as when
from service.store.expressions import between, equals, keyed
from service.store.schema import LOGS
from service.store.table import Database, Item, Put

_INDEX = {"movie_id": "movie_id_idx", "course_id": "course_time_t_idx", "user_id": "user_id_idx"}


class Audit:
    def __init__(self, database: Database) -> None:
        self._db = database

    @staticmethod
    def event_write(event: Mapping[str, Any]) -> Put:
        """One event, once: a log id is never written twice."""
        return Put(LOGS, dict(event), when.event_is_new())

    async def holds(self, log_id: str) -> bool:
        """Has this event been written?"""
        return await self._db.get(LOGS, {"log_id": log_id}) is not None

    def of(
        self,
        attribute: str,
        value: str,
        *,
        start: int = 0,
        end: int = 2**40,
        limit: int | None = None,
        page: int | None = None,
    ) -> AsyncIterator[Item]:
        """Events of a movie, course or user (`attribute` names which), newest first, within `start`..`end` seconds.

        `page`: how many to read at a time, for a reader who may stop early.
        """
        condition = keyed(equals(attribute, value), between("time_t", start, end))
        return self._db.query(LOGS, condition, index=_INDEX[attribute], backwards=True, limit=limit, page=page)
