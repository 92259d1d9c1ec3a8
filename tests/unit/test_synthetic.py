"""Movies with known truth must themselves be true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracer import synthetic
from tracer.media import inspect


@pytest.mark.parametrize("name", synthetic.SCENES)
def test_every_scene_has_a_truth_row_per_frame_and_marker(name: str) -> None:
    made = synthetic.scene(name, seed=3, frames=24)
    labels = {marker.label for marker in made.markers}
    assert {"Apex", "Ruler 0mm", "Ruler 10mm", "Leaf"} <= labels
    assert {(row.frame_number, row.label) for row in made.truth} == {(n, label) for n in range(24) for label in labels}
    assert all(row.visible for row in made.truth if row.frame_number == 0)
    zero = {row.label: (row.x, row.y) for row in made.truth if row.frame_number == 0}
    assert {marker.label: (marker.x, marker.y) for marker in made.markers} == zero


def test_the_same_seed_gives_the_same_pixels_and_another_seed_does_not() -> None:
    one, two, other = (list(synthetic.scene("combined", seed, 2).pictures()) for seed in (5, 5, 6))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one[0], other[0])


def test_the_rulers_tell_the_scale() -> None:
    made = synthetic.scene("circumnutation", frames=1, width=320, height=240)
    zero, ten = (next(m for m in made.markers if m.label == f"Ruler {mm}mm") for mm in (0, 10))
    assert 10 / np.hypot(zero.x - ten.x, zero.y - ten.y) == pytest.approx(made.mm_per_px)


def test_truth_is_where_the_picture_shows_it() -> None:
    """The light point of the bud is the brightest green thing near the tip."""
    for name in ("circumnutation", "shake", "jump"):
        made = synthetic.scene(name, seed=2, frames=5)
        for number, picture in enumerate(made.pictures()):
            apex = next(row for row in made.truth if row.label == "Apex" and row.frame_number == number)
            x, y = round(apex.x), round(apex.y)
            window = picture[y - 6 : y + 7, x - 6 : x + 7].astype(int)
            light = np.clip(window[..., 2] - 176, 0, None) * (window[..., 1] - window[..., 0] > 30)
            ys, xs = np.mgrid[-6:7, -6:7]
            found = np.array([(light * xs).sum(), (light * ys).sum()]) / light.sum()
            assert found == pytest.approx([apex.x - x, apex.y - y], abs=0.35)


def test_the_experiments_have_a_known_result() -> None:
    assert 50 < synthetic.scene("circumnutation", frames=60).amplitude < 70
    assert 150 < synthetic.scene("gravitropism", frames=20).distance < 230


def test_a_card_hides_everything_and_a_leaf_the_tip_for_a_while() -> None:
    card = synthetic.scene("endcard", frames=30)
    assert {row.visible for row in card.truth if row.frame_number >= 20} == {False}
    hidden = [row for row in synthetic.scene("occlusion", frames=60).truth if not row.visible]
    assert {row.label for row in hidden} >= {"Apex"}
    assert not {row.label for row in hidden} & {"Ruler 0mm", "Ruler 10mm"}
    assert 3 < sum(row.label == "Apex" for row in hidden) < 20


def test_a_hidden_marker_is_behind_what_the_picture_shows() -> None:
    """Where the truth says visible, there is the bud's light point; where it says hidden, there is not."""
    made = synthetic.scene("occlusion", seed=3, frames=60)
    pictures = list(made.pictures())
    changed = {True: 0, False: 0}
    counted = {True: 0, False: 0}
    before = {row.label: (row.x, row.y) for row in made.truth if row.frame_number == 0}
    first = pictures[0].astype(int)
    for row in made.truth:
        if row.label != "Apex":
            continue
        x, y = round(row.x), round(row.y)
        x0, y0 = (round(value) for value in before["Apex"])
        bud, here = first[y0 - 1 : y0 + 2, x0 - 1 : x0 + 2], pictures[row.frame_number][y - 1 : y + 2, x - 1 : x + 2]
        counted[row.visible] += 1
        changed[row.visible] += bool(np.abs(bud.mean((0, 1)) - here.mean((0, 1))).max() > 40)
    assert changed[False] == counted[False] > 3
    assert changed[True] == 0


def test_a_shoot_that_grows_becomes_longer_and_slower() -> None:
    path = synthetic.scene("growth", seed=2, frames=240).path("Apex")
    height = [float(np.mean(part)) for part in np.array_split(path[:, 1], 3)]
    assert height[0] - height[1] > height[1] - height[2] > 5


def test_what_happens_per_frame_does_not_depend_on_the_length_of_a_hard_movie() -> None:
    short, long = (synthetic.scene("sweep", seed=2, frames=frames).path("Apex") for frames in (30, 90))
    assert np.array_equal(short, long[:30])


def test_a_scene_is_filmed_to_a_movie_of_its_size_and_length(tmp_path: Path) -> None:
    synthetic.write(synthetic.scene("gravitropism", frames=5, width=320, height=240), tmp_path / "g.mp4")
    found = inspect(tmp_path / "g.mp4")
    assert (found.width, found.height, found.decoded_frames, found.promised_frames) == (320, 240, 5, 5)


def test_an_unknown_scene_and_an_impossible_size_are_refused() -> None:
    with pytest.raises(KeyError):
        synthetic.scene("volcano")
    with pytest.raises(ValueError, match="even"):
        synthetic.scene("noise", width=321)
