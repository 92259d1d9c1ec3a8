"""A movie's trackpoints as one table: what every export is made from."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracer.geometry import analysis_size
from tracer.measures import Points, Scale, Track, calibration, ruler_mm

Trackpoint = Mapping[str, Any]
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Cell(NamedTuple):
    """One marker in one frame, in pixels of the analysis frame. `status` 0: lost, and the position carried."""

    x: float
    y: float
    status: int
    err: float
    color: str | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """The trackpoints of a movie as a table: frames in order, labels in order of sight, one scale for all.

    `times`: frame -> seconds from the movie's first frame by its own timestamps, for the frames that have one.
    Numbers lie in arrays, about forty bytes a trackpoint: a long movie with many markers has hundreds of thousands.
    """

    labels: tuple[str, ...]
    frames: tuple[int, ...]
    scale: Scale
    times: Mapping[int, float]
    points: Points
    """(frame, label, [x, y]) pixels; NaN where a marker has no row."""
    errors: npt.NDArray[np.float64]
    status: npt.NDArray[np.int8]
    """(frame, label); -1 where a marker has no row."""
    colors: tuple[str | None, ...]
    color_of: npt.NDArray[np.int32]
    """(frame, label) -> place in `colors`."""

    def unit(self, label: str) -> str:
        """Rulers are what measures, so they are always told in pixels."""
        return "px" if ruler_mm(label) is not None else self.scale.unit

    def cells(self, row: int) -> list[Cell | None]:
        """The markers of the `row`th frame, in the order of `labels`; None where one has no row."""
        columns = zip(
            self.points[row].tolist(),
            self.status[row].tolist(),
            self.errors[row].tolist(),
            self.color_of[row].tolist(),
            strict=True,
        )
        return [
            None if status < 0 else Cell(x, y, status, err, self.colors[color])
            for (x, y), status, err, color in columns
        ]

    def factor(self, label: str) -> float:
        """From pixels to the label's unit."""
        return self.scale.factor if self.unit(label) == "mm" else 1.0

    def tracks(self) -> list[Track]:
        """Each label's way, in the order in which the labels first occur."""
        return [self._track(column, label) for column, label in enumerate(self.labels)]

    def _track(self, column: int, label: str) -> Track:
        there = self.status[:, column] >= 0
        frames = np.asarray(self.frames, np.int64)[there]
        return Track(
            label,
            frames,
            self.points[there, column],
            self.status[there, column] != 0,
            self._times(frames.tolist()),
        )

    def _times(self, frames: Sequence[int]) -> npt.NDArray[np.float64] | None:
        times = [self.times.get(frame, math.nan) for frame in frames]
        return np.array(times, np.float64) if self.times else None


class Gathering:
    """Takes trackpoints as they come, in any order, and keeps of each only its numbers. Of two for one cell the later
    counts; what lies outside the movie's trim is left out.
    """

    def __init__(self, movie: Mapping[str, Any]) -> None:
        self._movie = movie
        self._first, self._last = trim_of(movie)
        self._labels: dict[str, int] = {}
        self._colors: dict[str | None, int] = {}
        self._times: dict[int, float] = {}
        self._where = array("q")
        """Frame, label and colour of each."""
        self._numbers = array("d")
        """x, y and error of each."""
        self._status = array("b")

    def add(self, point: Trackpoint) -> None:
        frame, label = int(point["frame_number"]), str(point["label"])
        if frame < self._first or (self._last is not None and frame > self._last):
            return
        column = self._labels.setdefault(label, len(self._labels))
        color = self._colors.setdefault(point.get("color"), len(self._colors))
        self._where.extend((frame, column, color))
        self._numbers.extend((float(point["x"]), float(point["y"]), float(point.get("err") or 0.0)))
        self._status.append(seen(point))
        if point.get("time") is not None:
            self._times[frame] = float(point["time"])

    def sheet(self) -> Sheet:
        """The table, with the scale that the first frame inside the trim gives."""
        where = np.array(self._where, np.int64).reshape(-1, 3)
        numbers = np.array(self._numbers, np.float64).reshape(-1, 3)
        frames, row = np.unique(where[:, 0], return_inverse=True)
        shape = (len(frames), len(self._labels))
        points, errors = np.full((*shape, 2), np.nan), np.zeros(shape)
        status, color_of = np.full(shape, -1, np.int8), np.zeros(shape, np.int32)
        cell = (row, where[:, 1])
        points[cell], errors[cell] = numbers[:, :2], numbers[:, 2]
        status[cell], color_of[cell] = np.array(self._status, np.int8), where[:, 2]
        rulers = {
            label: (float(points[0, column, 0]), float(points[0, column, 1]))
            for label, column in self._labels.items()
            if ruler_mm(label) is not None and status[0, column] >= 0
        }
        scale = calibration(rulers, frame_size(self._movie)[1])
        told = tuple(self._labels), tuple(frames.tolist()), scale, self._times
        return Sheet(*told, points, errors, status, tuple(self._colors), color_of)


def sheet_of(movie: Mapping[str, Any], rows: Iterable[Trackpoint]) -> Sheet:
    """The rows as a table."""
    gathering = Gathering(movie)
    for row in rows:
        gathering.add(row)
    return gathering.sheet()


def harmless(text: str) -> str:
    """Text that a spreadsheet would take for a formula, with an apostrophe in front."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def seen(point: Trackpoint) -> bool:
    """Rows from before the status was stored count as seen."""
    return int(point.get("status", 1)) != 0


def trim_of(movie: Mapping[str, Any]) -> tuple[int, int | None]:
    """First and last frame that are told; None: to the end."""
    end = movie.get("trim_end_frame")
    return int(movie.get("trim_start_frame") or 0), None if end is None else int(end)


def fpm_of(movie: Mapping[str, Any]) -> float | None:
    """Frames per minute as the owner set it, or None. It is stored as text."""
    fpm = number_or_none(movie.get("fpm"))
    return fpm if fpm and fpm > 0 else None


def frame_size(movie: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """The analysis frame's size, as told or worked out from the upright source's; (None, None) if neither is known."""
    if movie.get("frame_width") and movie.get("frame_height"):
        return int(movie["frame_width"]), int(movie["frame_height"])
    if movie.get("width") and movie.get("height"):
        aspect = (movie.get("inspection") or {}).get("pixel_aspect") or 1.0
        return analysis_size(int(movie["width"]), int(movie["height"]), float(aspect))
    return None, None


def number_or_none(value: object) -> float | None:
    """A finite number from what a database or a person wrote, else None."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
