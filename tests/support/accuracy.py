"""How well a trace agrees with the truth: the measures of point tracking (Doersch et al., TAP-Vid, 2022)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tracer.follow import DEFAULT_STRATEGY
from tracer.media import open_movie
from tracer.model import FrameResult, TraceRequest
from tracer.retrace import Retrace
from tracer.synthetic import Scene

THRESHOLDS = (1.0, 2.0, 4.0, 8.0, 16.0)  # analysis pixels


@dataclass(frozen=True)
class Judged:
    """A trace beside its truth, point by point: `error`, `estimate` (n,) analysis pixels; `visible`, `seen` (n,) bool.

    The source frame, which a person placed, is left out. `last` marks the points of the last frame of each movie that
    shows the plant.
    """

    error: npt.NDArray[np.float64]
    visible: npt.NDArray[np.bool_]
    seen: npt.NDArray[np.bool_]
    last: npt.NDArray[np.bool_]
    estimate: npt.NDArray[np.float64]

    @property
    def delta_avg(self) -> float:
        """Share of the visible points that lie within 1, 2, 4, 8 and 16 px of the truth, averaged. Percent."""
        return 100 * float(np.mean([(self.error[self.visible] <= limit).mean() for limit in THRESHOLDS]))

    @property
    def jaccard(self) -> float:
        """Average Jaccard: true positives over true positives, false positives and false negatives. Percent."""
        shares = []
        for limit in THRESHOLDS:
            near = self.error <= limit
            hits = (self.visible & self.seen & near).sum()
            false_alarms = (self.seen & ~(self.visible & near)).sum()
            misses = (self.visible & ~(self.seen & near)).sum()
            shares.append(hits / max(1, hits + false_alarms + misses))
        return 100 * float(np.mean(shares))

    @property
    def mean_error(self) -> float:
        return float(self.error[self.visible].mean())

    @property
    def p95(self) -> float:
        return float(np.percentile(self.error[self.visible], 95))

    @property
    def drift(self) -> float:
        """Mean error of the visible points on the last frame."""
        chosen = self.visible & self.last
        return float(self.error[chosen].mean()) if chosen.any() else 0.0

    @property
    def false_alarms(self) -> int:
        """Points that nobody can see and that were called seen."""
        return int((self.seen & ~self.visible).sum())

    @property
    def seen_while_hidden(self) -> float:
        """Share of the points that nobody can see that were called seen. Percent."""
        hidden = int((~self.visible).sum())
        return 100 * self.false_alarms / hidden if hidden else 0.0

    @property
    def calibration(self) -> float:
        """Share of the points rightly called seen that lie within a pixel or three estimated errors. Percent."""
        measured = self.seen & self.visible
        within = self.error[measured] <= np.maximum(1.0, 3 * self.estimate[measured])
        return 100 * float(within.mean()) if len(within) else 100.0

    @property
    def false_losses(self) -> float:
        """Share of the visible points that were called lost. Percent."""
        return 100 * float((~self.seen[self.visible]).mean())

    @property
    def wrong_and_sure(self) -> float:
        """Share of the points called seen that lie more than 8 px from the truth or are not visible. Percent."""
        wrong = (self.error > 8) | ~self.visible
        return 100 * float(wrong[self.seen].mean()) if self.seen.any() else 0.0

    @staticmethod
    def together(parts: Sequence[Judged]) -> Judged:
        names = ("error", "visible", "seen", "last", "estimate")
        return Judged(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def row(self, *words: str) -> str:
        """One line of a table; see `HEAD`."""
        figures = (
            self.delta_avg, self.jaccard, self.mean_error, self.p95, self.drift, self.seen_while_hidden,
            self.false_losses, self.calibration,
        )  # fmt: skip
        return "".join(f"{word:<16}" for word in words) + "".join(f"{figure:8.2f}" for figure in figures)


HEAD = f"{'scene':<16}{'strategy':<16}" + "".join(
    f"{name:>8}" for name in ("delta", "jaccard", "mean", "p95", "drift", "hidden%", "lost%", "err ok%")
)


def trace_scene(scene: Scene, path: Path, strategy: str = DEFAULT_STRATEGY) -> list[FrameResult]:
    """Trace the film of a scene from its true first frame."""
    return trace(TraceRequest(scene.markers), path, strategy)


def trace(request: TraceRequest, path: Path, strategy: str = DEFAULT_STRATEGY) -> list[FrameResult]:
    """As a job does it, without a service: back from later words first, if there are any."""
    followed = Retrace(request, strategy=strategy)
    if followed.must_look_back:
        followed.look_back(path)
    with open_movie(path, rotation=request.rotation) as movie:
        return [result for frame in movie.frames() if (result := followed.step(frame)) is not None]


def judge(scene: Scene, results: Iterable[FrameResult]) -> Judged:
    """Compare a trace with the scene's truth."""
    truth = {(row.frame_number, row.label): row for row in scene.truth}
    end = max(row.frame_number for row in scene.truth if row.visible)
    error, visible, seen, last, estimate = [], [], [], [], []
    for result in results:
        if result.frame_number == 0:
            continue
        for n, marker in enumerate(scene.markers):
            row = truth[result.frame_number, marker.label]
            error.append(float(np.hypot(result.points[n, 0] - row.x, result.points[n, 1] - row.y)))
            visible.append(row.visible)
            seen.append(bool(result.status[n]))
            last.append(result.frame_number == end)
            estimate.append(float(result.err[n]))
    return Judged(np.array(error), np.array(visible), np.array(seen), np.array(last), np.array(estimate))
