"""Hard cuts, and what is none (A03, B12)."""

from __future__ import annotations

import numpy as np

from tests.support.movies import textured
from tracer.cuts import CutFinder

PLANT, CARD = textured(160, 120, 1)[..., 0], textured(160, 120, 2)[..., 0]


def cuts(pictures: list[np.ndarray]) -> list[int]:
    finder = CutFinder()
    return [n for n, picture in enumerate(pictures) if finder.is_cut(picture)]


def test_another_scene_is_a_cut_once() -> None:
    assert cuts([PLANT] * 8 + [CARD] * 5) == [8]
    assert cuts([PLANT] * 3 + [CARD] * 3 + [PLANT] * 3) == [3, 6]


def test_a_light_that_is_switched_is_no_cut() -> None:
    assert cuts([PLANT] * 4 + [(PLANT * 0.4).astype(np.uint8)] * 4 + [PLANT] * 4) == []


def test_a_black_frame_is_no_cut() -> None:
    """B12."""
    assert cuts([PLANT] * 4 + [np.zeros_like(PLANT)] * 2 + [PLANT] * 4) == []


def test_the_scene_behind_a_black_frame_is_compared_with_the_one_before() -> None:
    assert cuts([PLANT] * 4 + [np.zeros_like(PLANT)] + [CARD] * 4) == [5]


def test_black_frames_that_lead_over_to_a_new_scene_are_counted() -> None:
    """A03: a card that fades in begins with its first black frame."""
    finder = CutFinder()
    for picture in [PLANT] * 4 + [np.zeros_like(PLANT)] * 2:
        assert not finder.is_cut(picture)
    assert finder.is_cut(CARD)
    assert finder.blanks_before == 2
    assert not finder.is_cut(CARD)
    assert finder.is_cut(PLANT)
    assert finder.blanks_before == 0


def test_a_shaking_camera_is_no_cut() -> None:
    assert cuts([np.roll(PLANT, n % 5, axis=1) for n in range(12)]) == []


def test_a_finder_that_is_restored_goes_on_as_before() -> None:
    finder, other = CutFinder(), CutFinder()
    finder.is_cut(PLANT)
    other.restore(finder.arrays())
    assert other.is_cut(CARD)
    fresh = CutFinder()
    fresh.restore(CutFinder().arrays())
    assert not fresh.is_cut(CARD)


def test_a_bump_that_moves_the_whole_picture_is_no_cut() -> None:
    """The camera was pushed by a third of the picture and shows the same plant."""
    wide = textured(240, 120, 1)[..., 0]
    for push in (15, 30, 55):
        assert cuts([wide[:, :160].copy()] * 4 + [wide[:, push : 160 + push].copy()] * 4) == []
