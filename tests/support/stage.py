"""Journeys of a movie through actors of whom one may die, and what the survivors make of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from service.domain.access import Actor
from service.domain.job import Chunk, Output, TraceTask
from service.domain.movie import COMPLETED, FAILED, PROCESSING, READY, TRACING, UPLOADING, frame_shows
from service.store.expressions import Update
from service.store.marshal import pack_item
from service.store.schema import MOVIES
from service.store.stores import Stores
from service.store.table import Change, Delete
from service.usecases import edit_movie
from service.usecases.analysis_lease import acquire, release
from service.usecases.sweep import sweep
from service.worker.delivery import handle
from tests.support.engines import ScriptedEngine
from tests.support.lab import POINTS, Lab
from tests.support.messages import next_message
from tests.support.mortal import Fate, Killed, mortal

FRAMES = 12
BYTES = b"a movie's bytes"
SHA256 = hashlib.sha256(BYTES).hexdigest()
STARTED = ("movie.tracing.started", "movie.upload.completed", "movie.inspection.started")
T = TypeVar("T")


class CheckpointingEngine(ScriptedEngine):
    """Sends its state with every chunk, and notes every task it is given."""

    def __init__(self) -> None:
        super().__init__(chunk=6)
        self.tasks: list[TraceTask] = []

    async def trace(self, task: TraceTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        self.tasks.append(task)
        async for output in super().trace(task, stop):
            yield replace(output, checkpoint=b"%d" % output.last) if isinstance(output, Chunk) else output


@dataclass
class Stage:
    """One run: a movie, its owner, the fate that hangs over `actor`s, and the survivors' own door."""

    lab: Lab
    owner: Actor
    fate: Fate
    movie_id: str = ""
    page: str = ""
    acknowledged: list[str] = field(default_factory=list)
    """Jobs that somebody was told of."""
    engine: CheckpointingEngine = field(default_factory=CheckpointingEngine)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def survivors(self) -> Stores:
        return self.lab.stores

    def actor(self, name: str) -> Stores:
        return mortal(self.lab.stores, self.fate, name)

    async def act(self, deed: Awaitable[T]) -> T | None:
        """Await what an actor does; None if it died of it."""
        try:
            return await deed
        except Killed:
            return None
        except BaseExceptionGroup as group:
            _, others = group.split(Killed)
            if others is not None:
                raise
            return None

    async def traced_movie(self) -> None:
        """A movie that was traced before, being edited: frames to hide and an artifact to replace."""
        self.movie_id = await self.lab.ready_movie(self.owner, frames=FRAMES)
        stores = self.survivors
        former = f"movies/{self.movie_id}/former/traced.mp4"
        await stores.objects.put(former, b"former", "video/mp4")
        update = Update(set={"movie_traced_urn": stores.objects.urn(former), "status": COMPLETED})
        await stores.database.write(Change(MOVIES, {"movie_id": self.movie_id}, update))
        points = [{"marker_id": "id-Apex", "x": 1.0, "y": 1.0, "status": 1, "err": 0.0, "placed": "trace"}]
        items = [
            {"movie_id": self.movie_id, "frame_number": n, "trackpoints": points, "job_id": "former"}
            for n in range(1, FRAMES)
        ]
        puts = [{"PutRequest": {"Item": pack_item(item)}} for item in items]
        table = stores.database.prefix + "movie_frames"
        await stores.database.client.batch_write_item(RequestItems={table: puts})
        lease = (await acquire(stores, self.owner, self.movie_id, request_key="page")).lease
        assert lease
        self.page = lease.lease_id

    async def work(self, stores: Stores) -> None:
        """A worker empties the queue."""
        while (delivery := await next_message(stores.queue)) is not None:
            await handle(stores, delivery, self.engine, self.stop, "veryfast")  # type: ignore[arg-type]

    async def recover(self) -> int:
        """Survivors sweep and work, the clock going on to each next due time; returns the seconds it took (I11)."""
        clock, began = self.lab.clock, self.lab.clock.now()
        self.stop = asyncio.Event()
        for _ in range(12):
            movie = await self.lab.movie(self.movie_id)
            if movie.tracing is None and movie.status not in (TRACING, PROCESSING, UPLOADING):
                return clock.now() - began
            await self.work(self.survivors)
            movie = await self.lab.movie(self.movie_id)
            due = movie.row.get("sweep_due_at")
            if due is not None:
                clock.advance(max(0, due - clock.now()))
                await sweep(self.survivors)
                await self.work(self.survivors)
        raise AssertionError(f"the job never ended: {(await self.lab.movie(self.movie_id)).row}")

    async def judge_shown(self) -> None:
        """I5: right after a death a reader sees the frames of one job, and of the one under way if there is one."""
        movie = await self.lab.movie(self.movie_id)
        stored = [item async for item in self.survivors.frames.span(self.movie_id, 1, FRAMES)]
        shown = {item.get("job_id") for item in stored if frame_shows(movie, item)}
        assert len(shown) <= 1
        if movie.tracing:
            assert shown <= {movie.tracing.job_id}

    async def judge(self) -> str:
        """I1, I6, I10, I11, I12 after everything; returns the movie's final status."""
        row = (await self.lab.movie(self.movie_id)).row
        assert row["status"] in (COMPLETED, FAILED, READY)
        assert not [name for name in row if name.startswith("sweep_") or name in ("trace_job_id", "tracing_claim_id")]
        receipts = {r["job_id"]: r for r in await self.lab.receipts(self.movie_id)}
        assert set(self.acknowledged) <= set(receipts)
        assert {r["state"] for r in receipts.values()} <= {"done", "failed"}
        events = [e async for e in self.survivors.audit.of("movie_id", self.movie_id) if e.get("trace_job_id")]
        told = Counter((e["trace_job_id"], e["event_type"] in STARTED) for e in events)
        assert told == {(job, started): 1 for job in receipts for started in (True, False)}
        for task in self.engine.tasks:
            assert task.checkpoint == (None if task.resume_after is None else b"%d" % task.resume_after)
        traced_again = len(self.engine.traced) - len(set(self.engine.traced))
        assert traced_again <= self.engine.chunk, "what a checkpoint held was traced again"
        if row["status"] == COMPLETED and "results_job_id" in row:
            await self._judge_result(row)
        await self._judge_editable(row["edit_seq"])
        return str(row["status"])

    async def _judge_result(self, row: Any) -> None:
        stored = {f["frame_number"]: f async for f in self.survivors.frames.span(self.movie_id, 0, FRAMES)}
        assert {n: f["trackpoints"][0]["x"] for n, f in stored.items()} == {n: 100.0 + n for n in range(FRAMES)}
        assert {f.get("job_id") for f in stored.values()} == {row["results_job_id"]}
        assert await self.survivors.objects.head(self.survivors.objects.key_of(row["movie_traced_urn"]))
        assert not [name for name in row if name.startswith("hidden_")]

    async def _judge_editable(self, edit_seq: int) -> None:
        """The movie is free: a lease that somebody died with runs out, and then anybody may edit."""
        self.lab.clock.advance(900)
        lease = (await acquire(self.survivors, self.owner, self.movie_id)).lease
        assert lease
        edited = await edit_movie.put_frame_trackpoints(
            self.survivors, self.owner, self.movie_id, lease.lease_id, 0, POINTS
        )
        assert edited.edit_seq == edit_seq + 1
        assert await release(self.survivors, self.owner, self.movie_id, lease.lease_id)

    async def remove(self) -> None:
        if self.movie_id:
            await self.survivors.database.write(Delete(MOVIES, {"movie_id": self.movie_id}))
