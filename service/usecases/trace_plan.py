"""From a receipt's inputs to the engine's task, and from the engine's frames to stored trackpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.domain.job import STRATEGIES, Chunk, Done, KnownFrame, Point, TraceTask
from service.domain.movie import Movie, frame_shows
from service.domain.receipt import Receipt
from service.store.objects import ObjectMissing
from service.store.stores import Stores
from service.store.table import Put
from service.usecases.job_lease import JobLease
from tracer.geometry import flip_y


async def trace_task(
    stores: Stores, lease: JobLease, receipt: Receipt, source: Path, folder: Path, preset: str
) -> TraceTask:
    """The whole task, resolved: markers and anchors in image coordinates, the checkpoint if this attempt goes on."""
    inputs, movie = receipt.inputs, lease.movie
    height = movie.frame_height
    resume_after, checkpoint = await _checkpoint(stores, lease)
    traced_to = inputs["frame_start"] - 1 if resume_after is None else resume_after
    return TraceTask(
        source=source,
        folder=folder,
        rotation=inputs["rotation"],
        max_pixels=stores.policy.max_pixels,
        max_frames=stores.policy.max_frames,
        frame_start=inputs["frame_start"],
        frame_end=inputs["frame_end"],
        markers=_points(inputs["markers"], height),
        anchors={int(n): _points(points, height) for n, points in inputs["anchors"].items()},
        known=(
            *await _known_frames(stores, lease, 0, traced_to),
            *await _known_frames(stores, lease, inputs["frame_end"] + 1, movie.total_frames - 1),
        ),
        checkpoint=checkpoint,
        resume_after=resume_after,
        video_preset=preset,
        strategy=(inputs.get("options") or {}).get("strategy", STRATEGIES[0]),
        tags=tags_of(movie),
    )


def _points(points: Sequence[Mapping[str, Any]], height: int) -> tuple[Point, ...]:
    return tuple(Point(p["marker_id"], p["label"], p["color"], p["x"], flip_y(p["y"], height)) for p in points)


def tags_of(movie: Movie) -> dict[str, str]:
    """What the labelled movie says of itself wherever it is copied to: its title, whether researchers may use it, and
    whom to name, if that person wishes it.
    """
    row = movie.row
    may = "allows" if row.get("research_use") else "has not allowed"
    tags = {
        "title": row.get("title"),
        "artist": row.get("attribution_name") if row.get("credit_by_name") else None,
        "comment": f"Whoever made this movie {may} its use in research.",
    }
    return {name: str(value) for name, value in tags.items() if value}


def checkpoint_key(lease: JobLease, frame: int) -> str:
    """Where the follower's state after `frame` lies: under the job, so that its next attempt finds it."""
    return f"movies/{lease.movie.movie_id}/{lease.job.job_id}/checkpoint-{frame:06d}"


async def _checkpoint(stores: Stores, lease: JobLease) -> tuple[int | None, bytes | None]:
    """Frame and state of the last checkpoint of this job. Without one, or if it is gone, the attempt starts over."""
    frame = lease.job.checkpoint_frame
    if frame is None:
        return None, None
    try:
        return frame, await stores.objects.get(checkpoint_key(lease, frame))
    except ObjectMissing:
        return None, None


async def _known_frames(stores: Stores, lease: JobLease, first: int, last: int) -> tuple[KnownFrame, ...]:
    """Stored frames `first`..`last` in image coordinates, for the labelled movie. The job's own are among them."""
    movie = lease.movie
    if last < first:
        return ()
    known = []
    labels = await stores.frames.markers(movie.movie_id)
    async for item in stores.frames.span(movie.movie_id, first, last, consistent=True):
        own = item.get("job_id") == lease.job.job_id
        points = item.get("trackpoints") or [] if own else frame_shows(movie, item, labels)
        places = {
            p["marker_id"]: (float(p["x"]), flip_y(float(p["y"]), movie.frame_height), int(p.get("status", 1)))
            for p in points
            if p.get("marker_id")
        }
        if places:
            known.append(KnownFrame(item["frame_number"], places))
    return tuple(known)


def frame_writes(stores: Stores, lease: JobLease, receipt: Receipt, chunk: Chunk) -> list[Put]:
    """The chunk's frames as stored items, lower-left origin, one decimal; points that a person placed stay put."""
    inputs = receipt.inputs
    height = lease.movie.frame_height
    markers = inputs["markers"]
    puts = []
    for frame in chunk.frames:
        placed = {p["marker_id"]: p for p in inputs["anchors"].get(str(frame.number), ())}
        if frame.number == inputs["frame_start"]:
            placed = {p["marker_id"]: p for p in markers}
        points = []
        for marker, (x, y, status, err) in zip(markers, frame.points, strict=True):
            own = placed.get(marker["marker_id"])
            points.append(
                {
                    "marker_id": marker["marker_id"],
                    "x": own["x"] if own else round(x, 1),
                    "y": own["y"] if own else round(flip_y(y, height), 1),
                    "status": 1 if own else status,
                    "err": 0.0 if own else round(err, 2),
                    "placed": (own.get("placed") or "user") if own else "trace",
                }
            )
        puts.append(stores.frames.traced_write(lease.fence, frame.number, points, inputs["plan_version"], frame.time))
    return puts


def trace_result(receipt: Receipt, done: Done, last: int) -> dict[str, Any]:
    """What the receipt keeps of a finished trace."""
    return {**done.result, "frame_start": receipt.inputs["frame_start"], "frame_end": last}
