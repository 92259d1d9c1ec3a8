"""Put together what was found forwards and backwards between two frames on which a person placed a marker.

Pure arithmetic over arrays. A track that was followed from one side grows less sure with every frame; the two sides
meet somewhere between, each is weighed by how sure it is there, and where they contradict each other that is said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tracer.model import Marker, TraceRequest

_TIRING = 0.05  # variance, pixels squared, that a track gathers per frame since a person's word
_UNSEEN = 400.0  # variance of a place that is carried, not measured
_ONE_PLACE = 6.0  # pixels within which the two sides may mean the same place
_DISPUTED = 4.0  # pixels apart from which a person should look at the frame


class Span(NamedTuple):
    """Marker `marker` (its index in the request) was placed by a person on the frames `first` and `last`, and on none
    between them.
    """

    marker: int
    first: int
    last: int


class Side(NamedTuple):
    """What one direction says of n markers in one frame: `points` (n, 2) and `err` (n,) in analysis pixels, `seen` (n,)
    bool, `away` (n,) frames since the person's word.
    """

    points: npt.NDArray[np.floating[Any]]
    seen: npt.NDArray[np.bool_]
    err: npt.NDArray[np.floating[Any]]
    away: npt.NDArray[np.integer[Any]]


class Fused(NamedTuple):
    """As `Side`, from both; `disputed` (n,): both sides saw the marker, and more than `_DISPUTED` pixels apart."""

    points: npt.NDArray[np.float64]
    seen: npt.NDArray[np.bool_]
    err: npt.NDArray[np.float64]
    disputed: npt.NDArray[np.bool_]


def spans(request: TraceRequest) -> tuple[Span, ...]:
    """Every stretch between two neighbouring frames on which a person placed the same marker, by marker, in order.

    The source frame is one of them; anchors before it, behind the last frame and of unknown markers count for nothing.
    """
    found = []
    for n, marker in enumerate(request.markers):
        placed = sorted(
            number
            for number, markers in request.anchors.items()
            if number > request.frame_start
            and (request.frame_end is None or number <= request.frame_end)
            and _holds(markers, marker)
        )
        for first, last in zip([request.frame_start, *placed], placed, strict=False):
            found.append(Span(n, first, last))
    return tuple(found)


def blend(forward: Side, backward: Side) -> Fused:
    """One answer from two, marker by marker.

    Sides that are at most `_ONE_PLACE` pixels apart are averaged by their variances; of sides that are farther apart
    the surer one counts. The marker is seen if a side that counts sees it. The error is that of the sides that count;
    where both saw the marker and disagree by more than `_DISPUTED` pixels, it is at least the distance between them.
    """
    a, b = (np.asarray(side.points, np.float64) for side in (forward, backward))
    va, vb = _variance(forward), _variance(backward)
    apart = np.hypot(*(a - b).T)
    share = va / (va + vb)  # of the backward side
    share = np.where(apart <= _ONE_PLACE, share, (vb < va).astype(float))
    # A side that does not see the marker adds nothing to one that does.
    share = np.where(forward.seen & ~backward.seen, 0.0, np.where(backward.seen & ~forward.seen, 1.0, share))
    points = a + share[:, None] * (b - a)
    seen = forward.seen | backward.seen
    disputed = forward.seen & backward.seen & (apart > _DISPUTED)
    err = np.sqrt((1 - share) * np.square(forward.err) + share * np.square(backward.err))
    return Fused(points, seen, np.where(disputed, np.maximum(err, apart), err), disputed)


def _variance(side: Side) -> npt.NDArray[np.float64]:
    return np.asarray(0.04 + np.square(side.err) + _TIRING * side.away + _UNSEEN * ~side.seen, np.float64)


def _holds(markers: tuple[Marker, ...], marker: Marker) -> bool:
    return any(placed.marker_id == marker.marker_id for placed in markers)
