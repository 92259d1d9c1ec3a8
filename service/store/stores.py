"""Everything durable, in one record that use cases take as their first argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from service.domain.clock import Clock, SystemClock
from service.domain.ids import Ids
from service.domain.policy import Policy
from service.store.audit import Audit
from service.store.frames import Frames
from service.store.movies import Movies
from service.store.objects import Objects
from service.store.people import People
from service.store.queue import Queue
from service.store.receipts import Receipts
from service.store.table import Database, Write


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
