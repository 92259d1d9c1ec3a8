"""What a plant did, in numbers: distance, rate, angle, amplitude, and the scale they are told in. Pure numpy.

The quantities are those that plant laboratories take from time-lapse movies (Guercio et al., "Plant Tracer: a program
to track and quantify plant movement from cellphone captured time-lapse movies", Bios 90, 2019). Lengths go in and
come out in pixels of the analysis frame unless a `Scale` is named. Positions that were carried, not seen, never enter
a statistic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tracer import pace

Points = npt.NDArray[np.float64]

TIP = "Apex"
VERTEX = "Inflection Point"
# Where an untouched movie carries its rulers: image coordinates, y down.
DEFAULT_RULERS = {0.0: (50.0, 100.0), 10.0: (50.0, 150.0)}
_RULER = re.compile(r"ruler\s*(\d+(?:[.,]\d+)?)\s*mm", re.IGNORECASE)
_NO_CLOCK = (
    "The frame rate of this movie varies: a frame here is its usual time from one picture to the next."
    " Tell how long that is to get rates per minute."
)
PLAUSIBLE_MM_PER_PX = (0.002, 1.0)
"""Frames from 1.3 mm to 64 cm wide. The page has the same numbers (frontend/js/geometry.js)."""


@dataclass(frozen=True, slots=True)
class Track:
    """One marker through the movie: `frames` (n,) rising numbers, `points` (n, 2) pixels, `seen` (n,) bool.

    `times` (n,) are the frames' timestamps in seconds, NaN where one has none; None: the movie has no clock.
    """

    label: str
    frames: npt.NDArray[np.int64]
    points: Points
    seen: npt.NDArray[np.bool_]
    times: pace.Seconds | None = None

    def measured(self) -> tuple[npt.NDArray[np.int64], Points]:
        """Frames and points that were seen."""
        return self.frames[self.seen], self.points[self.seen]

    def steps(self) -> pace.Seconds | None:
        """When each frame was taken, in usual gaps between frames; None where frame numbers tell that as well."""
        return None if self.times is None else pace.steps(self.frames, self.times)

    def passed(self) -> float:
        """From the first sight of the marker to the last, in usual gaps between frames: 0 for fewer than two sights."""
        steps = self.steps()
        seen = (self.frames if steps is None else steps)[self.seen]
        return float(seen[-1] - seen[0]) if len(seen) else 0.0

    def followed(self) -> tuple[float, float]:
        """Length of the way from sight to sight without the stretches in which the marker was lost, pixels, and the
        time that this way took, usual gaps between frames.

        Nobody saw the way through a lost stretch: its chord would be too short for the time that it took.
        """
        steps = self.steps()
        times = np.asarray(self.frames if steps is None else steps, np.float64)
        both = self.seen[1:] & self.seen[:-1]
        way = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        return float(way[both].sum()), float(np.diff(times)[both].sum())


@dataclass(frozen=True, slots=True)
class Scale:
    """How many millimetres a pixel is. `mm_per_px` None: not calibrated, lengths stay pixels.

    `words` tells a person which markers made the scale. `warnings` name what looks wrong with it.
    """

    mm_per_px: float | None
    words: str
    warnings: tuple[str, ...] = field(default=())

    @property
    def unit(self) -> str:
        return "px" if self.mm_per_px is None else "mm"

    @property
    def factor(self) -> float:
        return 1.0 if self.mm_per_px is None else self.mm_per_px


@lru_cache(maxsize=256)  # asked once for every cell of an export
def ruler_mm(label: str) -> float | None:
    """The millimetres in a ruler's name, or None if the marker is no ruler.

    "Ruler 0mm", "ruler10MM", "Ruler 10 mm", "Ruler10.5mm" and "Ruler010mm" are rulers; a comma is read as a point.
    """
    found = _RULER.fullmatch(label.strip())
    return float(found.group(1).replace(",", ".")) if found else None


def calibration(rulers: Mapping[str, tuple[float, float]], frame_height: float | None = None) -> Scale:
    """The scale from the ruler markers of one frame: label -> (x, y) in stored pixels, origin lower left.

    scale = (highest name - lowest name) in mm / distance between those two markers in px. It needs two rulers of
    different names, both moved off their default places (known only if `frame_height` is given). Other labels are
    ignored.
    """
    named = sorted((mm, label) for label in rulers if (mm := ruler_mm(label)) is not None)
    if len(named) < 2 or named[0][0] == named[-1][0]:
        return Scale(None, "Not calibrated: two ruler markers with different millimetres are needed.")
    (low_mm, low), (high_mm, high) = named[0], named[-1]
    for mm, label in (named[0], named[-1]):
        if _at_default(mm, rulers[label], frame_height):
            return Scale(None, f"Not calibrated: {label} is still where it was when the movie was new.")
    apart = math.dist(rulers[low], rulers[high])
    if apart < 1.0:
        return Scale(None, f"Not calibrated: {low} and {high} lie on the same spot.")
    span = high_mm - low_mm
    words = f"{span:g} mm between {low} and {high} are {apart:.1f} px."
    return Scale(span / apart, words, tuple(_doubts(span / apart, named)))


def _at_default(mm: float, place: tuple[float, float], frame_height: float | None) -> bool:
    default = DEFAULT_RULERS.get(mm)
    if default is None or frame_height is None:
        return False
    return math.dist(place, (default[0], frame_height - default[1])) < 0.5


def _doubts(mm_per_px: float, named: Sequence[tuple[float, str]]) -> list[str]:
    doubts = []
    low, high = PLAUSIBLE_MM_PER_PX
    if not low <= mm_per_px <= high:
        doubts.append(f"1 mm would be {1 / mm_per_px:.3g} px; are the ruler markers on the right marks?")
    for mm in {mm for mm, _ in named}:
        twins = [label for other, label in named if other == mm]
        if len(twins) > 1:
            doubts.append(f"Several markers mean {mm:g} mm ({', '.join(twins)}); one of them was used.")
    return doubts


def tip_of(labels: Sequence[str]) -> str | None:
    """The marker that stands for the plant's tip: `Apex`, else the first that is no ruler, else None."""
    if TIP in labels:
        return TIP
    return next((label for label in labels if ruler_mm(label) is None), None)


