"""Remembered patches and their alignment: what is found must be what was done to the picture."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from tests.support.movies import textured
from tracer import synthetic
from tracer.template import AREA, MAX_KEYS, PAD, Bank, alike_in_colour, likeness, normalised, padded, sample

GRAY = cv2.GaussianBlur(textured(200, 160)[..., 0], (0, 0), 1.0)
PLACES = np.array([100 + 80j, 60.25 + 50.75j])
ONES = np.ones(2, complex)


def bank_of(gray: np.ndarray, places: np.ndarray = PLACES) -> Bank:
    bank = Bank(len(places))
    for n, place in enumerate(places):
        bank.put(n, 0, padded(gray), complex(place), 1 + 0j)
    return bank


def aligned(bank: Bank, gray: np.ndarray, start: np.ndarray, m: np.ndarray = ONES, iterations: int = 20):
    n = len(start)
    return bank.align(padded(gray), np.arange(n), np.zeros(n, int), start.astype(complex), m, iterations)


def warped(turn: complex, shift: complex) -> np.ndarray:
    """GRAY after z -> turn z + shift."""
    matrix = np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])
    return cv2.warpAffine(GRAY, matrix, (200, 160), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)


def test_padding_repeats_the_edge() -> None:
    wide = padded(GRAY)
    assert np.array_equal(wide, cv2.copyMakeBorder(GRAY, PAD, PAD, PAD, PAD, cv2.BORDER_REPLICATE))


def test_a_sample_under_no_warp_is_the_picture_itself() -> None:
    patch = sample(padded(GRAY), np.array([100 + 80j]), np.ones(1, complex))[0]
    assert np.array_equal(patch.reshape(21, 21), GRAY[70:91, 90:111])


@pytest.mark.parametrize("shift", [0.4 - 0.3j, 2.5 + 1.5j, -3 + 2.25j])
def test_a_shift_is_found_to_a_twentieth_of_a_pixel(shift: complex) -> None:
    found = aligned(bank_of(GRAY), warped(1, shift), PLACES)
    assert np.abs(found.c - (PLACES + shift)).max() < 0.06
    assert found.z.min() > 0.98


@pytest.mark.parametrize("turn", [np.exp(0.15j), 1.12, 0.9 * np.exp(-0.1j)])
def test_a_turn_and_a_scale_are_found(turn: complex) -> None:
    shift = (1 - turn) * PLACES[0] + 1.0  # about the first place, and one pixel to the right
    found = aligned(bank_of(GRAY), warped(complex(turn), complex(shift)), PLACES[:1], ONES[:1])
    assert abs(found.c[0] - (PLACES[0] + 1.0)) < 0.15
    assert abs(found.m[0] - turn) < 0.05


def test_another_light_changes_nothing() -> None:
    darker = np.clip(0.5 * warped(1, 1.5 + 1j) + 60, 0, 255).astype(np.uint8)
    found = aligned(bank_of(GRAY), darker, PLACES)
    assert np.abs(found.c - (PLACES + 1.5 + 1j)).max() < 0.08
    assert found.z.min() > 0.97


def test_another_place_is_not_alike() -> None:
    found = aligned(bank_of(GRAY), GRAY, PLACES[::-1].copy(), iterations=0)
    assert np.abs(found.z).max() < 0.6


def test_a_flat_patch_gives_no_numbers_that_are_none() -> None:
    flat = np.full((160, 200), 90, np.uint8)
    found = aligned(bank_of(flat), flat, PLACES)
    assert np.isfinite(found.c).all()
    assert np.abs(found.c - PLACES).max() < 1e-6
    assert found.z.max() < 0.01


def test_normalised_patches_have_no_mean_and_unit_variance() -> None:
    weight = np.full((2, AREA), 1 / AREA, np.float32)
    patch, contrast = normalised(sample(padded(GRAY), PLACES, ONES), weight)
    assert np.abs(patch.mean(1)).max() < 1e-4
    assert patch.std(1) == pytest.approx([1, 1], abs=1e-3)
    assert contrast.min() > 5
    assert likeness(patch, patch, weight) == pytest.approx([1, 1], abs=1e-3)


def test_a_bank_is_the_same_after_a_checkpoint() -> None:
    bank, other = bank_of(GRAY), Bank(2)
    bank.var[0, 0] = 0.5
    other.restore(bank.arrays())
    assert np.array_equal(other.reader, bank.reader)
    assert other.used.tolist() == bank.used.tolist()
    assert other.used.shape == (2, MAX_KEYS)
    assert other.var[0, 0] == 0.5


def test_what_has_the_colour_of_the_middle_counts_most() -> None:
    """Chroma lies at half size: a green disc of radius 5 on gray."""
    ys, xs = np.mgrid[:60, :80]
    green = np.hypot(xs - 24.75, ys - 24.75) < 2.5
    chroma = np.dstack([np.where(green, 100, 128), np.where(green, 90, 128)]).astype(np.uint8)
    share = alike_in_colour(chroma, 50 + 50j, 1 + 0j).reshape(21, 21)
    assert share[10, 10] == pytest.approx(1.0, abs=0.01)
    assert share[0].max() < 0.2
    gray = np.full((60, 80, 2), 128, np.uint8)
    assert alike_in_colour(gray, 50 + 50j, 1 + 0j).min() == pytest.approx(1.0)


def test_a_wedge_does_not_run_away_by_growing() -> None:
    """A leaf's tip looks alike at any size; in one alignment it may grow by a twelfth at most."""
    ys, xs = np.mgrid[:160, :200]
    wedge = np.where(np.abs(ys - 80) < 0.4 * (xs - 90), 60, 180).astype(np.uint8)
    bank = bank_of(wedge, np.array([95 + 80j]))
    found = aligned(bank, np.roll(wedge, 9, axis=1), np.array([95 + 80j]), ONES[:1])
    assert 1 / 1.081 <= abs(found.m[0]) <= 1.081


def test_fine_stripes_are_met_from_both_sides() -> None:
    """A ruler's ticks in a small movie: full steps overshoot there, for ever if none of them is shortened."""
    scene = synthetic.scene("circumnutation", seed=1, frames=1, width=320, height=240)
    ruler = padded(cv2.cvtColor(next(scene.pictures()), cv2.COLOR_BGR2GRAY))
    marker = next(marker for marker in scene.markers if marker.label == "Ruler 10mm")
    at = np.array([complex((marker.x + 0.5) / 2 - 0.5, (marker.y + 0.5) / 2 - 0.5)])
    bank, zero = Bank(1), np.zeros(1, int)
    bank.put(0, 0, ruler, at[0], 1 + 0j)
    for offset in (0.4j, -0.4j):
        found = bank.align(ruler, zero, zero, at + offset, np.ones(1, complex), 8)
        assert abs(found.c[0] - at[0]) < 0.05
        assert found.z[0] > 0.99
