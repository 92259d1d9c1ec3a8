"""Between two frames on which a person placed the markers, following from both is better than from one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.accuracy import Judged, judge, trace
from tracer import synthetic
from tracer.model import Marker, TraceRequest
from tracer.synthetic import Scene

SEEDS = (13, 14)  # nothing was tuned on them
LONG_SCENES = ("growth", "occlusion", "blur", "dropped", "compression", "combined")


def with_last_word(scene: Scene) -> TraceRequest:
    """The markers as they truly are on frame 0, and once more on the last frame that shows the plant."""
    end = max(row.frame_number for row in scene.truth if row.visible)
    places = {row.label: row for row in scene.truth if row.frame_number == end and row.visible}
    placed = tuple(
        Marker(m.marker_id, m.label, places[m.label].x, places[m.label].y) for m in scene.markers if m.label in places
    )
    return TraceRequest(scene.markers, frame_end=end, anchors={end: placed})


def both(folder: Path, names: tuple[str, ...], frames: int, seeds: tuple[int, ...]) -> tuple[Judged, Judged]:
    """Forwards alone and fused, the frame of the last word left out."""
    alone, fused = [], []
    for name in names:
        for seed in seeds:
            scene = synthetic.scene(name, seed, frames)
            path = folder / f"{name}-{seed}.mp4"
            synthetic.write(scene, path)
            request = with_last_word(scene)
            assert request.frame_end is not None
            forwards = trace(TraceRequest(scene.markers, frame_end=request.frame_end), path)
            alone.append(judge(scene, forwards[:-1]))
            fused.append(judge(scene, trace(request, path)[:-1]))
    return Judged.together(alone), Judged.together(fused)


def check(alone: Judged, fused: Judged) -> None:
    print(f"\nforwards {alone.row()}\nfused    {fused.row()}")
    assert fused.mean_error < 0.9 * alone.mean_error
    assert fused.delta_avg >= alone.delta_avg
    assert fused.false_losses <= alone.false_losses
    # Wrong by more than 10 px, called seen, and without a word of doubt: never more often than by one pass alone.
    silent = (fused.error > 10) & fused.seen & fused.visible & (fused.estimate < 4)
    assert silent.sum() <= ((alone.error > 10) & alone.seen & alone.visible & (alone.estimate < 4)).sum()


def test_a_second_word_at_the_end_improves_what_lies_between(tmp_path: Path) -> None:
    check(*both(tmp_path, ("compression",), 60, SEEDS[:1]))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_second_word_improves_all_hard_scenes(tmp_path: Path) -> None:
    check(*both(tmp_path, LONG_SCENES, 120, SEEDS))


def test_frames_between_words_say_where_the_passes_disagree(tmp_path: Path) -> None:
    """A wrong word: the marker is placed on the ruler in the end. Some frame between must be in dispute."""
    scene = synthetic.scene("circumnutation", 13, 24)
    path = tmp_path / "film.mp4"
    synthetic.write(scene, path)
    request = with_last_word(scene)
    assert request.frame_end == 23
    apex = next(m for m in scene.markers if m.label == "Apex")
    n = scene.markers.index(apex)
    elsewhere = next(m for m in request.anchors[23] if m.label == "Ruler 10mm")
    wrong = tuple(
        Marker(m.marker_id, m.label, elsewhere.x, elsewhere.y) if m.label == "Apex" else m for m in request.anchors[23]
    )
    results = trace(TraceRequest(scene.markers, frame_end=23, anchors={23: wrong}), path)
    distance = float(np.hypot(apex.x - elsewhere.x, apex.y - elsewhere.y))
    assert max(float(result.err[n]) for result in results) > 0.5 * distance
    others = [k for k in range(len(scene.markers)) if k != n]
    assert max(float(result.err[others].max()) for result in results) < 2
