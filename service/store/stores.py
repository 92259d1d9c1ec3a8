"""Everything durable, in one record that use cases take as their first argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from service.domain.clock import Clock, SystemClock
from service.domain.ids import Ids
from service.domain.movie import Movie, movie_from_row
from service.domain.policy import Policy
from service.store.audit import Audit
from service.store.frames import Frames
from service.store.held_movies import HeldMovies
from service.store.movies import Movies
from service.store.objects import Objects
from service.store.people import People
from service.store.queue import Queue
from service.store.receipts import Receipts
from service.store.schema import FRAMES, MOVIES
from service.store.table import Database, Item, Write


@dataclass(frozen=True, slots=True)
class Stores:
    """`clock` and `ids` are parameters of every use case too, and travel with the stores."""

    database: Database
    movies: Movies
    frames: Frames
    receipts: Receipts
    audit: Audit
    people: People
    objects: Objects
    queue: Queue
    policy: Policy
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=Ids)
    held: HeldMovies = field(default_factory=HeldMovies)

    async def with_frames(self, movie_id: str, numbers: Sequence[int]) -> tuple[Movie | None, dict[int, Item | None]]:
        """A movie and these of its frames (or its marker map), read in one go. They may be of different moments."""
        keys: list[tuple[str, dict[str, Any]]] = [(MOVIES, {"movie_id": movie_id})]
        keys += [(FRAMES, {"movie_id": movie_id, "frame_number": number}) for number in numbers]
        row, *items = await self.database.get_together(keys)
        return movie_from_row(row) if row else None, dict(zip(numbers, items, strict=True))

    async def transact(self, writes: Sequence[Write]) -> None:
        """All of these writes or none; see Database.transact for the errors."""
        await self.database.transact(writes)


def build_stores(
    database: Database,
    objects: Objects,
    queue: Queue,
    policy: Policy,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Stores:
    """The stores over open clients."""
    return Stores(
        database=database,
        movies=Movies(database, policy),
        frames=Frames(database),
        receipts=Receipts(database, policy),
        audit=Audit(database),
        people=People(database),
        objects=objects,
        queue=queue,
        policy=policy,
        clock=clock or SystemClock(),
        ids=ids or Ids(),
    )
