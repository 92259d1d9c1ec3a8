"""What a worker hands to the engine and what comes back. Coordinates: analysis frame, origin upper left, y down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.domain.errors import InvalidParameter

PLAN_VERSION = 2
"""Changes when the same inputs would give another result; part of every stored frame and output name."""


STRATEGIES = ("hybrid", "checked-flow", "plain-flow")
"""The tracer's ways of following points; the first is the usual one."""


def checked_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of a trace. InvalidParameter names one that does not exist, or whose value does not."""
    for name in options:
        if name != "strategy":
            raise InvalidParameter("options", f"there is no {name}; there is strategy")
    if options.get("strategy", STRATEGIES[0]) not in STRATEGIES:
        raise InvalidParameter("options", f"strategy must be one of {', '.join(STRATEGIES)}")
    return options


@dataclass(frozen=True, slots=True)
class Point:
    marker_id: str
    label: str
    color: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class KnownFrame:
    """A frame that is already traced or placed and only has to be drawn: marker_id -> (x, y, status)."""

    number: int
    points: Mapping[str, tuple[float, float, int]]


@dataclass(frozen=True, slots=True)
class InspectTask:
    """Decode `source` once; write `archive.zip` and `first.jpeg` into `folder`."""

    source: Path
    folder: Path
    rotation: int
    max_pixels: int
    max_frames: int


@dataclass(frozen=True, slots=True)
class TraceTask:
    """Follow `markers` from frame `frame_start` to `frame_end`; write `traced.mp4` into `folder`.

    `checkpoint` and `resume_after` are set for a job that goes on: the follower's state after frame `resume_after`.
    `known` are the frames up to there, for the labelled movie.
    """

    source: Path
    folder: Path
    rotation: int
    max_pixels: int
    max_frames: int
    frame_start: int
    frame_end: int
    markers: tuple[Point, ...]
    anchors: Mapping[int, tuple[Point, ...]] = field(default_factory=dict)
    known: tuple[KnownFrame, ...] = ()
    checkpoint: bytes | None = None
    resume_after: int | None = None
    video_preset: str = "veryfast"
    strategy: str = STRATEGIES[0]
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TracedFrame:
    """One frame's result in the order of the task's markers: x, y, status and estimated error in pixels."""

    number: int
    time: float | None
    points: tuple[tuple[float, float, int, float], ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Traced frames in order, and the follower's state after the last of them if it is time for a checkpoint."""

    frames: tuple[TracedFrame, ...]
    checkpoint: bytes | None = None

    @property
    def last(self) -> int:
        return self.frames[-1].number


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is that writes no frames just now: the last frame that was decoded, or, in a trace, the frame down
    to which the pass backwards has come.
    """

    last_frame: int


@dataclass(frozen=True, slots=True)
class Done:
    """The engine ended well. `result` is JSON; `files` maps an artifact's class to a file in the task's folder."""

    result: Mapping[str, Any]
    files: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The engine was asked to stop and has handed over everything that it had."""


Output = Chunk | Progress | Done | Stopped
