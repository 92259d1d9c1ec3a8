"""Search for lost points: where a remembered picture is found again, several frames running, the point has returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Gray
from tracer.template import MAX_KEYS, PAD, RADIUS, SIDE, Bank, Complexes, Flags, Indices

_WIDE = (
    2 * (RADIUS + 5) + 1
)  # side of the pictures that are searched for: their middle can be turned without losing corners
_NEAR = 40.0  # pixels that are searched at first, and how the reach grows per frame and per usual speed
_GROWTH, _PER_SPEED, _FARTHEST = 1.0, 3.0, 120.0
_PATIENCE = 25  # frames after which a point is searched for more rarely, but now and then in the whole picture
_RARELY = 3
_SELF_REACH, _SELF_GAP = 45, 8  # for the question: does this place have a twin nearby?
_TWIN_REACH = 115  # and for: does it have one as far away as a lost point is searched for?
_FREE = 40.0  # pixels within which no far twin can be meant
_PEAKS, _PEAK, _PEAK_ANYWHERE = 3, 0.5, 0.75  # so many of the likeliest places per picture are looked at closely
_PEAK_GAP = 6  # pixels between two places
_MARGIN = 0.03  # by which the best place must look better than any other
_FAR = 0.15 / 120  # likeness that one pixel of distance costs; at a place with twins, the nearest of them is meant
_FAR_TWIN = 0.003
_TURNS = (0.35, -0.35, 0.7, -0.7, 1.05, -1.05)  # radians, two of them per frame


class Sighting(NamedTuple):
    """A place that looks like key `key`: warp and likeness."""

    c: complex
    m: complex
    key: int
    z: float


class Search:
    """What is needed to find n points again; arrays are indexed [point] or [point, key]."""

    _NAMES = ("wide", "twin", "missing", "speed", "home")

    def __init__(self, points: int) -> None:
        self.wide = np.zeros((points, MAX_KEYS, _WIDE, _WIDE), np.uint8)
        self.twin = np.zeros((points, MAX_KEYS))
        self.missing = np.zeros(points, np.int64)
        self.speed = np.zeros(points)
        self.home = np.zeros(points, complex)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {f"search_{name}": getattr(self, name) for name in self._NAMES}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in self._NAMES:
            setattr(self, name, arrays[f"search_{name}"])

    def learn(self, bank: Bank, point: int, key: int, picture: Gray, c: complex, m: complex) -> float:
        """Keep what the bank's new key `key` looks like in the padded picture; answers its likeness with the most
        similar place nearby.
        """
        re, im = m.real, m.imag
        half = _WIDE // 2
        matrix = np.array([[re, -im, c.real + PAD - half * (re - im)], [im, re, c.imag + PAD - half * (re + im)]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        size = (_WIDE, _WIDE)
        self.wide[point, key] = cv2.warpAffine(picture, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        near, far = _twins(picture, c)
        self.twin[point, key] = 1.0 if near == 1 else 0.0
        if far:  # a twin may be turned a little, or of another size
            which, keys, warps = np.full(len(far), point), np.full(len(far), key), np.full(len(far), m)
            self.twin[point, key] = float(bank.align(picture, which, keys, np.array(far), warps, 8).z.max())
        return near

    def begin(self, point: int, at: complex, speed: float) -> None:
        """The point was lost just now at `at`, a point that usually moves at `speed` pixels a frame."""
        self.missing[point] = 0
        self.speed[point] = speed
        self.home[point] = at

    def carry(self, turn: complex, shift: complex) -> None:
        """The camera moved: so did the places where points were lost."""
        self.home = turn * self.home + shift

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
        everywhere = missing > _PATIENCE and turn_to_look % (2 * _RARELY) == 0
        reach = min(_FARTHEST, _NEAR + (_GROWTH + _PER_SPEED * float(self.speed[point])) * missing)
        keys, warps, places = [], [], []
        for key, warp in self._candidates(bank, point, ref, m, step):
            template = self._template(point, key, warp)
            found = _peaks(picture, template, at, reach)
            if not found and everywhere:
                found = _peaks_anywhere(picture, template)
            for place in found:
                keys.append(key)
                warps.append(warp)
                places.append(place)
        if not places:
            return None
        return self._likeliest(bank, point, picture, at, np.array(keys), np.array(warps), np.array(places))

    def _candidates(self, bank: Bank, point: int, ref: int, m: complex, step: int) -> Iterator[tuple[int, complex]]:
        """Keys with warps: the last one, the person's, and two that are older than the loss, as last seen; the
        person's as it was placed; the last one turned.
        """
        lost_at = step - int(self.missing[point])
        old = [int(k) for k in np.flatnonzero(bank.used[point]) if bank.born[point, k] <= lost_at - 6]
        newest = sorted(old, key=lambda k: -int(bank.born[point, k]))[:2]
        for key in dict.fromkeys([ref, 0, *newest]):
            yield key, m
        if abs(m - 1) > 0.2:
            yield 0, 1 + 0j
        for n in (2 * step, 2 * step + 1):
            turn = _TURNS[n % len(_TURNS)]
            yield ref, m * complex(np.cos(turn), np.sin(turn))

    def _template(self, point: int, key: int, warp: complex) -> Gray:
        half = (_WIDE - 1) / 2
        size = max(0.4, min(2.5, abs(warp)))
        matrix = cv2.getRotationMatrix2D((half, half), -float(np.degrees(np.angle(warp))), size)
        turned = cv2.warpAffine(self.wide[point, key], matrix, (_WIDE, _WIDE), borderMode=cv2.BORDER_REPLICATE)
        edge = (_WIDE - SIDE) // 2
        return np.ascontiguousarray(turned[edge:-edge, edge:-edge])

    def _likeliest(
        self, bank: Bank, point: int, picture: Gray, at: complex, keys: Indices, warps: Complexes, places: Complexes
    ) -> Sighting | None:
        """Align every key at its place, and ask of the best for a likeness that grows with distance and with the
        place's twins, and that no other place comes near.
        """
        aligned = bank.align(picture, np.full(len(keys), point), keys, places, warps, 8)
        amb, distance = bank.amb[point, keys], np.abs(aligned.c - at)
        wanted = np.minimum(0.90, np.maximum(0.74, amb + 0.15)) + 0.06 * np.minimum(1.0, distance / 80)
        good = (aligned.z > wanted) & (np.abs(aligned.c - places) <= 6) & _within(picture, aligned.c)
        good &= aligned.contrast >= np.maximum(2.5, 0.22 * bank.contrast[point, keys])
        good &= (distance < _FREE) | (aligned.z > self.twin[point, keys] + 0.03)
        good &= (amb < 0.85) | (distance < 6 + self.missing[point] * (0.5 + self.speed[point]))
        if not good.any():
            return None
        score = aligned.z - np.where(amb < 0.85, _FAR, _FAR_TWIN) * distance
        best = int(np.argmax(np.where(good, score, -np.inf)))
        elsewhere = np.abs(aligned.c - aligned.c[best]) > _PEAK_GAP
        if (elsewhere & (score > score[best] - _MARGIN)).any():
            return None
        return Sighting(complex(aligned.c[best]), complex(aligned.m[best]), int(keys[best]), float(aligned.z[best]))


def _within(picture: Gray, c: Complexes) -> Flags:
    height, width = picture.shape
    within: Flags = (c.real >= 0) & (c.imag >= 0) & (c.real <= width - 2 * PAD - 1) & (c.imag <= height - 2 * PAD - 1)
    return within


def _window(picture: Gray, at: complex, reach: float) -> tuple[Gray, complex]:
    """The part of the picture (not of its padding) around `at`, with room for a template, and its corner."""
    height, width = picture.shape
    r = round(reach) + RADIUS
    x, y = round(at.real), round(at.imag)
    left, top = max(-RADIUS, x - r), max(-RADIUS, y - r)
    right = min(width - 2 * PAD + RADIUS, x + r + 1)
    bottom = min(height - 2 * PAD + RADIUS, y + r + 1)
    return picture[top + PAD : max(top, bottom) + PAD, left + PAD : max(left, right) + PAD], complex(left, top)


def _peaks(picture: Gray, template: Gray, at: complex, reach: float) -> list[complex]:
    """The places around `at` that look most like the template."""
    window, corner = _window(picture, at, reach)
    if min(window.shape) < SIDE + 2 or float(template.std()) < 1.5:
        return []
    score = cv2.matchTemplate(window, template, cv2.TM_CCOEFF_NORMED)
    return [corner + place + RADIUS * (1 + 1j) for place in _highest(score, _PEAK, _PEAK_GAP)]


def _peaks_anywhere(picture: Gray, template: Gray) -> list[complex]:
    """The same in the whole picture, at half its size."""
    whole = cv2.resize(picture[PAD:-PAD, PAD:-PAD], None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    small = cv2.resize(template, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    if min(whole.shape) < small.shape[0] + 2:
        return []
    score = cv2.matchTemplate(whole, small, cv2.TM_CCOEFF_NORMED)
    middle = (small.shape[0] - 1) / 2 * (1 + 1j)
    return [2 * (place + middle) + 0.5 + 0.5j for place in _highest(score, _PEAK_ANYWHERE, _PEAK_GAP // 2)]


def _highest(score: npt.NDArray[Any], least: float, gap: int) -> list[complex]:
    """The highest places of a score, each at least `gap` from the others."""
    found: list[complex] = []
    while len(found) < _PEAKS:
        _, best, _, (x, y) = cv2.minMaxLoc(score)
        if best < least:
            break
        found.append(complex(x, y))
        _around(score, x, y, gap)[:] = -1
    return found


def _twins(picture: Gray, c: complex) -> tuple[float, list[complex]]:
    """Likeness of the place at `c` with the most similar other place within `_SELF_REACH`, and the likeliest places
    within `_TWIN_REACH`. A place that shows nothing is like any other: 1.
    """
    x, y = round(c.real) + PAD, round(c.imag) + PAD
    patch = picture[y - RADIUS : y + RADIUS + 1, x - RADIUS : x + RADIUS + 1]
    window, corner = _window(picture, c, _TWIN_REACH)
    if patch.shape != (SIDE, SIDE) or min(window.shape) < SIDE + 2 or float(patch.std()) < 1.5:
        return 1.0, []
    score = cv2.matchTemplate(window, patch, cv2.TM_CCOEFF_NORMED)
    column, row = round(c.real - corner.real) - RADIUS, round(c.imag - corner.imag) - RADIUS
    _around(score, column, row, _SELF_GAP)[:] = -1
    near = float(np.clip(_around(score, column, row, _SELF_REACH).max(), 0.0, 1.0))
    _around(score, column, row, round(_FREE))[:] = -1
    return near, [corner + place + RADIUS * (1 + 1j) for place in _highest(score, _PEAK, _PEAK_GAP)]


def _around(score: npt.NDArray[Any], column: int, row: int, gap: int) -> npt.NDArray[Any]:
    """The part of the array within `gap` of a place; a view."""
    part: npt.NDArray[Any] = score[max(0, row - gap) : row + gap + 1, max(0, column - gap) : column + gap + 1]
    return part
