"""The life of one claimed job, from its receipt to the transaction that publishes it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import structlog

from service import metrics
from service.domain.errors import EngineCrashed, FenceLost, Unavailable
from service.domain.failures import INTERNAL, Failure
from service.domain.job import Chunk, Done, InspectTask, Output, Progress, TraceTask
from service.domain.movie import COMPLETED, ORIGIN, READY
from service.domain.receipt import TERMINAL, Receipt
from service.store import conditions as when
from service.store.objects import ObjectMissing, Stored
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.usecases.end_job import commit_end, completed_writes, failed_writes
from service.usecases.job_lease import JobLease
from service.usecases.trace_plan import checkpoint_key, frame_writes, trace_result, trace_task

log = structlog.get_logger()
_CONTENT = {
    "archive": ("frames.zip", "application/zip"),
    "first_frame": ("first.jpeg", "image/jpeg"),
    "labelled": ("traced.mp4", "video/mp4"),
}


class JobFailed(Exception):
    """The job cannot succeed; `failure` says why, in the closed list's words."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code)
        self.failure = failure


class Engine(Protocol):
    """What decodes and traces, elsewhere than in this event loop.

    Both yield what they have as they have it and end with Done or, asked to stop, with Stopped. They raise JobFailed
    for what the movie is to blame for and EngineCrashed when their process died.
    """

    def inspect(self, task: InspectTask, stop: asyncio.Event) -> AsyncGenerator[Output]: ...

    def trace(self, task: TraceTask, stop: asyncio.Event) -> AsyncGenerator[Output]: ...


class Workplace:
    """Where a job runs: an engine, an empty folder, a video preset, and the event that asks it to hand back."""

    def __init__(self, engine: Engine, folder: Path, stop: asyncio.Event, video_preset: str = "veryfast") -> None:
        self.engine = engine
        self.folder = folder
        self.stop = stop
        self.video_preset = video_preset


async def run(stores: Stores, lease: JobLease, place: Workplace) -> str:
    """Do the job and publish its end; returns `completed`, `failed` or `handed back`.

    Raises FenceLost when the job is no longer this worker's: then nothing more was written. Any other failure ends the
    job with a safe summary, except an engine that died: its attempt is given back and counted as a failure.
    """
    try:
        receipt = await stores.receipts.get(lease.job.receipt_id)
        if receipt is None or receipt.job_id != lease.job.job_id or receipt.state in TERMINAL:
            raise JobFailed(Failure(INTERNAL))
        await _note_attempt(stores, lease, receipt)
        work = _inspect if lease.job.kind == "inspect" else _trace
        return await work(stores, lease, receipt, place)
    except (FenceLost, asyncio.CancelledError):
        raise
    except EngineCrashed as crash:
        return await _again(stores, lease, Failure("engine_crashed"), crash)
    except JobFailed as failed:
        return await fail(stores, lease, failed.failure)
    except ObjectMissing:
        log.exception("job.source_missing")
        return await fail(stores, lease, Failure("storage_unavailable"))
    except Unavailable as outage:
        log.exception("job.storage_failed")
        return await _again(stores, lease, Failure("storage_unavailable"), outage)
    except Exception:
        log.exception("job.failed")
        return await fail(stores, lease, Failure(INTERNAL))


async def fail(stores: Stores, lease: JobLease, failure: Failure) -> str:
    """Publish the job's failure, by its holder only."""

    async def attempt(now: int) -> None:
        condition = when.holds_fence(lease.fence, now)
        await commit_end(stores, failed_writes(stores, lease.movie, lease.job, failure, now, condition))

    async def applied() -> bool:
        receipt = await _own_receipt(stores, lease)
        return receipt is not None and receipt.state == "failed" and receipt.failure_code == failure.code

    await asyncio.shield(lease.write(attempt, applied, ends=True))
    log.info("job.ended", outcome="failed", code=failure.code)
    return "failed"


async def _again(stores: Stores, lease: JobLease, failure: Failure, why: Exception) -> str:
    """What failed is not the movie's fault: another attempt if some are left, else the job ends with `failure`."""
    failures = lease.job.failures + 1
    if failures >= stores.policy.max_attempts:
        return await fail(stores, lease, failure)
    await _requeue(stores, lease, failures)
    if not isinstance(why, Unavailable):  # else the sweeper announces it: at once would find the same outage
        await _announce(stores, lease)
    log.warning("job.tried_again", code=failure.code, failures=failures)
    return "handed back"


