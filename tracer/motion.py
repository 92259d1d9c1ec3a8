"""What the camera did between two frames, as one similarity: it shook, was bumped, or stood still."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Gray

_DIVISOR = 4  # of `Frame.small`
_MOVED = 1.2  # mean difference of the thumbnails, gray levels, above which the camera may have moved
_AGREEING = 8  # corners that must agree at least
_STOP = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.03)


class Camera(NamedTuple):
    """The movement of everything that stands still: z becomes `turn` z + `shift`, with z = x + iy in pixels."""

    turn: complex = 1 + 0j
    shift: complex = 0j


def camera_motion(before: Gray, now: Gray) -> Camera:
    """How the camera moved between two pictures of `Frame.small`, in pixels of the whole one; not at all if unclear.

    A robust similarity through the flow of up to 90 corners; it counts only if most of them agree, so that a plant that
    moves in front of a wall does not pass for a camera that moves.
    """
    if _difference(before, now) <= _MOVED:
        return Camera()
    (mean, spread), (want_mean, want_spread) = (_light(picture) for picture in (now, before))
    gain = (want_spread + 1e-3) / (spread + 1e-3)
    if not 0.2 < gain < 5:
        return Camera()
    if abs(gain - 1) > 0.02 or abs(mean - want_mean) > 1:
        now = cv2.convertScaleAbs(now, alpha=gain, beta=want_mean - gain * mean)
    if _difference(before, now) <= _MOVED:
        return Camera()
    corners = cv2.goodFeaturesToTrack(before, 90, 0.01, 5)
    if corners is None or len(corners) < _AGREEING:
        return Camera()
    matrix = _agreed_motion(before, now, corners, np.zeros(2, np.float32))
    if matrix is None:  # a bump that flow cannot reach: correlation of the whole pictures can
        shift, _ = cv2.phaseCorrelate(before.astype(np.float32), now.astype(np.float32))
        matrix = _agreed_motion(before, now, corners, np.array(shift, np.float32))
    return Camera() if matrix is None else _enlarged(matrix)


def _agreed_motion(
    before: Gray, now: Gray, corners: npt.NDArray[Any], guess: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64] | None:
    """The similarity (2, 3) that most of the corners' flow agrees with, if most do."""
    flags = cv2.OPTFLOW_USE_INITIAL_FLOW
    there, ok, _ = cv2.calcOpticalFlowPyrLK(
        before, now, corners, corners + guess, winSize=(13, 13), maxLevel=3, criteria=_STOP, flags=flags
    )
    kept = ok.ravel().astype(bool)
    if kept.sum() < _AGREEING:
        return None
    matrix, agreed = cv2.estimateAffinePartial2D(
        corners[kept], there[kept], method=cv2.RANSAC, ransacReprojThreshold=0.7, maxIters=500, confidence=0.99
    )
    if matrix is None or int(agreed.sum()) < max(_AGREEING, 0.4 * kept.sum()):
        return None
    return np.asarray(matrix, float)


def _difference(a: Gray, b: Gray) -> float:
    return float(cv2.mean(cv2.absdiff(a, b))[0])


def _light(picture: Gray) -> tuple[float, float]:
    """Mean and standard deviation, gray levels."""
    mean, spread = cv2.meanStdDev(picture)
    return float(mean[0, 0]), float(spread[0, 0])


def _enlarged(matrix: npt.NDArray[np.float64]) -> Camera:
    """From thumbnail pixels to whole ones: a pixel centre z lies at (z + 0.5 + 0.5i) / divisor - 0.5 - 0.5i there."""
    turn = complex(matrix[0, 0], matrix[1, 0])
    shift = complex(matrix[0, 2], matrix[1, 2])
    half = 0.5 + 0.5j
    return Camera(turn, _DIVISOR * (shift + half) - half + turn * (half - _DIVISOR * half))
