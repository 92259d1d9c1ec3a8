"""One student's way through the service over HTTP: upload, inspection, markers, trace, results."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

Told = Callable[[str, int, int], None]
"""Called with what is going on, how far it is and of how much."""

_POLL_SECONDS = 0.3


class DemoFailed(Exception):
    """The service refused a step, or the movie cannot be used; the message is the service's own sentence."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A marker in analysis pixels, origin upper left."""

    label: str
    x: float
    y: float


class Student:
    """Speaks to a running service with one API key, as a browser would. An async context manager.

    Every step raises DemoFailed with the service's sentence when it is refused.
    """

    def __init__(self, url: str, api_key: str) -> None:
        self._url = url.rstrip("/")
        self._key = api_key
        self._http: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(headers={"x-api-key": self._key, "X-Client-Version": "demo-1"})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._http.close()

    async def upload(self, path: Path, title: str, told: Told) -> dict[str, Any]:
        """Announce, send and have inspected; returns the ready movie's metadata."""
        body = await asyncio.to_thread(path.read_bytes)
        announced = await self.post(
            "/api/new-movie",
            title=title,
            description="",
            movie_data_sha256=hashlib.sha256(body).hexdigest(),
            movie_data_length=len(body),
            request_key=uuid.uuid4().hex,
        )
        form = aiohttp.FormData(announced["presigned_post"]["fields"])
        form.add_field("file", body, filename="movie")
        async with aiohttp.ClientSession() as bare, bare.post(announced["presigned_post"]["url"], data=form) as reply:
            if reply.status >= 300:
                raise DemoFailed(f"The upload was refused (status {reply.status}).")
        movie_id = announced["movie_id"]
        await self.post("/resize-api/v1/process-upload", movie_id=movie_id)
        return await self._until_settled(movie_id, "inspecting", ("uploading", "processing"), told)

    async def place(self, movie_id: str, markers: Sequence[Placed], frame_height: int) -> str:
        """Take the analysis lease and put the markers on frame 0; returns the lease."""
        taken = await self.post(
            "/api/acquire-movie-analysis-lease", movie_id=movie_id, lease_request_key=uuid.uuid4().hex
        )
        if not taken["lease_id"]:
            raise DemoFailed(taken.get("message") or "Somebody else is editing this movie.")
        points = [{"label": m.label, "x": m.x, "y": round(frame_height - m.y, 1)} for m in markers]
        lease: str = taken["lease_id"]
        await self.post(
            "/api/put-frame-trackpoints",
            movie_id=movie_id,
            frame_number=0,
            trackpoints=json.dumps(points),
            analysis_lease_id=lease,
        )
        return lease

    async def trace(self, movie_id: str, lease: str, told: Told) -> dict[str, Any]:
        """Submit a trace and watch it to its end; returns the movie's metadata."""
        await self.post(
            "/resize-api/v1/trace-movie",
            movie_id=movie_id,
            frame_start=0,
            analysis_lease_id=lease,
            request_key=uuid.uuid4().hex,
        )
        return await self._until_settled(movie_id, "tracing", ("tracing",), told)

    async def results(self, movie_id: str) -> dict[str, Any]:
        """The JSON export."""
        return await self._get("/api/get-movie-trackpoints", movie_id=movie_id, format="json")

    async def first_frame(self, movie_id: str) -> bytes:
        """The first frame as JPEG."""
        async with self._http.get(self._url + "/resize-api/v1/first-frame", params={"movie_id": movie_id}) as reply:
            if reply.status != 200:
                raise DemoFailed("The first frame cannot be shown.")
            return await reply.read()

    async def post(self, path: str, **fields: Any) -> dict[str, Any]:
        async with self._http.post(self._url + path, json=fields) as reply:
            return await _answer(reply)

    async def _get(self, path: str, **fields: Any) -> dict[str, Any]:
        async with self._http.get(self._url + path, params=fields) as reply:
            return await _answer(reply)

    async def _until_settled(self, movie_id: str, word: str, moving: Sequence[str], told: Told) -> dict[str, Any]:
        while True:
            metadata: dict[str, Any] = (await self._get("/api/get-movie-metadata", movie_id=movie_id))["metadata"]
            status = metadata["status"]
            if status not in moving and not metadata.get("resuming"):
                break
            lock = metadata.get("tracking_lock") or {}
            told(word, lock.get("last_frame_tracked", 0), lock.get("total_frames", 0))
            await asyncio.sleep(_POLL_SECONDS)
        if status in ("unusable", "tracing failed"):
            why = metadata.get("tracing_failure_summary") or metadata.get("status_reason")
            raise DemoFailed(why or f"The movie is {status}.")
        told(word, metadata.get("total_frames", 0), metadata.get("total_frames", 0))
        return metadata


async def _answer(reply: aiohttp.ClientResponse) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await reply.json(content_type=None)
    except ValueError:
        raise DemoFailed(f"The service gave no sensible answer (status {reply.status}).") from None
    if answer.get("error"):
        raise DemoFailed(str(answer.get("message")))
    return answer


@dataclass(frozen=True, slots=True)
class Compared:
    """Traced against true: mean and largest error of each marker in pixels, amplitude and distance of the tip."""

    mean_error: Mapping[str, float]
    largest_error: Mapping[str, float]
    amplitude: tuple[float, float]
    distance: tuple[float, float]


def compared(document: Mapping[str, Any], truth: Mapping[tuple[int, str], tuple[float, float]]) -> Compared:
    """`document`: the JSON export. `truth`: (frame, label) -> x, y in analysis pixels, origin upper left."""
    import numpy as np

    from tracer import measures

    height = document["movie"]["frame_height"]
    errors: dict[str, list[float]] = {}
    tip: list[tuple[float, float]] = []
    for point in document["trackpoint_dicts"]:
        x, y = truth[point["frame_number"], point["label"]]
        found = (point["x"], height - point["y"])
        errors.setdefault(point["label"], []).append(float(np.hypot(found[0] - x, found[1] - y)))
        if point["label"] == measures.TIP:
            tip.append(found)
    true_tip = [truth[frame, measures.TIP] for frame in sorted({frame for frame, _ in truth})]
    traced, known = np.array(tip), np.array(true_tip)
    return Compared(
        mean_error={label: sum(found) / len(found) for label, found in errors.items()},
        largest_error={label: max(found) for label, found in errors.items()},
        amplitude=(measures.amplitude(traced), measures.amplitude(known)),
        distance=(measures.displacement(traced), measures.displacement(known)),
    )
