"""Find hard cuts: a promotion card at the end, a second scene. A light that is switched is no cut, a black frame
neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Gray
from tracer.motion import Camera, camera_motion

_THUMB = 64  # longer side of the thumbnails that are compared
_JUMP = 14.0  # gray levels by which the mean difference must exceed the usual
_TIMES = 6.0  # times the usual difference between neighbours
_ALIKE = 0.55  # correlation above which two pictures show the same scene under another light
_BLANK = 4.0  # standard deviation below which a frame shows nothing


class CutFinder:
    """Fed with every frame's `small` picture in order; keeps the last one and a running mean."""

    def __init__(self) -> None:
        self.blanks_before = 0
        self._blanks = 0
        self._last: Gray | None = None
        self._last_small: Gray | None = None
        self._usual = 2.0

    def is_cut(self, gray: Gray) -> bool:
        """Does a new scene begin with this frame? Blank frames are passed over: what follows them is compared with
        what was before, and if that is a cut, `blanks_before` tells how many of them lead over to it.
        """
        thumb = thumbnail(gray)
        if float(cv2.meanStdDev(thumb)[1][0, 0]) < _BLANK:
            self._blanks += 1
            return False
        before, self._last = self._last, thumb
        small_before, self._last_small = self._last_small, gray
        self.blanks_before, self._blanks = self._blanks, 0
        if before is None or small_before is None:
            return False
        difference = float(cv2.mean(cv2.absdiff(thumb, before))[0])
        cut = (
            difference > max(_JUMP, _TIMES * self._usual)
            and correlation(before, thumb) < _ALIKE
            and camera_motion(small_before, gray) == Camera()
        )
        if not cut:
            self._usual += 0.1 * (min(difference, 20.0) - self._usual)
        return cut

    @property
    def blanks(self) -> int:
        """Blank frames since the last one that showed anything."""
        return self._blanks

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `restore` needs to go on in another process."""
        kept = {"cut_usual": np.array(self._usual), "cut_blanks": np.array(self._blanks)}
        return kept if self._last_small is None else {**kept, "cut_last": self._last_small}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._usual = float(arrays["cut_usual"])
        self._blanks = int(arrays["cut_blanks"])
        self._last_small = arrays.get("cut_last")
        self._last = None if self._last_small is None else thumbnail(self._last_small)


def thumbnail(gray: Gray) -> Gray:
    """A picture small enough that looking for a cut costs microseconds: longer side `_THUMB`."""
    height, width = gray.shape
    scale = _THUMB / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    while gray.shape[0] >= 2 * size[1] and gray.shape[1] >= 2 * size[0]:  # exact halvings are the cheapest mean
        gray = cv2.resize(gray[: gray.shape[0] // 2 * 2, : gray.shape[1] // 2 * 2], None, fx=0.5, fy=0.5)
    return cv2.resize(gray, size, interpolation=cv2.INTER_LINEAR)


def correlation(a: Gray, b: Gray) -> float:
    """Pearson's correlation of two pictures of one shape; 1 for the same scene under any gain and offset."""
    a, b = a.astype(np.float32) - a.mean(), b.astype(np.float32) - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm > 0 else 0.0
