"""The way of one marker, as the page draws it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Way:
    """`frames` (n,) rising numbers; `points` (n, 2) analysis pixels, origin upper left; `seen` (n,) bool; `err` (n,)
    estimated error, pixels. `color` is "#rrggbb".
    """

    label: str
    color: str
    frames: npt.NDArray[np.int64]
    points: npt.NDArray[np.float64]
    seen: npt.NDArray[np.bool_]
    err: npt.NDArray[np.float64]

    def lost_spans(self) -> Iterator[tuple[int, int]]:
        """First and last frame of every stretch in which the marker was lost."""
        yield from ((int(self.frames[a]), int(self.frames[b - 1])) for a, b in runs(~self.seen))


def runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where `flags` is true: begin and end (behind the last) of every run of indices."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def thinned(values: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.int64]:
    """Indices of at most about `most` of the values that show the same curve: the lowest and highest of each stretch,
    and both ends.
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    chosen = {0, n - 1}
    for part in np.array_split(np.arange(n), max(1, most // 2)):
        chosen |= {int(part[np.argmin(values[part])]), int(part[np.argmax(values[part])])}
    return np.array(sorted(chosen))
