"""How evenly the frames of a movie follow each other by its own timestamps. Pure numpy.

A camera that drops pictures, or a phone that slows down in the dark, leaves its mark in the timestamps alone: counted
frames then are no measure of time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Seconds = npt.NDArray[np.float64]
_ROUNDING = 0.004  # seconds by which a steady clock may be off: many files count milliseconds, some 1/600 s
_SHARE = 0.1  # of the usual gap, for slow movies


def varies(gaps: Seconds) -> bool:
    """Do gaps between neighbours differ by more than the rounding of a clock?"""
    if len(gaps) < 2:
        return False
    usual = float(np.median(gaps))
    return float(np.abs(gaps - usual).max()) > max(_ROUNDING, _SHARE * usual)


def steps(frames: npt.NDArray[np.int64], times: Seconds) -> Seconds | None:
    """When each frame was taken, counted in usual gaps from the first one, (n,) like `frames`; None where the pace is
    even, so that frame numbers tell the same, and where the clock cannot be trusted: a time is missing (NaN), or one
    is not later than the one before.

    The usual gap is the median: a recorder that skips every tenth picture still takes the others at its pace.
    """
    if len(frames) < 3 or not np.isfinite(times).all():
        return None
    gaps = np.diff(times) / np.diff(frames)
    if (gaps <= 0).any() or not varies(gaps):
        return None
    counted: Seconds = (times - times[0]) / float(np.median(gaps))
    return counted
