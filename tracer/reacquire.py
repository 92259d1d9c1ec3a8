"""Search for lost points: where a remembered picture is found again, several frames running, the point has returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Gray
from tracer.template import MAX_KEYS, PAD, RADIUS, SIDE, Bank

_WIDE = (
    2 * (RADIUS + 5) + 1
)  # side of the pictures that are searched for: their middle can be turned without losing corners
_NEAR = 24.0  # pixels that are searched at first, and how the reach grows per frame
_GROWTH, _FARTHEST = 4.0, 110.0
_PATIENCE = 25  # frames after which a point is searched for more rarely, but now and then in the whole picture
_RARELY = 3
_SELF_REACH, _SELF_GAP = 45, 8  # for the question: does this place have a twin?
_PEAK, _MARGIN, _PEAK_GAP = 0.66, 0.03, 6
_TURNS = (0.35, -0.35, 0.7, -0.7)  # radians, two of them per frame


class Sighting(NamedTuple):
    """A place that looks like key `key`: warp and likeness."""

    c: complex
    m: complex
    key: int
    z: float


class Search:
    """What is needed to find n points again; arrays are indexed [point] or [point, key]."""

    _NAMES = ("wide", "missing", "speed")

    def __init__(self, points: int) -> None:
        self.wide = np.zeros((points, MAX_KEYS, _WIDE, _WIDE), np.uint8)
        self.missing = np.zeros(points, np.int64)
        self.speed = np.zeros(points)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {f"search_{name}": getattr(self, name) for name in self._NAMES}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in self._NAMES:
            setattr(self, name, arrays[f"search_{name}"])

    def learn(self, point: int, key: int, picture: Gray, c: complex, m: complex) -> float:
        """Keep what key `key` looks like in the padded picture; answers its likeness with its nearest twin."""
        re, im = m.real, m.imag
        half = _WIDE // 2
        matrix = np.array([[re, -im, c.real + PAD - half * (re - im)], [im, re, c.imag + PAD - half * (re + im)]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        size = (_WIDE, _WIDE)
        self.wide[point, key] = cv2.warpAffine(picture, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        return _ambiguity(picture, c)

    def begin(self, point: int, speed: float) -> None:
        """The point was lost just now, while it moved at `speed` pixels a frame."""
        self.missing[point] = 0
        self.speed[point] = speed

    def look(
        self, bank: Bank, point: int, ref: int, picture: Gray, at: complex, m: complex, step: int
    ) -> Sighting | None:
        """Search the padded picture around `at`; a Sighting if one place is like a key and no other place is.

        `m` is the warp when the point was last seen. Positions in the picture are searched, never its padding.
        """
        missing = int(self.missing[point])
        turn_to_look = step + point  # points that have been missing for long take turns
        if missing > _PATIENCE and turn_to_look % _RARELY:
            return None
        reach = min(_FARTHEST, _NEAR + (_GROWTH + float(self.speed[point])) * missing)
        best: Sighting | None = None
        for key, turn in self._candidates(bank, point, ref, step):
            warp = m * complex(np.cos(turn), np.sin(turn))
            peak = _peak(picture, self._template(point, key, warp), at, reach)
            if peak is None and missing > _PATIENCE and turn_to_look % (2 * _RARELY) == 0 and turn == 0:
                peak = _peak_anywhere(picture, self._template(point, key, warp))
            if peak is None:
                continue
            found = self._checked(bank, point, key, picture, peak, warp, at)
            if found is not None and (best is None or found.z > best.z):
                best = found
        return best

    def _candidates(self, bank: Bank, point: int, ref: int, step: int) -> Iterator[tuple[int, float]]:
        """Keys with turns: the last one, the person's, and two that are older than the loss; one of them turned."""
        lost_at = step - int(self.missing[point])
        old = [int(k) for k in np.flatnonzero(bank.used[point]) if bank.born[point, k] <= lost_at - 6]
        newest = sorted(old, key=lambda k: -int(bank.born[point, k]))[:2]
        for key in dict.fromkeys([ref, 0, *newest]):
            yield key, 0.0
        yield ref, _TURNS[2 * step % len(_TURNS)]
        yield ref, _TURNS[(2 * step + 1) % len(_TURNS)]

    def _template(self, point: int, key: int, warp: complex) -> Gray:
        half = (_WIDE - 1) / 2
        size = max(0.4, min(2.5, abs(warp)))
        matrix = cv2.getRotationMatrix2D((half, half), -float(np.degrees(np.angle(warp))), size)
        turned = cv2.warpAffine(self.wide[point, key], matrix, (_WIDE, _WIDE), borderMode=cv2.BORDER_REPLICATE)
        edge = (_WIDE - SIDE) // 2
        return np.ascontiguousarray(turned[edge:-edge, edge:-edge])

    def _checked(
        self, bank: Bank, point: int, key: int, picture: Gray, peak: complex, warp: complex, at: complex
    ) -> Sighting | None:
        """Align with the key at the peak and ask for a likeness that grows with distance and with the place's twins."""
        which, keys = np.array([point]), np.array([key])
        aligned = bank.align(picture, which, keys, np.array([peak]), np.array([warp]), 8)
        c, z = complex(aligned.c[0]), float(aligned.z[0])
        amb, distance = float(bank.amb[point, key]), abs(c - at)
        wanted = min(0.90, max(0.74, amb + 0.15)) + 0.06 * min(1.0, distance / 80)
        if z <= wanted or abs(c - peak) > 6 or not _within(picture, c):
            return None
        if float(aligned.contrast[0]) < max(2.5, 0.22 * float(bank.contrast[point, key])):
            return None
        if amb >= 0.85 and distance >= 6 + self.missing[point] * (0.5 + self.speed[point]):
            return None
        return Sighting(c, complex(aligned.m[0]), key, z)


