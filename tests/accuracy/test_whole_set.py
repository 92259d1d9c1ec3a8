"""Every scene, every strategy, on seeds that nothing was tuned on: the table that the tracer is judged by.

`pytest -m long tests/accuracy -s` prints it. The default run has a smaller share of it in `test_known_truth`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.support.accuracy import HEAD, Judged, judge, trace_scene
from tracer import synthetic
from tracer.flow import PlainFlow
from tracer.follow import DEFAULT_STRATEGY, STRATEGIES

SEEDS, FRAMES = (11, 12), 120
# Longer and larger films: a few, each with what length or size may bring to light.
OTHERS = {
    ("growth", 300, 640, 480),
    ("circumnutation", 1000, 640, 480),
    ("combined", 240, 640, 480),
    ("sweep", 100, 1920, 1080),
    ("occlusion", 100, 1920, 1080),
}

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Judged]]:
    """Each scene's verdict by strategy: both seeds, and the long and large films, together."""
    folder = tmp_path_factory.mktemp("set")

    @cache
    def of(strategy: str) -> dict[str, Judged]:
        found: dict[str, Judged] = {}
        for name in synthetic.SCENES:
            sizes = [(seed, FRAMES, 640, 480) for seed in SEEDS]
            sizes += [(SEEDS[0], *size) for other, *size in OTHERS if other == name]
            parts = []
            for seed, frames, width, height in sizes:
                scene = synthetic.scene(name, seed, frames, width, height)
                path = folder / f"{name}-{seed}-{frames}-{width}.mp4"
                if not path.exists():
                    synthetic.write(scene, path)
                parts.append(judge(scene, trace_scene(scene, path, strategy)))
            found[name] = Judged.together(parts)
        return found

    return of


@pytest.fixture(scope="module")
def table(judged: Callable[[str], dict[str, Judged]]) -> dict[str, Judged]:
    """All scenes together, by strategy."""
    whole = {}
    lines = [HEAD]
    for strategy in STRATEGIES:
        parts = judged(strategy)
        whole[strategy] = Judged.together(list(parts.values()))
        lines += [part.row(name, strategy) for name, part in parts.items()]
    lines += [one.row("all", strategy) for strategy, one in whole.items()]
    print("\n" + "\n".join(lines))
    return whole


def test_the_set_is_hard_enough_that_plain_flow_fails_it(table: dict[str, Judged]) -> None:
    assert 70 <= table[PlainFlow.name].delta_avg <= 78


def test_the_default_strategy_is_accurate_over_the_whole_set(table: dict[str, Judged]) -> None:
    found = table[DEFAULT_STRATEGY]
    assert found.delta_avg >= 95
    assert found.jaccard >= 91
    assert found.mean_error <= 1.3


def test_it_is_honest_over_the_whole_set(table: dict[str, Judged]) -> None:
    found = table[DEFAULT_STRATEGY]
    assert found.seen_while_hidden <= 2.5
    assert found.false_losses <= 2.0
    assert found.wrong_and_sure <= 1.0
    assert found.calibration >= 85


def test_repeated_texture_does_not_mislead_it(judged: Callable[[str], dict[str, Judged]]) -> None:
    assert judged(DEFAULT_STRATEGY)["texture"].delta_avg >= 85


def test_it_beats_every_other_strategy(table: dict[str, Judged]) -> None:
    best = table[DEFAULT_STRATEGY]
    for strategy in set(STRATEGIES) - {DEFAULT_STRATEGY}:
        assert best.delta_avg > table[strategy].delta_avg + 5
        assert best.mean_error < table[strategy].mean_error / 2
