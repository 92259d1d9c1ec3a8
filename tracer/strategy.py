"""What every way of following points offers, so that they can be compared on the same movies and swapped.

A strategy sees frames at tracking size and works in their pixels. It knows nothing of markers or analysis
frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Frame, Gray

Arrays = dict[str, npt.NDArray[Any]]


class Seen(NamedTuple):
    """One step: `points` (n, 2) float64, always inside the picture; `seen` (n,) bool; `err` (n,) estimated error,
    pixels.
    """

    points: npt.NDArray[np.float64]
    seen: npt.NDArray[np.bool_]
    err: npt.NDArray[np.float64]


class Strategy(Protocol):
    """Follows n points from picture to picture."""

    name: ClassVar[str]

    def place(self, frame: Frame, points: npt.NDArray[np.float64], which: npt.NDArray[np.bool_]) -> None:
        """`frame` is the current one; the points (n, 2) that `which` (n,) marks lie there by a person's word."""

    def advance(self, frame: Frame) -> Seen:
        """The next frame. A point that is not seen keeps a place inside the picture and may be seen again."""

    def arrays(self) -> Arrays:
        """Everything that `restore` needs to go on in another process as if nothing had happened."""

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `arrays` gave. KeyError or ValueError if it is something else."""


def inside(points: npt.NDArray[np.float64], gray: Gray) -> npt.NDArray[np.bool_]:
    """Which points (n, 2) lie on a pixel of the picture. Not-a-number lies outside."""
    height, width = gray.shape
    x, y = points[:, 0], points[:, 1]
    within: npt.NDArray[np.bool_] = (x >= 0) & (y >= 0) & (x <= width - 1) & (y <= height - 1)
    return within


def png_from_gray(name: str, gray: Gray | None) -> Arrays:
    """A picture as a lossless PNG in an array, or nothing."""
    if gray is None:
        return {}
    ok, png = cv2.imencode(".png", gray, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not ok:
        raise ValueError("the picture cannot be packed")
    return {name: png.ravel()}


def gray_from_png(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Gray | None:
    """The inverse of `png_from_gray`."""
    if name not in arrays:
        return None
    gray = cv2.imdecode(arrays[name], cv2.IMREAD_GRAYSCALE)
    if gray is None:
        raise ValueError("the picture cannot be unpacked")
    return gray