async def _note_attempt(stores: Stores, lease: JobLease, receipt: Receipt) -> None:
    """The receipt says `running`. One that is terminal already means that the job is over."""
    attempt = lease.job.attempt
    await lease.write(
        lambda now: stores.receipts.note_attempt(receipt.receipt_id, receipt.job_id, attempt, now), renews=False
    )


async def hand_back(stores: Stores, lease: JobLease) -> str:
    """Give the job back as its next attempt, announced; this counts as no failure."""
    await _requeue(stores, lease, lease.job.failures)
    await _announce(stores, lease)
    log.info("job.handed_back")
    return "handed back"


async def _requeue(stores: Stores, lease: JobLease, failures: int) -> None:
    async def attempt(now: int) -> None:
        condition = when.holds_fence(lease.fence, now)
        write = stores.movies.requeue_write(lease.movie.movie_id, lease.job, now, condition, failures)
        await stores.database.write(write)

    async def applied() -> bool:
        movie = await stores.movies.get(lease.movie.movie_id)
        job = movie.tracing if movie else None
        return bool(job and job.job_id == lease.job.job_id and job.attempt == lease.job.attempt + 1)

    await asyncio.shield(lease.write(attempt, applied, ends=True))


async def _announce(stores: Stores, lease: JobLease) -> None:
    try:
        await stores.queue.send(JobMessage(lease.movie.movie_id, lease.job.job_id, lease.job.attempt + 1))
    except Unavailable:
        log.warning("job.announce_failed")


async def _own_receipt(stores: Stores, lease: JobLease) -> Receipt | None:
    receipt = await stores.receipts.get(lease.job.receipt_id)
    return receipt if receipt and receipt.job_id == lease.job.job_id else None


async def _published(stores: Stores, lease: JobLease) -> bool:
    """After a lost reply: did our publishing transaction come through? A job that somebody cancelled is over too."""
    receipt = await _own_receipt(stores, lease)
    return receipt is not None and receipt.state == "done" and receipt.attempts == lease.job.attempt


@contextmanager
def _stage(name: str) -> Iterator[None]:
    """Count and time one stage of a job. Stages that are repeated overwrite their own output and no other."""
    metrics.ATTEMPTS.labels(stage=name).inc()
    with metrics.STAGE_SECONDS.labels(stage=name).time():
        yield


# inspection


async def _inspect(stores: Stores, lease: JobLease, receipt: Receipt, place: Workplace) -> str:
    inputs = receipt.inputs
    origin = Stored(inputs["source"]["key"], inputs["source"]["length"], inputs["source"]["etag"])
    source = place.folder / "movie"
    with _stage("fetch"):
        await _fetch_verified(stores, origin.key, source, inputs)
    task = InspectTask(
        source=source,
        folder=place.folder,
        rotation=inputs["rotation"],
        max_pixels=stores.policy.max_pixels,
        max_frames=stores.policy.max_frames,
    )
    with _stage("inspect"):
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


async def _note_backward(stores: Stores, lease: JobLease, frame: int) -> None:
    await lease.write(lambda now: stores.movies.note_backward(lease.fence, now, frame))


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
    urns = await _upload_files(stores, lease, done)
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

    with _stage("publish"):
        await asyncio.shield(lease.write(attempt, lambda: _published(stores, lease), ends=True))
    log.info("job.ended", outcome="completed", frames=found["decoded_frames"])
    if origin.key.startswith("uploads/"):
        await stores.objects.delete(origin.key)
    return "completed"


# tracing


async def _trace(stores: Stores, lease: JobLease, receipt: Receipt, place: Workplace) -> str:
    source = place.folder / "movie"
    with _stage("fetch"), source.open("wb") as file:
        async for piece in stores.objects.download(stores.objects.key_of(receipt.inputs["source"])):
            await asyncio.to_thread(file.write, piece)
    with _stage("clear"):
        await _clean_hidden(stores, lease)
    task = await trace_task(stores, lease, receipt, source, place.folder, place.video_preset)
    last = task.resume_after if task.resume_after is not None else task.frame_start
    with _stage("trace"):
        async with aclosing(place.engine.trace(task, place.stop)) as outputs:
            async for output in outputs:
                if isinstance(output, Chunk):
                    await _write_chunk(stores, lease, receipt, output)
                    last = output.last
                elif isinstance(output, Progress):
                    await _note_backward(stores, lease, output.last_frame)
                else:
                    break
            else:
                raise EngineCrashed
    if isinstance(output, Done):
        return await _publish_trace(stores, lease, receipt, output, last)
    return await hand_back(stores, lease)


