"""Frames of a movie: one item per frame with its trackpoints, and one item that maps marker ids to labels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from service.domain.lease import Fence
from service.domain.markers import MARKER_MAP, MarkerMap
from service.domain.movie import Hidden, hiding
from service.store.conditions import frame_is_hidden_by, holds_fence
from service.store.expressions import Condition, Update, between, equals, keyed
from service.store.schema import FRAMES, MOVIES
from service.store.single_flight import SingleFlight
from service.store.table import Change, Check, Database, Delete, Item, Put, TransactionRefused, Write

CHUNK_FRAMES = 99
"""A transaction holds at most 100 writes; one of them is the fence."""


class Frames:
    """Guarantees: a frame is written either with a person's edit or behind a job's fence, never on its own."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._windows: SingleFlight[tuple[str, int, int], list[Item]] = SingleFlight()

    async def get(self, movie_id: str, frame_number: int, *, consistent: bool = True) -> Item | None:
        return await self._db.get(FRAMES, {"movie_id": movie_id, "frame_number": frame_number}, consistent=consistent)

    async def markers(self, movie_id: str, *, consistent: bool = True) -> MarkerMap:
        """marker_id -> {label, color, undeletable}; empty for an untouched movie."""
        item = await self.get(movie_id, MARKER_MAP, consistent=consistent)
        return dict(item["markers"]) if item else {}

    def span(
        self,
        movie_id: str,
        first: int,
        last: int,
        *,
        consistent: bool = False,
        attributes: Sequence[str] = (),
        page: int | None = None,
    ) -> AsyncIterator[Item]:
        """Stored frames `first` to `last`, inclusive, in order; read `page` at a time."""
        return self._db.query(
            FRAMES,
            keyed(equals("movie_id", movie_id), between("frame_number", first, last)),
            consistent=consistent,
            attributes=attributes,
            page=page,
        )

    async def window(self, movie_id: str, first: int, last: int) -> list[Item]:
        """The same frames read eventually, once for all who ask meanwhile: for readers, who change nothing in them."""

        async def read() -> list[Item]:
            return [item async for item in self.span(movie_id, first, last)]

        return await self._windows.get((movie_id, first, last), read)

    async def numbered(self, movie_id: str, numbers: Sequence[int]) -> list[Item]:
        """Those of these frames that are stored, in order; read eventually, by their keys. For readers only.

        A span costs the embedded database its way through all frames of the movie for each page; this does not.
        """
        found = await self._db.get_many(FRAMES, [{"movie_id": movie_id, "frame_number": n} for n in numbers])
        return sorted(found, key=lambda item: int(item["frame_number"]))

    @staticmethod
    def placed_write(
        movie_id: str,
        frame_number: int,
        points: Sequence[Mapping[str, Any]],
        edit_seq: int,
        time: float | None = None,
        condition: Condition | None = None,
    ) -> Put:
        """A frame as a person placed it. `edit_seq` is the row's counter after this edit."""
        item = {
            "movie_id": movie_id,
            "frame_number": frame_number,
            "trackpoints": list(points),
            "edit_seq": edit_seq,
        }
        return Put(FRAMES, item if time is None else {**item, "time": time}, condition)

    @staticmethod
    def marker_map_write(
        movie_id: str,
        labels: Mapping[str, Mapping[str, Any]],
        edit_seq: int | None = None,
        condition: Condition | None = None,
    ) -> Put:
        """The whole marker map. `edit_seq` as of `placed_write`; none where no person's edit changes it."""
        item = {"movie_id": movie_id, "frame_number": MARKER_MAP, "markers": {m: dict(e) for m, e in labels.items()}}
        return Put(FRAMES, item if edit_seq is None else {**item, "edit_seq": edit_seq}, condition)

    @staticmethod
    def marker_map_check(movie_id: str, condition: Condition) -> Check:
        return Check(FRAMES, {"movie_id": movie_id, "frame_number": MARKER_MAP}, condition)

    @staticmethod
    def traced_write(
        fence: Fence,
        frame_number: int,
        points: Sequence[Mapping[str, Any]],
        plan_version: int,
        time: float | None = None,
    ) -> Put:
        """A frame as a job traced it; always inside the transaction that checks the fence. `time` in seconds."""
        item = {
            "movie_id": fence.movie_id,
            "frame_number": frame_number,
            "trackpoints": list(points),
            "job_id": fence.job_id,
            "attempt": fence.attempt,
            "plan_version": plan_version,
        }
        return Put(FRAMES, item if time is None else {**item, "time": time})

    async def clean(self, fence: Fence, spans: tuple[Hidden, ...], now: int) -> int:
        """Delete what hidden spans hide, behind the fence. Points that a person placed stay if the span keeps them.

        In their order, since what one keeps counts as kept from then on. Each frame is deleted only while it is still
        what the span hides. Returns how many frames were removed or cut down. Raises FenceLost's cause,
        TransactionRefused at position 0, when the job is no longer this worker's.
        """
        cleaned = 0
        for span in spans:
            writes: list[Write] = [
                _cleared(fence.movie_id, item, span)
                async for item in self.span(fence.movie_id, span.first, span.last, consistent=True)
                if span in hiding(item, spans)
            ]
            for start in range(0, len(writes), CHUNK_FRAMES):
                check = Check(MOVIES, {"movie_id": fence.movie_id}, holds_fence(fence, now))
                await self._clean_batch([check, *writes[start : start + CHUNK_FRAMES]])
            cleaned += len(writes)
        return cleaned

    async def _clean_batch(self, writes: list[Write]) -> None:
        while len(writes) > 1:
            try:
                await self._db.transact(writes)
                return
            except TransactionRefused as refusal:
                if 0 in refusal.refused:
                    raise
                writes = [w for i, w in enumerate(writes) if i not in refusal.refused]


def _cleared(movie_id: str, item: Item, span: Hidden) -> Write:
    key = {"movie_id": movie_id, "frame_number": item["frame_number"]}
    placed = [p for p in item.get("trackpoints") or [] if p.get("placed") == "user"] if span.keep_placed else []
    hidden = frame_is_hidden_by(span)
    if not placed:
        return Delete(FRAMES, key, hidden)
    kept = Update(set={"trackpoints": placed, "edit_seq": span.edit_seq}, remove=("job_id", "attempt", "plan_version"))
    return Change(FRAMES, key, kept, hidden)
