"""Every strategy on procedural movies whose truth is exactly known, one scene for each thing that stumps trackers.

The seed was not looked at while the strategies were made. Bars lie a little below what was measured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.support.accuracy import Judged, judge, trace_scene
from tracer import measures, synthetic
from tracer.follow import DEFAULT_STRATEGY, STRATEGIES
from tracer.model import FrameResult
from tracer.synthetic import Scene

SEED, FRAMES = 41, 50
Traced = tuple[Scene, list[FrameResult]]
Trace = Callable[[str, str], Traced]

# Least share (percent) of points within 1, 2, 4, 8, 16 px, averaged, by the default strategy.
BARS = {
    "circumnutation": 99, "gravitropism": 99, "growth": 97, "noise": 98, "flicker": 98, "daynight": 98, "shake": 98,
    "jump": 98, "occlusion": 98, "blur": 95, "texture": 97, "dropped": 98, "compression": 80, "sweep": 97,
    "endcard": 98, "combined": 93,
}  # fmt: skip


# Most points (percent of those called seen) that may lie more than 8 px off. The blocks of a codec at its worst fool a
# marker on a leaf's very tip: it slides off the leaf by a few pixels and takes the new place for its own.
MOST_WRONG = {"compression": 9.0}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Film each scene once and trace it once by each strategy that is asked for."""
    folder = tmp_path_factory.mktemp("films")

    @cache
    def film(name: str) -> tuple[Scene, Path]:
        scene = synthetic.scene(name, SEED, FRAMES)
        path = folder / f"{name}.mp4"
        synthetic.write(scene, path)
        return scene, path

    @cache
    def trace(name: str, strategy: str) -> Traced:
        scene, path = film(name)
        return scene, trace_scene(scene, path, strategy)

    return trace


def judged(traced: Trace, name: str, strategy: str = DEFAULT_STRATEGY) -> Judged:
    return judge(*traced(name, strategy))


@pytest.mark.parametrize("name", list(BARS))
def test_the_default_strategy_meets_its_bar_in_every_scene(traced: Trace, name: str) -> None:
    """B13: drift is bounded against truth, whatever happens in front of the lens."""
    found = judged(traced, name)
    assert found.delta_avg >= BARS[name]
    assert found.wrong_and_sure <= MOST_WRONG.get(name, 1.5)


def test_every_scene_has_a_bar() -> None:
    assert set(BARS) == set(synthetic.SCENES)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
class TestEveryStrategy:
    def test_every_marker_has_a_row_in_every_frame(self, traced: Trace, strategy: str) -> None:
        """A01: also while it is hidden."""
        scene, results = traced("occlusion", strategy)
        assert [result.frame_number for result in results] == list(range(FRAMES))
        assert {result.points.shape for result in results} == {(len(scene.markers), 2)}

    def test_the_plain_experiments_are_easy(self, traced: Trace, strategy: str) -> None:
        assert judged(traced, "circumnutation", strategy).delta_avg > 94
        assert judged(traced, "gravitropism", strategy).delta_avg > 85

    def test_no_position_leaves_the_frame(self, traced: Trace, strategy: str) -> None:
        """B11."""
        points = np.stack([result.points for result in traced("combined", strategy)[1]])
        assert points.min() >= 0
        assert points[..., 0].max() <= 639
        assert points[..., 1].max() <= 479


def test_the_default_strategy_beats_the_others_over_all_scenes(traced: Trace) -> None:
    scenes = ("flicker", "occlusion", "dropped", "sweep", "endcard")
    together = {
        strategy: Judged.together([judged(traced, name, strategy) for name in scenes]) for strategy in STRATEGIES
    }
    best = together.pop(DEFAULT_STRATEGY)
    for other in together.values():
        assert best.delta_avg > other.delta_avg + 2
        assert best.jaccard > other.jaccard + 2
        assert best.mean_error < other.mean_error / 2


def test_what_is_hidden_is_not_called_seen(traced: Trace) -> None:
    found = judged(traced, "occlusion")
    assert (~found.visible).sum() >= 5
    assert found.false_alarms <= 1


def test_a_promotion_card_counts_as_nothing(traced: Trace) -> None:
    """A03: no marker is seen on the card, and the amplitude is the plant's own."""
    scene, results = traced("endcard", DEFAULT_STRATEGY)
    card = [result for result in results if result.frame_number >= FRAMES - 10]
    assert sum(int(result.status.sum()) for result in card) == 0
    assert amplitude_of(scene, results) == pytest.approx(scene.amplitude, rel=0.01)


@pytest.mark.parametrize("name", ["circumnutation", "gravitropism", "flicker", "noise"])
def test_the_measured_movement_is_the_true_one(traced: Trace, name: str) -> None:
    """Amplitude, distance and scale, as a laboratory would read them, within one percent (or half a pixel)."""
    scene, results = traced(name, DEFAULT_STRATEGY)
    assert amplitude_of(scene, results) == pytest.approx(scene.amplitude, rel=0.01, abs=0.5)
    assert measures.displacement(apex(scene, results)) == pytest.approx(scene.distance, rel=0.01, abs=0.5)
    names = [marker.label for marker in scene.markers]
    zero, ten = (results[-1].points[names.index(f"Ruler {mm}mm")] for mm in (0, 10))
    assert 10 / np.hypot(*(zero - ten)) == pytest.approx(scene.mm_per_px, rel=0.005)


def test_the_estimated_error_tells_good_from_bad(traced: Trace) -> None:
    """B13: those with a small estimate are nearer to the truth than the others, and hardly any is farther from it than
    three times its estimate.
    """
    found = Judged.together([judged(traced, name) for name in ("compression", "combined", "blur", "circumnutation")])
    measured = found.seen & found.visible
    error, estimate = found.error[measured], found.estimate[measured]
    sure = estimate <= np.median(estimate)
    assert error[sure].mean() < 0.5 * error[~sure].mean()
    assert found.calibration > 90


def apex(scene: Scene, results: list[FrameResult]) -> np.ndarray:
    index = [marker.label for marker in scene.markers].index("Apex")
    return np.array([result.points[index] for result in results if result.status[index]])


def amplitude_of(scene: Scene, results: list[FrameResult]) -> float:
    return measures.amplitude(apex(scene, results))
