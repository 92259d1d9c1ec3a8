"""Frames of reference: sizes, turns and the flip (A02, B06, B07, A22)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracer import geometry

SIDES = st.integers(16, 8000)


@pytest.mark.parametrize(
    ("source", "expected"),
    [((480, 360), (640, 480)), ((1920, 1080), (640, 360)), ((1080, 1920), (360, 640)), ((320, 568), (361, 640))],
)
def test_the_longer_side_of_the_analysis_frame_is_640(source: tuple[int, int], expected: tuple[int, int]) -> None:
    assert geometry.analysis_size(*source) == expected


def test_oblong_pixels_are_made_square_first() -> None:
    assert geometry.analysis_size(640, 360, 2.0) == (640, 180)
    assert geometry.analysis_size(360, 640, 0.5) == (180, 640)


def test_a_small_movie_is_followed_at_its_own_size_and_a_large_one_is_shrunk() -> None:
    assert geometry.tracking_size(320, 240) == (320, 240)
    assert geometry.tracking_size(1920, 1080) == (640, 360)


@given(SIDES, SIDES, st.floats(0.1, 10))
def test_every_size_has_one_side_of_640_and_keeps_its_shape(width: int, height: int, aspect: float) -> None:
    w, h = geometry.analysis_size(width, height, aspect)
    assert max(w, h) == 640
    scale = 640 / max(width * aspect, height)
    for side, ideal in ((w, width * aspect * scale), (h, height * scale)):
        assert side == 1 or abs(side - ideal) <= 0.501


@given(st.integers(1, 700), st.floats(-10, 700))
def test_the_flip_is_its_own_inverse(height: int, y: float) -> None:
    """A02: one height, the analysis frame's, both ways."""
    assert geometry.flip_y(geometry.flip_y(y, height), height) == pytest.approx(y)


def test_turns_add_up_as_numbers_and_nothing_else_is_a_turn() -> None:
    """A22: "0" + 90 must never become "090"."""
    assert geometry.total_rotation(270, 180) == 90
    assert geometry.quarter_of(-90) == 270
    assert geometry.quarter_of(89.99) == 90
    for wrong in (45, 360, -90):
        with pytest.raises(ValueError):
            geometry.total_rotation(0, wrong)


@pytest.mark.parametrize("rotation", geometry.QUARTERS)
def test_a_turned_point_is_where_the_turned_picture_shows_it(rotation: int) -> None:
    """B07: the same corner by arithmetic and by turning pixels."""
    picture = np.zeros((5, 9), int)
    picture[1, 7] = 1
    turned = np.rot90(picture, -rotation // 90)
    x, y = geometry.turn_point(7, 1, 9, 5, rotation)
    assert turned[int(y), int(x)] == 1
    assert geometry.turned_size(9, 5, rotation) == turned.shape[::-1]


@given(st.floats(0, 4000), st.floats(0.05, 20))
def test_scaling_to_the_analysis_frame_and_back_changes_nothing(x: float, scale: float) -> None:
    assert geometry.to_source(geometry.to_analysis(x, scale), scale) == pytest.approx(x, abs=1e-6)


def test_scaling_names_pixel_centres() -> None:
    """The middle of the left edge pixel pair of a halved picture is the centre of its first pixel."""
    assert geometry.to_analysis(0.5, 0.5) == 0.0
    assert geometry.to_analysis(0.0, 2.0) == 0.5


def test_a_view_knows_all_three_pictures() -> None:
    view = geometry.View.of(568, 320, rotation=90)
    assert (view.width, view.height) == (320, 568)
    assert (view.frame_width, view.frame_height) == (361, 640)
    assert (view.track_width, view.track_height) == (320, 568)
    assert view.scale_y == pytest.approx(640 / 568)
