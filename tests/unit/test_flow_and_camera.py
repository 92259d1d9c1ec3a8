"""Optical flow on tiles, and the camera's own movement."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.support.movies import textured
from tracer.frames import Gray
from tracer.motion import camera_motion
from tracer.template import padded
from tracer.tiles import flow

WIDE = cv2.GaussianBlur(textured(720, 560)[..., 0], (0, 0), 1.2)
PLACES = np.array([200 + 150j, 30 + 40j, 600 + 440j, 320.5 + 20.25j, 10 + 470j])


def window(shift: complex = 0j, turn: complex = 1 + 0j) -> Gray:
    """640 x 480 of WIDE after the camera's movement z -> turn z + shift (of window pixels)."""
    corner = 40 + 40j
    move = turn * -corner + shift  # from WIDE's pixels to the window's
    matrix = np.array([[turn.real, -turn.imag, move.real], [turn.imag, turn.real, move.imag]])
    return cv2.warpAffine(WIDE, matrix, (640, 480), flags=cv2.INTER_CUBIC)


def small(gray: Gray) -> Gray:
    return cv2.resize(gray, (160, 120), interpolation=cv2.INTER_AREA)


@pytest.mark.parametrize("shift", [0j, 3 - 2j, 6.5 + 7.25j])
def test_every_point_of_the_atlas_goes_its_own_way(shift: complex) -> None:
    """Not only the first one: each tile has its own corner and its own row."""
    moved = flow(padded(window()), padded(window(shift)), PLACES, PLACES)
    inside = slice(0, 4)  # the last place lies so near to the corner that most of its tile is padding
    assert np.abs(moved.c - (PLACES + shift))[inside].max() < 0.15
    assert moved.closure[inside].max() < 0.3


def test_a_guess_reaches_where_flow_alone_does_not() -> None:
    shift = 34 - 25j
    moved = flow(padded(window()), padded(window(shift)), PLACES[:1], PLACES[:1] + shift + 2)
    assert np.abs(moved.c - (PLACES[:1] + shift)).max() < 0.15


def test_a_light_that_was_switched_does_not_matter() -> None:
    dim = (0.45 * window(3 - 2j) + 10).astype(np.uint8)
    moved = flow(padded(window()), padded(dim), PLACES[:3], PLACES[:3])
    assert np.abs(moved.c - (PLACES[:3] + 3 - 2j)).max() < 0.3


def test_flow_into_another_scene_does_not_close() -> None:
    other = textured(640, 480, seed=9)[..., 0]
    moved = flow(padded(window()), padded(other), PLACES, PLACES)
    assert (moved.closure > 1).sum() >= 4


@pytest.mark.parametrize("shift", [10 - 6j, -2.5 + 1.5j, 38 + 36j])
@pytest.mark.parametrize("angle", [0.0, 0.006])
def test_a_camera_that_moves_is_measured(shift: complex, angle: float) -> None:
    turn = complex(np.cos(angle), np.sin(angle))
    camera = camera_motion(small(window()), small(window(shift, turn)))
    for place in (PLACES[0], PLACES[2]):
        assert abs(camera.turn * place + camera.shift - (turn * place + shift)) < 0.4


def test_a_camera_that_stands_still_stays_exactly_where_it_is() -> None:
    noisy = np.clip(window().astype(int) + np.random.default_rng(1).integers(-6, 7, (480, 640)), 0, 255)
    camera = camera_motion(small(window()), small(noisy.astype(np.uint8)))
    assert (camera.turn, camera.shift) == (1, 0)


def test_a_plant_that_moves_is_no_camera() -> None:
    """A fifth of the picture moves, and the wall does not."""
    moved = window()
    moved[100:300, 200:420] = window(9 + 4j)[100:300, 200:420]
    camera = camera_motion(small(window()), small(moved))
    assert abs(camera.turn * PLACES[2] + camera.shift - PLACES[2]) < 0.3


def test_a_dark_frame_is_no_movement() -> None:
    camera = camera_motion(small(window()), np.zeros((120, 160), np.uint8))
    assert (camera.turn, camera.shift) == (1, 0)


def test_a_bump_that_flow_cannot_reach_is_measured() -> None:
    wide = textured(900, 480, seed=4)[..., 0]
    wide = cv2.GaussianBlur(wide, (0, 0), 2.0)
    camera = camera_motion(small(wide[:, :640].copy()), small(wide[:, 200:840].copy()))
    assert abs(camera.turn * PLACES[0] + camera.shift - (PLACES[0] - 200)) < 0.5


def test_another_scene_is_no_movement() -> None:
    for seed in range(20, 26):
        camera = camera_motion(small(window()), small(textured(640, 480, seed)[..., 0]))
        assert (camera.turn, camera.shift) == (1, 0)