def displacement(points: Points) -> float:
    """Straight distance from the first to the last point, by Pythagoras: sqrt(dx^2 + dy^2). Pixels; 0 for fewer than
    two points.
    """
    return float(np.linalg.norm(points[-1] - points[0])) if len(points) > 1 else 0.0


def amplitude(points: Points) -> float:
    """Half of the horizontal range, (max x - min x) / 2: how far a swinging tip leaves the middle (the amplitude of a
    sine that was sampled at its turning points). Pixels.
    """
    return float(np.ptp(points[:, 0])) / 2.0 if len(points) else 0.0


def angle(start: Sequence[float], vertex: Sequence[float], end: Sequence[float]) -> float | None:
    """Angle at `vertex` between start and end, degrees 0-180, by the law of cosines.

    cos C = (a^2 + b^2 - c^2) / (2 a b) with a, b the distances from the vertex and c the third side. None if a side
    at the vertex has no length.
    """
    a, b, c = math.dist(vertex, start), math.dist(vertex, end), math.dist(start, end)
    if a == 0 or b == 0:
        return None
    return math.degrees(math.acos(max(-1.0, min(1.0, (a * a + b * b - c * c) / (2 * a * b)))))


def per_time(value: float, frames: float, fpm: float | None) -> float | None:
    """`value` per minute if `fpm` (frames taken per minute) is set, else per frame: value / frames * fpm. None if no
    frame passed.
    """
    if frames <= 0:
        return None
    return value / frames * (fpm or 1.0)


def results(tracks: Sequence[Track], scale: Scale, fpm: float | None = None) -> dict[str, object]:
    """Everything that is told about a movie, as plain JSON values; lengths in `scale.unit`, rounded nowhere.

    `gravitropism`: distance (displacement of the tip), rate (distance per time), angle (at the marker `Inflection
    Point` where that was first seen, degrees, None without one). `circumnutation`: amplitude, rate (length of the way
    that was seen, per time of it: jitter makes it greater, never smaller). `frames` tells how many of the tip's
    positions were seen and lost.

    Time is counted in frames, 1 / fpm minutes each, or, where the movie's frame rate varies, in its usual gap between
    frames by its own timestamps (`clock` says which).
    """
    tip = tip_of([track.label for track in tracks])
    told: dict[str, object] = {
        "unit": scale.unit,
        "time_unit": "minute" if fpm else "frame",
        "mm_per_px": scale.mm_per_px,
        "scale": scale.words,
        "warnings": list(scale.warnings),
        "tip": tip,
    }
    track = next((track for track in tracks if track.label == tip), None)
    if track is None:
        return told
    frames, points = track.measured()
    passed, (way, took) = track.passed(), track.followed()
    told["clock"] = "frames" if track.steps() is None else "timestamps"
    if told["clock"] == "timestamps" and not fpm:
        told["warnings"] = [*scale.warnings, _NO_CLOCK]
    distance = displacement(points) * scale.factor
    told["gravitropism"] = {
        "distance": distance,
        "rate": per_time(distance, passed, fpm),
        "angle": _bend(tracks, points),
    }
    told["circumnutation"] = {
        "amplitude": amplitude(points) * scale.factor,
        "rate": per_time(way * scale.factor, took, fpm),
    }
    told["frames"] = {"seen": len(frames), "lost": int(len(track.frames) - len(frames))}
    return told


def _bend(tracks: Sequence[Track], tip: Points) -> float | None:
    vertex = next((track for track in tracks if track.label == VERTEX), None)
    if vertex is None or len(tip) < 2:
        return None
    _, places = vertex.measured()
    return angle(tip[0], places[0], tip[-1]) if len(places) else None
