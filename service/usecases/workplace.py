"""Where a claimed job is done: what decodes and traces for it, and how that says that it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Protocol

from service.domain.failures import Failure
from service.domain.job import InspectTask, Output, TraceTask


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
