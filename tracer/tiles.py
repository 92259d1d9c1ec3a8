"""Optical flow there and back on small tiles around the points, all packed into one picture: one call instead of a
frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Gray
from tracer.template import PAD, Complexes

_HALF = 40
_TILE = 2 * _HALF + 1
_WINDOW = (21, 21)
_LEVELS = 2
_STOP = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 15, 0.02)


class Flowed(NamedTuple):
    """Where the points went, and the closure (n,): pixels between a point and itself after the way there and back."""

    c: Complexes
    closure: npt.NDArray[np.float64]


def flow(before: Gray, now: Gray, start: Complexes, guess: Complexes) -> Flowed:
    """Follow `start` from one padded picture to the next, beginning at `guess`. A point that got away has closure
    infinity.
    """
    there_at, here_at = _corners(now, guess), _corners(before, start)
    here = _cut(before, here_at)
    there = _alike(_cut(now, there_at), here)
    n = len(start)
    rows = _TILE * np.arange(n)
    origin = -rows * 1j - PAD * (1 + 1j)  # from atlas to padded picture: atlas - corner + origin
    from_, to = start - here_at - origin, guess - there_at - origin
    first, second = here.reshape(n * _TILE, _TILE), there.reshape(n * _TILE, _TILE)
    a, b = _points(from_), _points(to)
    found, ok = _lucas_kanade(first, second, a, b)
    back, ok_back = _lucas_kanade(second, first, found, a)
    end = _complex(found)
    closure = np.abs(_complex(back) - from_)
    local = end - rows * 1j
    away = (local.real < 0) | (local.imag < 0) | (local.real > _TILE - 1) | (local.imag > _TILE - 1)
    bad = away | ~ok | ~ok_back | ~np.isfinite(closure)
    return Flowed(np.where(bad, guess, end + there_at + origin), np.where(bad, np.inf, closure))


def _lucas_kanade(
    before: Gray, now: Gray, start: npt.NDArray[Any], guess: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    flags = cv2.OPTFLOW_USE_INITIAL_FLOW
    found, ok, _ = cv2.calcOpticalFlowPyrLK(
        before, now, start, guess.copy(), winSize=_WINDOW, maxLevel=_LEVELS, criteria=_STOP, flags=flags
    )
    return found, ok.ravel().astype(bool)


def _corners(picture: Gray, c: Complexes) -> Complexes:
    """Upper left corners of the tiles in the padded picture, whole pixels, such that each tile lies within it."""
    height, width = picture.shape
    x = np.clip(np.round(c.real) + PAD - _HALF, 0, width - _TILE)
    y = np.clip(np.round(c.imag) + PAD - _HALF, 0, height - _TILE)
    return x + 1j * y


def _cut(picture: Gray, corners: Complexes) -> Gray:
    places = ((int(corner.real), int(corner.imag)) for corner in corners)
    return np.stack([picture[y : y + _TILE, x : x + _TILE] for x, y in places])


def _alike(there: Gray, here: Gray) -> Gray:
    """The tiles `there` in the light of the tiles `here`, where a lamp was switched or a cloud passed between them."""
    (mean, std), (want_mean, want_std) = _light(there), _light(here)
    for n in np.flatnonzero((np.abs(mean - want_mean) > 3) | (np.abs(np.log(std / want_std)) > 0.12)):
        gain = float(np.clip(want_std[n] / std[n], 0.25, 4.0))
        there[n] = cv2.convertScaleAbs(there[n], alpha=gain, beta=float(want_mean[n] - gain * mean[n]))
    return there


def _light(tiles: Gray) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Mean and standard deviation of each tile, from every fourth pixel of every fourth row."""
    few = tiles[:, ::4, ::4].reshape(len(tiles), -1).astype(np.float32)
    mean = few.mean(1)
    square = np.einsum("ij,ij->i", few, few) / few.shape[1]
    return mean, np.sqrt(np.maximum(square - mean * mean, 0)) + 1e-3


def _points(c: Complexes) -> npt.NDArray[np.float32]:
    return np.stack([c.real, c.imag], 1).astype(np.float32).reshape(-1, 1, 2)


def _complex(points: npt.NDArray[Any]) -> Complexes:
    flat = points.reshape(-1, 2).astype(float)
    return flat[:, 0] + 1j * flat[:, 1]
