"""An engine that does what a test tells it: the seam through which movies, crashes and stops come in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from service.domain.errors import EngineCrashed
from service.domain.failures import Failure
from service.domain.job import Chunk, Done, InspectTask, Output, Progress, Stopped, TracedFrame, TraceTask
from service.usecases.workplace import JobFailed

Pause = Callable[[int], Coroutine[Any, Any, None]]


async def _no_pause(_: int) -> None:
    await asyncio.sleep(0)


class ScriptedEngine:
    """Moves every marker one pixel to the right per frame, in chunks of `chunk` frames.

    `pause(frame)` is awaited after each chunk. `crash_after`: the process dies once that frame was sent. `fail_with`:
    the movie is to blame. A stop is obeyed after the chunk under way, with a checkpoint.
    """

    def __init__(
        self,
        *,
        chunk: int = 10,
        pause: Pause = _no_pause,
        crash_after: int | None = None,
        fail_with: Failure | None = None,
    ) -> None:
        self.chunk = chunk
        self.pause = pause
        self.crash_after = crash_after
        self.fail_with = fail_with
        self.traced: list[int] = []

    async def inspect(self, task: InspectTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        yield Progress(1)
        await self.pause(1)
        self._maybe_fail(1)
        archive, first = task.folder / "frames.zip", task.folder / "first.jpeg"
        archive.write_bytes(b"zip")
        first.write_bytes(b"jpeg")
        found = {
            "width": 640,
            "height": 480,
            "frame_width": 640,
            "frame_height": 480,
            "decoded_frames": 30,
            "promised_frames": 30,
            "fps": 25.0,
        }
        yield Done(found, {"archive": archive, "first_frame": first})

    async def trace(self, task: TraceTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        first = task.frame_start if task.resume_after is None else task.resume_after + 1
        for start in range(first, task.frame_end + 1, self.chunk):
            numbers = range(start, min(start + self.chunk, task.frame_end + 1))
            self.traced += numbers
            frames = tuple(
                TracedFrame(n, n / 25, tuple((p.x + n - task.frame_start, p.y, 1, 0.1) for p in task.markers))
                for n in numbers
            )
            stopping = stop.is_set()
            yield Chunk(frames, checkpoint=b"state" if stopping else None)
            await self.pause(numbers[-1])
            self._maybe_fail(numbers[-1])
            if stopping:
                yield Stopped()
                return
        video = task.folder / "traced.mp4"
        video.write_bytes(b"mp4 of " + str(task.markers[0].x).encode())
        yield Done({"frames": len(self.traced), "lost": 0}, {"labelled": video})

    def _maybe_fail(self, frame: int) -> None:
        if self.crash_after is not None and frame >= self.crash_after:
            raise EngineCrashed
        if self.fail_with is not None:
            raise JobFailed(self.fail_with)


class BackwardEngine(ScriptedEngine):
    """Makes a pass backwards first, from the last frame down, and awaits `at_pass(frame)` after each step of it."""

    def __init__(self, at_pass: Pause, **scripted: Any) -> None:
        super().__init__(**scripted)
        self.at_pass = at_pass

    async def trace(self, task: TraceTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        for number in range(task.frame_end, task.frame_start, -self.chunk):
            yield Progress(number)
            await self.at_pass(number)
        async for output in super().trace(task, stop):
            yield output
