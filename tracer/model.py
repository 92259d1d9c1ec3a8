"""The records that go into and come out of the tracer.

Every coordinate here is in pixels of the *analysis frame*: the movie turned upright (the file's own rotation, then the
user's), pixels made square, scaled so that the longer side is 640. The origin is the centre of the upper left pixel,
x to the right, y down. `geometry.py` turns these into the stored, lower-left form and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import numpy as np
import numpy.typing as npt


class Status(IntEnum):
    """Was the marker seen in a frame? A lost marker keeps a row: its position is carried, not measured."""

    LOST = 0
    SEEN = 1


@dataclass(frozen=True, slots=True)
class Marker:
    """A point that a person placed. `marker_id` is stable and independent of the label."""

    marker_id: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What a movie may cost. Found out before decoding where the header tells, and enforced while decoding."""

    max_pixels: int = 36_000_000
    max_frames: int = 10_000
    threads: int = 1


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What to follow.

    `frame_start` is the source frame that holds `markers`; frames after it up to and including `frame_end` are
    computed (`None`: to the last frame that decodes). `rotation` is the user's own turn, clockwise, in degrees
    (0, 90, 180, 270), on top of the file's. `anchors` are points that a person placed on later frames:
    frame number -> markers that are held there.
    """

    markers: tuple[Marker, ...]
    frame_start: int = 0
    frame_end: int | None = None
    rotation: int = 0
    anchors: dict[int, tuple[Marker, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FrameResult:
    """The markers in one frame, in the order of `TraceRequest.markers`.

    `points` (n, 2) float64, x and y; `status` (n,) int8, see `Status`; `err` (n,) float64, estimated error in pixels;
    `time` seconds from the movie's first frame by its own timestamps, or None if it has none.
    """

    frame_number: int
    time: float | None
    points: npt.NDArray[np.float64]
    status: npt.NDArray[np.int8]
    err: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a whole decoding of the file found.

    `width`, `height` are the upright source's (file's rotation and the user's applied, pixels as stored, not yet
    square); `frame_width`, `frame_height` the analysis frame's. `promised_frames` is what the header says (0 if it
    says nothing), `decoded_frames` what came out. `rotation` is the file's own flag, clockwise degrees.
    `pixel_aspect` is width / height of one upright pixel. `fps` is the mean rate by timestamps.
    `cuts` are frame numbers that begin a new scene. `trim_start`, `trim_end` are the first and the last frame of the
    one scene that makes up most of a movie with cuts or a black end, as a proposal; None: nothing to trim.
    `completeness` names a movie of which not everything could be read: `partial`. `warnings` are sentences for a
    person.
    """

    container: str
    codec: str
    pixel_format: str
    width: int
    height: int
    frame_width: int
    frame_height: int
    rotation: int
    pixel_aspect: float
    promised_frames: int
    decoded_frames: int
    duration: float
    fps: float
    variable_frame_rate: bool
    browser_playable: bool
    cuts: tuple[int, ...] = ()
    trim_start: int | None = None
    trim_end: int | None = None
    completeness: Literal["whole", "partial"] = "whole"
    warnings: tuple[str, ...] = ()