async def _clean_hidden(stores: Stores, lease: JobLease) -> None:
    """Delete what the start transaction hid, then drop the span. Frames of this very job are not hidden by it."""
    span = lease.movie.hidden
    if span is None:
        return
    await lease.write(lambda now: stores.frames.clean(lease.fence, span, now), renews=False)
    await lease.write(lambda now: stores.movies.drop_hidden(lease.fence, now))


async def _write_chunk(stores: Stores, lease: JobLease, receipt: Receipt, chunk: Chunk) -> None:
    """A checkpoint first, if the chunk carries one, then frames and progress behind the fence in one transaction."""
    checkpoint = None
    if chunk.checkpoint is not None:
        await stores.objects.put(checkpoint_key(lease, chunk.last), chunk.checkpoint, "application/octet-stream")
        checkpoint = chunk.last
        metrics.ARTIFACT_BYTES.labels(artifact="checkpoint").inc(len(chunk.checkpoint))
    _count_retraced(lease, chunk)
    puts = frame_writes(stores, lease, receipt, chunk)

    async def attempt(now: int) -> None:
        await stores.transact([stores.movies.progress_write(lease.fence, now, chunk.last, checkpoint), *puts])

    # The same frames may be put twice; and whatever refuses them, also after a lost reply, has ended this hold.
    await lease.write(attempt)


def _count_retraced(lease: JobLease, chunk: Chunk) -> None:
    """Frames that an earlier attempt had stored behind its last checkpoint are computed again."""
    stored = int(lease.movie.row.get("last_frame_tracked") or 0) if lease.job.attempt > 1 else -1
    metrics.FRAMES_RETRACED.inc(sum(1 for frame in chunk.frames if frame.number <= stored))


async def _publish_trace(stores: Stores, lease: JobLease, receipt: Receipt, done: Done, last: int) -> str:
    urns = await _upload_files(stores, lease, done)
    before = lease.movie.row.get("movie_traced_urn")
    result = trace_result(receipt, done, last)
    row = {
        "movie_traced_urn": urns["labelled"],
        "last_frame_tracked": last,
        "needs_retracing": 0,
        "results_job_id": lease.job.job_id,
        "results_plan_version": receipt.inputs["plan_version"],
    }

    async def attempt(now: int) -> None:
        write = stores.movies.completed_write(lease.fence, now, row, COMPLETED)
        frames = last - receipt.inputs["frame_start"]
        await stores.transact(completed_writes(stores, lease.movie, lease.job, write, result, frames, now))

    with _stage("publish"):
        await asyncio.shield(lease.write(attempt, lambda: _published(stores, lease), ends=True))
    log.info("job.ended", outcome="completed", frames=last - receipt.inputs["frame_start"])
    await _delete_former(stores, lease, before, urns["labelled"])
    return "completed"


async def _delete_former(stores: Stores, lease: JobLease, before: str | None, now_published: str) -> None:
    """Only what was named before this publish and is named no more, and this job's own checkpoints."""
    gone = await stores.objects.keys(f"movies/{lease.movie.movie_id}/{lease.job.job_id}/checkpoint-")
    if before and before != now_published:
        gone.append(stores.objects.key_of(before))
    await stores.objects.delete(*gone)


async def _upload_files(stores: Stores, lease: JobLease, done: Done) -> dict[str, str]:
    """Artifacts under names that carry the job's id; returns their URNs by class."""
    urns = {}
    for kind, path in done.files.items():
        name, content_type = _CONTENT[kind]
        key = f"movies/{lease.movie.movie_id}/{lease.job.job_id}/{name}"
        with _stage("store"):
            length = await stores.objects.upload(key, path, content_type)
        metrics.ARTIFACT_BYTES.labels(artifact=kind).inc(length)
        urns[kind] = stores.objects.urn(key)
    return urns
