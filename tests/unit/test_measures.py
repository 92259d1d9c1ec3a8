"""Distance, rate, angle, amplitude and calibration (A03, A19)."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracer import measures
from tracer.measures import Track


def track(label: str, points: list[tuple[float, float]], seen: list[bool] | None = None) -> Track:
    n = len(points)
    return Track(label, np.arange(n), np.array(points, float), np.array(seen if seen is not None else [True] * n))


@pytest.mark.parametrize(
    ("name", "mm"),
    [
        ("Ruler 0mm", 0), ("ruler10MM", 10), ("Ruler 10 mm", 10), ("Ruler10.5mm", 10.5), ("Ruler010mm", 10),
        (" Ruler 2,5 mm ", 2.5), ("Ruler mm", None), ("Ruler 10cm", None), ("My Ruler 10mm", None), ("Apex", None),
        ("Ruler -5mm", None), ("Ruler 1e3mm", None),
    ],
)  # fmt: skip
def test_a_ruler_is_known_by_its_name(name: str, mm: float | None) -> None:
    """A19: however people write it."""
    assert measures.ruler_mm(name) == mm


def test_the_scale_is_told_in_words() -> None:
    scale = measures.calibration({"Ruler 0mm": (100, 50), "Ruler 10mm": (100, 100), "Apex": (3, 3)})
    assert scale.mm_per_px == pytest.approx(0.2)
    assert scale.unit == "mm"
    assert scale.words == "10 mm between Ruler 0mm and Ruler 10mm are 50.0 px."


def test_of_three_rulers_the_lowest_and_the_highest_count() -> None:
    scale = measures.calibration({"Ruler 5mm": (0, 0), "Ruler 20mm": (300, 0), "ruler10mm": (7, 7)})
    assert scale.mm_per_px == pytest.approx(15 / 300)


def test_a_ruler_left_at_its_default_place_does_not_calibrate() -> None:
    """Defaults are image coordinates (50,100) and (50,150); in a 480 high frame they are stored as 380 and 330."""
    assert measures.calibration({"Ruler 0mm": (50, 380), "Ruler 10mm": (90, 90)}, 480).mm_per_px is None
    assert measures.calibration({"Ruler 0mm": (9, 9), "Ruler 10mm": (50, 330)}, 480).mm_per_px is None
    assert measures.calibration({"Ruler 0mm": (50, 380), "Ruler 10mm": (90, 90)}, 360).mm_per_px is not None


def test_two_rulers_of_one_name_or_on_one_spot_do_not_calibrate() -> None:
    assert measures.calibration({"Ruler 10mm": (0, 0), "ruler 10 mm": (9, 9)}).mm_per_px is None
    assert measures.calibration({"Ruler 0mm": (4, 4), "Ruler 10mm": (4, 4)}).mm_per_px is None


def test_doubts_about_the_scale_are_said() -> None:
    """A19: an unlikely picture width, and two markers that mean the same."""
    unlikely = measures.calibration({"Ruler 0mm": (0, 0), "Ruler 10mm": (4, 0)})
    assert unlikely.warnings == ("1 mm would be 0.4 px; are the ruler markers on the right marks?",)
    assert measures.calibration({"Ruler 0mm": (0, 0), "Ruler 10mm": (11, 0)}).warnings == ()
    twins = measures.calibration({"Ruler 0mm": (0, 0), "Ruler 10mm": (90, 0), "ruler10mm": (91, 0)})
    assert "Several markers mean 10 mm" in twins.warnings[0]


def test_the_page_doubts_the_same_scales_a19() -> None:
    page = (Path(__file__).parents[2] / "frontend" / "js" / "geometry.js").read_text(encoding="utf-8")
    found = re.search(r"PLAUSIBLE_MM_PER_PX = \[([\d.]+), ([\d.]+)\]", page)
    assert found
    assert tuple(map(float, found.groups())) == measures.PLAUSIBLE_MM_PER_PX


def test_the_tip_is_the_apex_or_the_first_marker_that_is_no_ruler() -> None:
    assert measures.tip_of(["Leaf", "Ruler 0mm", "Apex"]) == "Apex"
    assert measures.tip_of(["Ruler 0mm", "Leaf", "Bud"]) == "Leaf"
    assert measures.tip_of(["Ruler 0mm"]) is None


@given(st.floats(1, 179), st.floats(1, 500), st.floats(1, 500), st.floats(0, 360))
def test_the_angle_is_the_one_that_was_drawn(degrees: float, a: float, b: float, turn: float) -> None:
    def at(distance: float, direction: float) -> tuple[float, float]:
        return 50 + distance * math.cos(math.radians(direction)), 70 + distance * math.sin(math.radians(direction))

    assert measures.angle(at(a, turn), (50, 70), at(b, turn + degrees)) == pytest.approx(degrees, abs=1e-3)


def test_an_angle_without_a_side_is_none() -> None:
    assert measures.angle((1, 1), (1, 1), (2, 2)) is None


def test_a_sine_has_its_amplitude_and_a_square_its_way() -> None:
    x = 100 + 30 * np.sin(np.linspace(0, 4 * np.pi, 401))
    assert measures.amplitude(np.stack([x, 0 * x], 1)) == pytest.approx(30, abs=1e-3)
    square = np.array([(0, 0), (3, 0), (3, 4), (0, 4), (0, 0)], float)
    assert Track("Apex", np.arange(5), square, np.ones(5, bool)).followed() == (14, 4)
    assert measures.displacement(square) == 0


def test_lost_positions_enter_no_statistic() -> None:
    """A03: points carried over a promotion card must not count as plant motion."""
    points = [(0.0, 0.0), (3.0, 4.0), (900.0, 900.0), (6.0, 8.0), (500.0, 5.0)]
    told = measures.results([track("Apex", points, [True, True, False, True, False])], measures.calibration({}))
    assert told["gravitropism"] == {"distance": 10.0, "rate": pytest.approx(10 / 3), "angle": None}
    assert told["circumnutation"] == {"amplitude": 3.0, "rate": 5.0}  # the one step that was seen
    assert told["frames"] == {"seen": 3, "lost": 2}


def test_frames_behind_a_cut_change_no_number() -> None:
    """A03: a plant of five frames, then a promotion card on which everything is lost."""
    plant = [(10.0 * n, 2.0 * n * n) for n in range(5)]
    scale = measures.calibration({"Ruler 0mm": (0, 0), "Ruler 10mm": (0, 50)})
    whole = measures.results([track("Apex", plant + [(500.0, 90.0)] * 10, [True] * 5 + [False] * 10)], scale, 2)
    trimmed = measures.results([track("Apex", plant)], scale, 2)
    assert whole | {"frames": 0} == trimmed | {"frames": 0}


def timed(points: list[tuple[float, float]], times: list[float]) -> Track:
    return Track("Apex", np.arange(len(points)), np.array(points, float), np.ones(len(points), bool), np.array(times))


def test_where_the_frame_rate_varies_time_is_the_timestamps() -> None:
    """B03, B04: every picture that a phone dropped still took its time. Six a minute, two dropped after the third."""
    moving = [(4.0 * n, 0.0) for n in (0, 1, 2, 5, 6)]
    told = measures.results([timed(moving, [0.0, 0.1, 0.2, 0.5, 0.6])], measures.calibration({}), fpm=6)
    assert told["clock"] == "timestamps"
    assert told["gravitropism"]["rate"] == pytest.approx(4.0 * 6)
    assert told["circumnutation"]["rate"] == pytest.approx(4.0 * 6)
    assert told["warnings"] == []
    per_frame = measures.results([timed(moving, [0.0, 0.1, 0.2, 0.5, 0.6])], measures.calibration({}))
    assert per_frame["gravitropism"]["rate"] == pytest.approx(4.0)
    assert per_frame["warnings"][0].startswith("The frame rate of this movie varies")


@pytest.mark.parametrize("times", [
    [0.0, 0.0334, 0.0667, 0.1, 0.1334],  # rounded to 1/600 s
    [0.0, 0.1, 0.2, 0.5, math.nan], [0.0, 0.1, 0.2, 0.15, 0.9], [0.0] * 5,
])  # fmt: skip
def test_an_even_clock_and_a_broken_one_leave_time_to_the_frame_numbers(times: list[float]) -> None:
    told = measures.results([timed([(2.0 * n, 0) for n in range(5)], times)], measures.calibration({}), fpm=3)
    assert told["clock"] == "frames"
    assert told["gravitropism"]["rate"] == 6.0
    assert told["warnings"] == []


def test_the_time_of_frames_without_a_row_is_not_lost() -> None:
    """Placed by hand on some frames only."""
    sparse = Track("Apex", np.array([0, 10, 20]), np.array([(0, 0), (5, 0), (10, 0)], float), np.ones(3, bool))
    assert sparse.followed() == (10, 20)
    assert sparse.passed() == 20


def test_rates_are_per_minute_when_the_interval_is_known() -> None:
    tracks = [track("Apex", [(0, 0), (10, 0)]), track("Inflection Point", [(0, 10), (0, 10)])]
    scale = measures.calibration({"Ruler 0mm": (0, 0), "Ruler 10mm": (0, 100)})
    per_frame, per_minute = measures.results(tracks, scale), measures.results(tracks, scale, fpm=6)
    assert per_frame["time_unit"] == "frame"
    assert per_minute["time_unit"] == "minute"
    assert per_frame["gravitropism"]["rate"] == pytest.approx(1.0)
    assert per_minute["gravitropism"]["rate"] == pytest.approx(6.0)
    assert per_minute["gravitropism"]["angle"] == pytest.approx(45)


def test_a_single_seen_frame_has_no_rate() -> None:
    told = measures.results([track("Apex", [(1, 2), (3, 4)], [True, False])], measures.calibration({}))
    assert told["gravitropism"] == {"distance": 0.0, "rate": None, "angle": None}
