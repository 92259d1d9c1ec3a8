"""Remembered pictures of the place around a marker, and the alignment of the current frame with them.

A *key* is a 21 x 21 patch, sampled under the marker's similarity warp. The warp is two complex numbers per point:
`c`, where the patch's middle lies (x + iy), and `m`, by which patch coordinates u + iv are turned and scaled: x = c +
m (u + iv). Patches are compared as zero-mean, unit-variance pictures under a weight, so no change of light matters.

The alignment is inverse-compositional Gauss-Newton (Baker and Matthews, "Lucas-Kanade 20 years on", IJCV 56, 2004) on
that normalised difference. Everything works on all points at once: the cost is the number of calls, not of pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Chroma, Gray

RADIUS = 10
SIDE = 2 * RADIUS + 1
AREA = SIDE * SIDE
PAD = 48  # pixels around a padded picture, so that no sampling near an edge needs a special case
MAX_KEYS = 10
_COLOUR = 12.0  # distance in U and V at which a pixel begins to belong to something else
_NOISE = 2.5  # gray levels of camera noise
_GROWTH = 1.08  # by which a patch may grow or shrink in one alignment; a wedge looks alike at any size
_STEP = 1.5  # longest step of one iteration, pixels
_STILL = 0.1  # a step shorter than this ends the iterations
_BACK = 0.3  # share of a step that is taken back, above which the next ones are half as long: fine stripes mislead them

Floats = npt.NDArray[np.float32]
Complexes = npt.NDArray[np.complex128]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

_V, _U = (axis.ravel().astype(np.float32) for axis in np.mgrid[-RADIUS : RADIUS + 1, -RADIUS : RADIUS + 1])
_GRID = np.stack([_U, _V, np.ones(AREA, np.float32)])
_BELL = np.exp(-(_U**2 + _V**2) / (2 * (0.6 * RADIUS) ** 2)).astype(np.float32)
_BELL /= _BELL.sum()


def padded(gray: Gray) -> Gray:
    """The picture with `PAD` pixels of repeated edge around it. (OpenCV's own border takes four times as long.)"""
    height, width = gray.shape
    wide = np.empty((height + 2 * PAD, width + 2 * PAD), np.uint8)
    wide[PAD:-PAD, PAD:-PAD] = gray
    wide[PAD:-PAD, :PAD], wide[PAD:-PAD, -PAD:] = gray[:, :1], gray[:, -1:]
    wide[:PAD], wide[-PAD:] = wide[PAD], wide[-PAD - 1]
    return wide


def sample(picture: Gray, c: Complexes, m: Complexes) -> Floats:
    """Patches (n, AREA) of a padded picture under the warps (n,), bilinear."""
    return _sample(picture, c.tolist(), m.tolist())


def _sample(picture: Gray, c: list[complex], m: list[complex]) -> Floats:
    warps = [(turn.real, -turn.imag, at.real + PAD) for at, turn in zip(c, m, strict=True)]
    warps += [(turn.imag, turn.real, at.imag + PAD) for at, turn in zip(c, m, strict=True)]
    places = np.array(warps, np.float32) @ _GRID
    n = len(c)
    patch = cv2.remap(picture, places[:n], places[n:], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return patch.astype(np.float32)


def alike_in_colour(chroma: Chroma, c: complex, m: complex) -> Floats:
    """How much each pixel of a patch (AREA,) belongs to what is in its middle: 1 of one colour with it, 0.1 of another.

    `chroma` is a `Frame.chroma`, at half size. In a gray picture everything is alike.
    """
    half = 0.5 + 0.5j
    at = (c + half) / 2 - half
    warp = m / 2
    x = (warp.real * _U - warp.imag * _V + at.real).astype(np.float32).reshape(SIDE, SIDE)
    y = (warp.real * _V + warp.imag * _U + at.imag).astype(np.float32).reshape(SIDE, SIDE)
    colour = np.asarray(cv2.remap(chroma, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE), np.float32)
    middle = np.median(colour[RADIUS - 1 : RADIUS + 2, RADIUS - 1 : RADIUS + 2].reshape(-1, 2), axis=0)
    away = ((colour - middle) ** 2).sum(axis=2).ravel()
    return np.asarray(0.1 + 0.9 * np.exp(-away / (2 * _COLOUR**2)), np.float32)


class Normalised(NamedTuple):
    """Patches with mean 0 and variance 1 under their weights, and the standard deviation that they had, gray levels."""

    patch: Floats
    contrast: Floats


def normalised(patch: Floats, weight: Floats) -> Normalised:
    """Patches (n, AREA) under weights (n, AREA) that sum to 1. A flat patch becomes zeros."""
    centred = patch - np.einsum("ij,ij->i", patch, weight)[:, None]
    contrast = np.sqrt(np.einsum("ij,ij,ij->i", centred, centred, weight))
    return Normalised(centred / np.maximum(contrast, 1e-3)[:, None], contrast)


def likeness(a: Floats, b: Floats, weight: Floats) -> Floats:
    """Correlation (n,) of normalised patches: 1 alike, 0 unrelated."""
    return np.asarray(np.einsum("ij,ij,ij->i", a, b, weight))


class Aligned(NamedTuple):
    """Where the patches were found: warps, likeness with the key, patches and contrast there, normalised.

    `start` holds the raw patches at the first warps.
    """

    c: Complexes
    m: Complexes
    z: Floats
    patch: Floats
    contrast: Floats
    start: Floats


class Bank:
    """Up to `MAX_KEYS` keys for each of n points. Key 0 is what a person placed and is never dropped.

    Arrays are indexed [point, key]. `var` is the variance of the key's own place (pixels squared), `gen` how many
    keys lie between it and the person's word, `born` the step at which it was made, `amb` its likeness with the most
    similar other place nearby (1: there is a twin). `slack` tells how badly the picture holds the key in its loosest
    direction: pixels squared of displacement per share of the picture that differs; an edge slides, a spot does not.
    """

    def __init__(self, points: int) -> None:
        shape = (points, MAX_KEYS)
        self.patch = np.zeros((*shape, AREA), np.float32)
        self.weight = np.zeros((*shape, AREA), np.float32)
        self.reader = np.zeros((*shape, 6, AREA), np.float32)
        self.contrast = np.zeros(shape, np.float32)
        self.slack = np.zeros(shape)
        self.var = np.zeros(shape)
        self.gen = np.zeros(shape, np.int64)
        self.born = np.zeros(shape, np.int64)
        self.amb = np.zeros(shape)
        self.used = np.zeros(shape, bool)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All but the readers, which follow from the rest."""
        names = ("patch", "weight", "contrast", "var", "gen", "born", "amb", "used")
        return {f"key_{name}": getattr(self, name) for name in names}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in ("patch", "weight", "contrast", "var", "gen", "born", "amb", "used"):
            setattr(self, name, arrays[f"key_{name}"])
        self.reader = np.zeros((*self.used.shape, 6, AREA), np.float32)
        for n, k in np.argwhere(self.used):
            self._make_reader(int(n), int(k))

    def forget(self, point: int) -> None:
        self.used[point] = False

    def put(self, point: int, key: int, picture: Gray, c: complex, m: complex, mask: Floats | None = None) -> None:
        """Make key `key` of `point` from the padded picture. `mask` (AREA,) 0-1 weighs pixels down that are not the
        plant.
        """
        weight = _BELL if mask is None else _BELL * mask
        weight = (weight / weight.sum()).astype(np.float32)
        patch, contrast = normalised(sample(picture, np.array([c]), np.array([m])), weight[None])
        self.patch[point, key], self.weight[point, key] = patch[0], weight
        self.contrast[point, key] = contrast[0]
        self._make_reader(point, key)
        self.used[point, key] = True

    def _make_reader(self, point: int, key: int) -> None:
        """The matrix that reads a patch in one product: the step in four rows, then mean and likeness."""
        patch, weight = self.patch[point, key], self.weight[point, key]
        self.reader[point, key, :4], self.slack[point, key] = _solver(patch, weight, float(self.contrast[point, key]))
        self.reader[point, key, 4], self.reader[point, key, 5] = weight, weight * patch

    def align(
        self, picture: Gray, which: Indices, keys: Indices, c: Complexes, m: Complexes, iterations: int
    ) -> Aligned:
        """Align key `keys[i]` of point `which[i]` with the padded picture, starting from the warps (c[i], m[i])."""
        weight, reader = self.weight[which, keys], self.reader[which, keys]
        # The warps are a handful of numbers: Python's own complex numbers are faster here than arrays of them.
        at, turn = c.tolist(), m.tolist()
        bounds = [(abs(warp) / _GROWTH, abs(warp) * _GROWTH) for warp in turn]
        start = patch = _sample(picture, at, turn)
        read, contrast = _read(reader, patch, weight)
        gain, last = [1.0] * len(at), [0j] * len(at)
        for _ in range(iterations):
            longest = 0.0
            for n, (dx, dy, da, db, _, _) in enumerate((read / contrast[:, None]).tolist()):
                back = dx * last[n].real + dy * last[n].imag
                if back < -_BACK * abs(last[n]) ** 2:
                    gain[n] *= 0.5
                last[n] = shift = gain[n] * complex(dx, dy)
                da, db = gain[n] * min(max(da, -0.2), 0.2), gain[n] * min(max(db, -0.2), 0.2)
                length = abs(shift)
                longest = max(longest, length)
                warp = turn[n] / complex(1 + da, db)
                size = abs(warp)
                warp *= min(max(size, bounds[n][0]), bounds[n][1]) / size
                at[n] -= warp * shift * min(1.0, _STEP / max(length, 1e-9))
                turn[n] = warp
            if longest < _STILL:
                break  # so short a step changes the patch by less than the camera's noise
            patch = _sample(picture, at, turn)
            read, contrast = _read(reader, patch, weight)
        found = (patch - read[:, 4:5]) / contrast[:, None]
        return Aligned(np.array(at), np.array(turn), read[:, 5] / contrast, found, contrast, start)


def _read(reader: Floats, patch: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """All that an iteration wants to know of raw patches (k, AREA): the reader's six numbers (k, 6), the contrast (k,).

    The solver's rows and the key are orthogonal to a constant, and the solver's to the key, so a raw patch gives the
    same step and likeness as a normalised one, but for the contrast.
    """
    read = np.matmul(reader, patch[:, :, None])[:, :, 0]
    square = np.matmul((patch * patch)[:, None, :], weight[:, :, None])[:, 0, 0]
    return read, np.sqrt(np.maximum(square - read[:, 4] ** 2, np.float32(1e-6)))


def _solver(patch: Floats, weight: Floats, contrast: float) -> tuple[Floats, float]:
    """The (4, AREA) matrix that turns a difference of normalised patches into a step (dx, dy, da, db) of the key's
    warp, and the key's slack (see `Bank`).

    Directions that only change gain and offset are taken out. A dull patch is damped, its turn and scale most of all.
    """
    square = patch.reshape(SIDE, SIDE)
    gy, gx = (slope.ravel() for slope in np.gradient(square))
    jacobian = np.stack([gx, gy, gx * _U + gy * _V, gy * _U - gx * _V], 1).astype(np.float64)
    for direction in (np.ones(AREA), patch.astype(np.float64)):
        norm = float((weight * direction * direction).sum())
        jacobian -= np.outer(direction, (weight * direction) @ jacobian) / max(norm, 1e-9)
    weighted = (jacobian * weight[:, None]).T
    hessian = weighted @ jacobian
    slack = 1 / max(float(np.linalg.eigvalsh(hessian[:2, :2])[0]), 1e-3)
    dull = (_NOISE / max(contrast, 0.1)) ** 2
    hessian += np.diag([0.02 * dull, 0.02 * dull, 25 * dull + 0.02 * hessian[2, 2], 25 * dull + 0.02 * hessian[3, 3]])
    hessian += 1e-6 * np.eye(4)
    return np.linalg.solve(hessian, weighted).astype(np.float32), slack
