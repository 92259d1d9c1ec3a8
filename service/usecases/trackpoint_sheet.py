"""A movie's trackpoints as one table: what every export is made from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracer.geometry import analysis_size
from tracer.measures import Scale, Track, calibration, ruler_mm

Trackpoint = Mapping[str, Any]
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The trackpoints of a movie as a table: frames in order, labels in order of sight, one scale for all.

    `times`: frame -> seconds from the movie's first frame by its own timestamps, for the frames that have one.
    """

    labels: tuple[str, ...]
    frames: tuple[int, ...]
    cells: Mapping[tuple[int, str], Trackpoint]
    scale: Scale
    times: Mapping[int, float]

    def unit(self, label: str) -> str:
        """Rulers are what measures, so they are always told in pixels."""
        return "px" if ruler_mm(label) is not None else self.scale.unit

    def place(self, frame: int, label: str) -> tuple[float, float] | None:
        """x and y in the label's unit; None if the marker has no row here or was not seen."""
        point = self.cells.get((frame, label))
        if point is None or not seen(point):
            return None
        factor = self.scale.factor if self.unit(label) == "mm" else 1.0
        return float(point["x"]) * factor, float(point["y"]) * factor

    def tracks(self) -> list[Track]:
        """Each label's way, in the order in which the labels first occur."""
        return [self._track(label) for label in self.labels]

    def _track(self, label: str) -> Track:
        points = [(frame, self.cells[frame, label]) for frame in self.frames if (frame, label) in self.cells]
        return Track(
            label,
            np.array([frame for frame, _ in points], np.int64),
            np.array([(float(p["x"]), float(p["y"])) for _, p in points], float).reshape(-1, 2),
            np.array([seen(p) for _, p in points], bool),
            self._times([frame for frame, _ in points]),
        )

    def _times(self, frames: Sequence[int]) -> npt.NDArray[np.float64] | None:
        times = [self.times.get(frame, math.nan) for frame in frames]
        return np.array(times, np.float64) if self.times else None


def sheet_of(movie: Mapping[str, Any], rows: Iterable[Trackpoint]) -> Sheet:
    """Sort the rows into a table and find the scale in the first frame inside the trim."""
    first, last = trim_of(movie)
    cells: dict[tuple[int, str], Trackpoint] = {}
    labels: dict[str, None] = {}
    times: dict[int, float] = {}
    for row in rows:
        frame, label = int(row["frame_number"]), str(row["label"])
        if frame < first or (last is not None and frame > last):
            continue
        labels.setdefault(label)
        cells[frame, label] = row
        if row.get("time") is not None:
            times[frame] = float(row["time"])
    frames = tuple(sorted({frame for frame, _ in cells}))
    rulers = {
        label: (float(cells[frames[0], label]["x"]), float(cells[frames[0], label]["y"]))
        for label in labels
        if ruler_mm(label) is not None and (frames[0], label) in cells
    }
    return Sheet(tuple(labels), frames, cells, calibration(rulers, frame_size(movie)[1]), times)


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