def _within(picture: Gray, c: complex) -> bool:
    height, width = picture.shape
    return bool(0 <= c.real <= width - 2 * PAD - 1 and 0 <= c.imag <= height - 2 * PAD - 1)


def _window(picture: Gray, at: complex, reach: float) -> tuple[Gray, complex]:
    """The part of the picture (not of its padding) around `at`, with room for a template, and its corner."""
    height, width = picture.shape
    r = round(reach) + RADIUS
    x, y = round(at.real), round(at.imag)
    left, top = max(-RADIUS, x - r), max(-RADIUS, y - r)
    right = min(width - 2 * PAD + RADIUS, x + r + 1)
    bottom = min(height - 2 * PAD + RADIUS, y + r + 1)
    return picture[top + PAD : max(top, bottom) + PAD, left + PAD : max(left, right) + PAD], complex(left, top)


def _peak(picture: Gray, template: Gray, at: complex, reach: float) -> complex | None:
    """The one place around `at` that looks like the template, or None if there is none or more than one."""
    window, corner = _window(picture, at, reach)
    if min(window.shape) < SIDE + 2 or float(template.std()) < 1.5:
        return None
    place: complex | None = _single_peak(cv2.matchTemplate(window, template, cv2.TM_CCOEFF_NORMED), _PEAK, _PEAK_GAP)
    return None if place is None else corner + place + RADIUS * (1 + 1j)


def _peak_anywhere(picture: Gray, template: Gray) -> complex | None:
    """The same in the whole picture, at half its size."""
    whole = cv2.resize(picture[PAD:-PAD, PAD:-PAD], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    small = cv2.resize(template, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    if min(whole.shape) < small.shape[0] + 2:
        return None
    place: complex | None = _single_peak(cv2.matchTemplate(whole, small, cv2.TM_CCOEFF_NORMED), 0.75, _PEAK_GAP // 2)
    if place is None:
        return None
    middle = (small.shape[0] - 1) / 2
    return complex(2 * (place + middle * (1 + 1j)) + 0.5 + 0.5j)


def _single_peak(score: npt.NDArray[Any], least: float, gap: int) -> complex | None:
    _, best, _, (x, y) = cv2.minMaxLoc(score)
    if best < least:
        return None
    score[max(0, y - gap) : y + gap + 1, max(0, x - gap) : x + gap + 1] = -1
    _, second, _, _ = cv2.minMaxLoc(score)
    return complex(x, y) if best - second > _MARGIN else None


def _ambiguity(picture: Gray, c: complex) -> float:
    """Likeness of the place at `c` with the most similar other place within reach."""
    x, y = round(c.real) + PAD, round(c.imag) + PAD
    patch = picture[y - RADIUS : y + RADIUS + 1, x - RADIUS : x + RADIUS + 1]
    window, corner = _window(picture, c, _SELF_REACH)
    if patch.shape != (SIDE, SIDE) or min(window.shape) < SIDE + 2 or float(patch.std()) < 1.5:
        return 1.0
    score = cv2.matchTemplate(window, patch, cv2.TM_CCOEFF_NORMED)
    column, row = round(c.real - corner.real) - RADIUS, round(c.imag - corner.imag) - RADIUS
    score[max(0, row - _SELF_GAP) : row + _SELF_GAP + 1, max(0, column - _SELF_GAP) : column + _SELF_GAP + 1] = -1
    return float(np.clip(score.max(), 0.0, 1.0))
