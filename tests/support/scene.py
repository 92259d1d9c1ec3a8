"""One movie on the stage: what tests prepare without faults, and every row and object they look at afterwards."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from service.domain.access import Actor
from service.domain.movie import Movie
from service.store.expressions import Update
from service.store.queue import JobMessage
from service.store.schema import MOVIES
from service.store.stores import Stores
from service.store.table import Change, Delete, Item
from service.usecases import edit_movie
from service.usecases.job_lease import JobLease
from service.usecases.sweep import sweep
from service.usecases.upload_movie import NewMovie, new_movie, process_upload, upload_key
from tests.support.fault_lab import FaultLab
from tests.support.lab_worker import claimed, message_of, run
from tests.support.messages import next_message

BYTES = b"a movie's bytes"
MOVED = [{"marker_id": "id-Apex", "x": 11.5, "y": 22.5}]


@dataclass
class Scene:
    """One movie, its owner, and what a deed's preparation left for it."""

    faulty: FaultLab
    owner: Actor
    movie_id: str = ""
    page: str = ""
    lease: JobLease | None = None
    job_id: str = ""
    message: JobMessage | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def direct(self) -> Stores:
        return self.faulty.lab.stores

    async def movie(self) -> Movie:
        return await self.faulty.lab.movie(self.movie_id)

    async def events(self) -> Counter[str]:
        return Counter([e["event_type"] async for e in self.direct.audit.of("movie_id", self.movie_id)])

    async def frames(self) -> dict[int, Item]:
        return {item["frame_number"]: item async for item in self.direct.frames.span(self.movie_id, 0, 99)}

    async def messages(self) -> list[JobMessage]:
        """Take everything out of the queue; what was for this movie."""
        found = []
        while (delivery := await next_message(self.direct.queue)) is not None:
            found.append(delivery.message())
            await self.direct.queue.delete(delivery)
        return [m for m in found if m.movie_id == self.movie_id]

    async def keys(self) -> list[str]:
        """The names of the movie's stored objects, without the movie's own prefix."""
        found = [
            key
            for folder in ("uploads", "movies")
            for key in await self.direct.objects.keys(f"{folder}/{self.movie_id}/")
        ]
        return sorted(key.replace(self.movie_id, "*") for key in found)

    async def remove(self) -> None:
        """Take the row away, so that no later sweep finds it."""
        if self.movie_id:
            await self.direct.database.write(Delete(MOVIES, {"movie_id": self.movie_id}))


async def ready(scene: Scene) -> None:
    scene.movie_id = await scene.faulty.lab.ready_movie(scene.owner)


async def being_edited(scene: Scene) -> None:
    await ready(scene)
    scene.page = await scene.faulty.page(scene.owner, scene.movie_id)


async def uploaded(scene: Scene) -> None:
    """Being edited, and its file can be verified when it is read again."""
    await being_edited(scene)
    known = Update(set={"movie_data_sha256": hashlib.sha256(BYTES).hexdigest(), "movie_data_length": len(BYTES)})
    await scene.direct.database.write(Change(MOVIES, {"movie_id": scene.movie_id}, known))


async def queued(scene: Scene) -> None:
    await ready(scene)
    submitted = await scene.faulty.lab.submit(scene.owner, scene.movie_id, key=f"key-{scene.movie_id}")
    scene.job_id, scene.message = submitted.receipt.job_id, message_of(submitted)
    await scene.messages()


async def running(scene: Scene) -> None:
    await queued(scene)
    assert scene.message
    scene.lease = await claimed(scene.faulty.stores, scene.message)


async def retracing(scene: Scene) -> None:
    """The second trace of a movie: frames to hide and to clean, a point to keep, an artifact to replace."""
    await being_edited(scene)
    lab = scene.faulty.lab
    first = await lab.submit(scene.owner, scene.movie_id, f"first-{scene.movie_id}", analysis_lease_id=scene.page)
    assert await run(lab.stores, await claimed(lab.stores, message_of(first))) == "completed"
    scene.notes["first_job"] = first.receipt.job_id
    page = await scene.faulty.page(scene.owner, scene.movie_id)
    await edit_movie.put_frame_trackpoints(lab.stores, scene.owner, scene.movie_id, page, 20, MOVED)
    second = await lab.submit(
        scene.owner,
        scene.movie_id,
        f"second-{scene.movie_id}",
        frame_start=5,
        frame_end=24,
        keep_placed=True,
        analysis_lease_id=page,
    )
    scene.job_id = second.receipt.job_id
    scene.lease = await claimed(scene.faulty.stores, message_of(second))
    await scene.messages()


async def gone_stale(scene: Scene) -> None:
    await running(scene)
    scene.faulty.clock.advance(900)


async def gone_stale_too_often(scene: Scene) -> None:
    await running(scene)
    for attempt in (2, 3):
        scene.faulty.clock.advance(900)
        await sweep(scene.direct)
        await claimed(scene.direct, JobMessage(scene.movie_id, scene.job_id, attempt))
    scene.faulty.clock.advance(900)


async def unannounced(scene: Scene) -> None:
    await queued(scene)
    scene.faulty.clock.advance(30)


async def announced_upload(scene: Scene) -> None:
    order = order_of(f"upload-{scene.direct.ids.token()}")
    scene.movie_id = (await new_movie(scene.direct, scene.owner, order)).movie_id
    scene.notes["order"] = order


async def arrived_upload(scene: Scene) -> None:
    await announced_upload(scene)
    await scene.direct.objects.put(upload_key(scene.movie_id), BYTES, "application/octet-stream")


async def expired_upload(scene: Scene) -> None:
    await announced_upload(scene)
    scene.faulty.clock.advance(86_400)


async def inspecting(scene: Scene) -> None:
    await arrived_upload(scene)
    movie = await process_upload(scene.direct, scene.owner, scene.movie_id)
    assert movie.tracing
    scene.job_id = movie.tracing.job_id
    scene.lease = await claimed(scene.faulty.stores, JobMessage(scene.movie_id, scene.job_id, 1))
    await scene.messages()


def order_of(key: str) -> NewMovie:
    digest = hashlib.sha256(BYTES).hexdigest()
    return NewMovie("Bean", digest, len(BYTES), key, {"title": "Bean", "movie_data_sha256": digest})
