"""Frame-to-frame optical flow (Lucas-Kanade), bare and with a forward-backward check.

`PlainFlow` is what labs commonly run, kept as the bar to beat. `CheckedFlow` follows each point there and back and
believes only what closes; a point that does not close is lost, waits where it was, and returns when its picture is
found again nearby. Both work in tracking pixels and share the shape of `tracer.strategy.Strategy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import cv2
import numpy as np
import numpy.typing as npt

from tracer.cuts import CutFinder
from tracer.frames import Frame, Gray
from tracer.strategy import Arrays, Seen, gray_from_png, inside, png_from_gray

_STOP = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 0.01)
_CLOSES = 1.5  # pixels between a point and itself after the way there and back
_RADIUS = 10  # of the remembered picture around a marker
_REACH = 32  # pixels around a lost marker that are searched
_FOUND = 0.85  # normalised correlation above which a lost marker has returned


class PlainFlow:
    """Lucas-Kanade, window 15, two levels, frame to frame; no check, nothing is ever lost but what leaves the
    picture.
    """

    name: ClassVar[str] = "plain-flow"

    def __init__(self) -> None:
        self._gray: Gray | None = None
        self._points = np.zeros((0, 2))

    def place(self, frame: Frame, points: npt.NDArray[np.float64], which: npt.NDArray[np.bool_]) -> None:
        self._gray = frame.gray()
        self._points = np.where(which[:, None], points, _sized(self._points, points))

    def advance(self, frame: Frame) -> Seen:
        assert self._gray is not None, "place() comes before advance()"
        gray = frame.gray()
        there, found = _flow(self._gray, gray, self._points, window=15, levels=2)
        kept = found & inside(there, gray)
        self._points = np.where(kept[:, None], there, self._points)
        self._gray = gray
        return Seen(self._points.copy(), kept, np.zeros(len(kept)))

    def arrays(self) -> Arrays:
        return {"points": self._points, **png_from_gray("gray", self._gray)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._points = arrays["points"]
        self._gray = gray_from_png("gray", arrays)


class CheckedFlow:
    """Lucas-Kanade there and back; what does not close within `_CLOSES` pixels is lost until it is found again."""

    name: ClassVar[str] = "checked-flow"

    def __init__(self) -> None:
        self._gray: Gray | None = None
        self._points = np.zeros((0, 2))
        self._seen = np.zeros(0, bool)
        self._patches = np.zeros((0, 2 * _RADIUS + 1, 2 * _RADIUS + 1), np.uint8)
        self._cuts = CutFinder()

    def place(self, frame: Frame, points: npt.NDArray[np.float64], which: npt.NDArray[np.bool_]) -> None:
        gray = frame.gray()
        if self._gray is None:
            self._cuts.is_cut(frame.small())
        self._gray = gray
        self._points = np.where(which[:, None], points, _sized(self._points, points))
        self._seen = which | _sized(self._seen, which)
        fresh = np.stack([_patch(gray, x, y) for x, y in points])
        self._patches = np.where(which[:, None, None], fresh, _sized(self._patches, fresh))

    def advance(self, frame: Frame) -> Seen:
        assert self._gray is not None, "place() comes before advance()"
        gray = frame.gray()
        there, found, closure = _checked(self._gray, gray, self._points)
        kept = self._seen & found & inside(there, gray) & (closure <= _CLOSES)
        if self._cuts.is_cut(frame.small()):
            kept[:] = False
        self._points = np.where(kept[:, None], there, self._points)
        for lost in np.flatnonzero(~kept):
            back = self._search(gray, lost)
            if back is not None:
                self._points[lost], kept[lost], closure[lost] = back, True, _CLOSES
        self._seen, self._gray = kept, gray
        return Seen(self._points.copy(), kept.copy(), closure)

    def arrays(self) -> Arrays:
        kept = {"points": self._points, "seen": self._seen, "patches": self._patches}
        return {**kept, **self._cuts.arrays(), **png_from_gray("gray", self._gray)}

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._points, self._seen, self._patches = arrays["points"], arrays["seen"], arrays["patches"]
        self._cuts.restore(arrays)
        self._gray = gray_from_png("gray", arrays)

    def _search(self, gray: Gray, lost: np.intp) -> npt.NDArray[np.float64] | None:
        x, y = np.round(self._points[lost]).astype(int)
        left, top = max(0, x - _REACH), max(0, y - _REACH)
        window = gray[top : y + _REACH + 1, left : x + _REACH + 1]
        patch = self._patches[lost]
        if min(window.shape) < patch.shape[0] or float(patch.std()) < 2.0:
            return None
        score = cv2.matchTemplate(window, patch, cv2.TM_CCOEFF_NORMED)
        _, best, _, (column, row) = cv2.minMaxLoc(score)
        if best < _FOUND:
            return None
        return np.array([left + column + _RADIUS, top + row + _RADIUS], float)


def _flow(
    before: Gray, now: Gray, points: npt.NDArray[np.float64], *, window: int, levels: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    start = points.astype(np.float32).reshape(-1, 1, 2)
    there, found, _ = cv2.calcOpticalFlowPyrLK(
        before, now, start, start.copy(), winSize=(window, window), maxLevel=levels, criteria=_STOP
    )
    return there.reshape(-1, 2).astype(float), found.ravel().astype(bool)


def _checked(
    before: Gray, now: Gray, points: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    there, found = _flow(before, now, points, window=21, levels=3)
    back, returned = _flow(now, before, there, window=21, levels=3)
    closure = np.linalg.norm(back - points, axis=1)
    return there, found & returned, np.where(np.isfinite(closure), closure, np.inf)


def _patch(gray: Gray, x: float, y: float) -> Gray:
    side = 2 * _RADIUS + 1
    return cv2.getRectSubPix(gray, (side, side), (float(x), float(y)))


def _sized(old: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`old`, or zeros at the first placing."""
    return old if old.shape == like.shape else np.zeros_like(like)
