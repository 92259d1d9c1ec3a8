"""A movie is traced: what is out of date cleaned away, frames written behind the fence, the result published."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import structlog

from service import metrics
from service.domain.errors import EngineCrashed
from service.domain.job import Chunk, Done, Progress
from service.domain.movie import COMPLETED
from service.domain.receipt import Receipt
from service.store.stores import Stores
from service.usecases.end_job import completed_writes, count_end
from service.usecases.job_lease import JobLease
from service.usecases.job_stage import stage, store_files
from service.usecases.leave_job import hand_back, published
from service.usecases.trace_plan import checkpoint_key, frame_writes, trace_result, trace_task
from service.usecases.workplace import Workplace

log = structlog.get_logger()


async def trace(stores: Stores, lease: JobLease, receipt: Receipt, place: Workplace) -> str:
    source = place.folder / "movie"
    with stage("fetch"), source.open("wb") as file:
        async for piece in stores.objects.download(stores.objects.key_of(receipt.inputs["source"])):
            await asyncio.to_thread(file.write, piece)
    with stage("clear"):
        await _clean_hidden(stores, lease)
    task = await trace_task(stores, lease, receipt, source, place.folder, place.video_preset)
    last = task.resume_after if task.resume_after is not None else task.frame_start
    with stage("trace"):
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


async def _note_backward(stores: Stores, lease: JobLease, frame: int) -> None:
    await lease.write(lambda now: stores.movies.note_backward(lease.fence, now, frame))


async def _clean_hidden(stores: Stores, lease: JobLease) -> None:
    """Delete what start transactions hid, then drop the spans. Frames of this very job are not hidden by it."""
    spans = lease.movie.hidden
    if not spans:
        return
    await lease.write(lambda now: stores.frames.clean(lease.fence, spans, now), renews=False)
    await lease.write(lambda now: stores.movies.drop_hidden(lease.fence, now))


async def _write_chunk(stores: Stores, lease: JobLease, receipt: Receipt, chunk: Chunk) -> None:
    """A checkpoint first, if the chunk carries one, then frames and progress behind the fence in one transaction."""
    checkpoint = None
    if chunk.checkpoint is not None:
        await stores.objects.put(checkpoint_key(lease, chunk.last), chunk.checkpoint, "application/octet-stream")
        checkpoint = chunk.last
        metrics.ARTIFACT_BYTES.labels(artifact="checkpoint").inc(len(chunk.checkpoint))
    puts = frame_writes(stores, lease, receipt, chunk)

    async def attempt(now: int) -> None:
        await stores.transact([stores.movies.progress_write(lease.fence, now, chunk.last, checkpoint), *puts])

    # The same frames may be put twice; and whatever refuses them, also after a lost reply, has ended this hold.
    await lease.write(attempt)
    _count_frames(lease, chunk)


def _count_frames(lease: JobLease, chunk: Chunk) -> None:
    """Frames that an earlier attempt had stored behind its last checkpoint are computed again."""
    stored = int(lease.movie.row.get("last_frame_tracked") or 0) if lease.job.attempt > 1 else -1
    metrics.FRAMES_TRACED.inc(len(chunk.frames))
    metrics.FRAMES_RETRACED.inc(sum(1 for frame in chunk.frames if frame.number <= stored))


async def _publish_trace(stores: Stores, lease: JobLease, receipt: Receipt, done: Done, last: int) -> str:
    urns = await store_files(stores, lease, done)
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

    with stage("publish"):
        await asyncio.shield(lease.write(attempt, lambda: published(stores, lease), ends=True))
    count_end(lease.job)
    log.info("job.ended", outcome="completed", frames=last - receipt.inputs["frame_start"])
    await _delete_former(stores, lease, before, urns["labelled"])
    return "completed"


async def _delete_former(stores: Stores, lease: JobLease, before: str | None, now_published: str) -> None:
    """Only what was named before this publish and is named no more, and this job's own checkpoints."""
    gone = await stores.objects.keys(f"movies/{lease.movie.movie_id}/{lease.job.job_id}/checkpoint-")
    if before and before != now_published:
        gone.append(stores.objects.key_of(before))
    await stores.objects.delete(*gone)
