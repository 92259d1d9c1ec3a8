"""An upload becomes a movie: verified, looked at by the engine, its archive and first frame stored, published."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import aclosing
from pathlib import Path
from typing import Any

import structlog

from service.domain.errors import EngineCrashed
from service.domain.failures import Failure
from service.domain.job import Done, InspectTask, Progress
from service.domain.movie import ORIGIN, READY
from service.domain.receipt import Receipt
from service.store.objects import ObjectMissing, Stored
from service.store.stores import Stores
from service.usecases.end_job import completed_writes, count_end
from service.usecases.job_lease import JobLease
from service.usecases.job_stage import stage, store_files
from service.usecases.leave_job import hand_back, published
from service.usecases.workplace import JobFailed, Workplace

log = structlog.get_logger()


async def inspect(stores: Stores, lease: JobLease, receipt: Receipt, place: Workplace) -> str:
    inputs = receipt.inputs
    origin = Stored(inputs["source"]["key"], inputs["source"]["length"], inputs["source"]["etag"])
    source = place.folder / "movie"
    with stage("fetch"):
        await _fetch_verified(stores, origin.key, source, inputs)
    task = InspectTask(
        source=source,
        folder=place.folder,
        rotation=inputs["rotation"],
        max_pixels=stores.policy.max_pixels,
        max_frames=stores.policy.max_frames,
    )
    with stage("inspect"):
        async with aclosing(place.engine.inspect(task, place.stop)) as outputs:
            async for output in outputs:
                if isinstance(output, Progress):
                    await _note_progress(stores, lease, output.last_frame)
                else:
                    break
            else:
                raise EngineCrashed
    if isinstance(output, Done):
        return await _publish_inspection(stores, lease, origin, receipt, output)
    return await hand_back(stores, lease)


async def _note_progress(stores: Stores, lease: JobLease, frame: int) -> None:
    await lease.write(lambda now: stores.movies.note_progress(lease.fence, now, frame))


async def _fetch_verified(stores: Stores, key: str, path: Path, inputs: Any) -> None:
    """Download an upload and check that it is the announced file: length, then SHA-256."""
    digest, length = hashlib.sha256(), 0
    expected = inputs["length"]
    try:
        with path.open("wb") as file:
            async for piece in stores.objects.download(key):
                digest.update(piece)
                length += len(piece)
                if length > stores.policy.max_upload_bytes:
                    raise JobFailed(Failure("upload_length", {"actual": length, "expected": expected}))
                await asyncio.to_thread(file.write, piece)
    except ObjectMissing:
        raise JobFailed(Failure("upload_missing")) from None
    if length == 0:
        raise JobFailed(Failure("movie_empty"))
    if length != expected:
        raise JobFailed(Failure("upload_length", {"actual": length, "expected": expected}))
    if digest.hexdigest() != inputs["sha256"]:
        raise JobFailed(Failure("upload_checksum"))


async def _publish_inspection(stores: Stores, lease: JobLease, origin: Stored, receipt: Receipt, done: Done) -> str:
    movie_id = lease.movie.movie_id
    movie_key = f"movies/{movie_id}/{lease.job.job_id}/movie"
    if origin.key.startswith("uploads/"):
        await stores.objects.copy(origin, movie_key)
    else:
        movie_key = origin.key
    urns = await store_files(stores, lease, done)
    found = dict(done.result)
    row = {
        "movie_data_urn": stores.objects.urn(movie_key),
        "movie_zipfile_urn": urns["archive"],
        "first_frame_urn": urns["first_frame"],
        "total_frames": found["decoded_frames"],
        "total_bytes": origin.length,
        "width": found["width"],
        "height": found["height"],
        "frame_width": found["frame_width"],
        "frame_height": found["frame_height"],
        "fps": f"{found['fps']:.6g}",
        "inspection": found,
        "inspection_version": receipt.inputs["plan_version"],
        "trackpoint_origin": ORIGIN,
        "uploaded_at": stores.clock.now(),
        "needs_retracing": 1,
        "last_frame_tracked": 0,
    }

    async def attempt(now: int) -> None:
        write = stores.movies.completed_write(lease.fence, now, row, READY)
        writes = completed_writes(stores, lease.movie, lease.job, write, found, found["decoded_frames"], now)
        await stores.transact(writes)

    with stage("publish"):
        await asyncio.shield(lease.write(attempt, lambda: published(stores, lease), ends=True))
    count_end(lease.job)
    log.info("job.ended", outcome="completed", frames=found["decoded_frames"])
    if origin.key.startswith("uploads/"):
        await stores.objects.delete(origin.key)
    return "completed"
