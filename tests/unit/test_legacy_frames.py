"""Frames of the older service: measured from the upper left corner there, shown from the lower left here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.markers import label_id
from service.domain.movie import Hidden, frame_shows, movie_from_row
from service.store.frames import _cleared
from tracer.geometry import analysis_size

POINT = {"label": "Apex", "marker_id": label_id("Apex"), "x": 10.0, "y": 100.0}
STORED = {"label": "Apex", "x": 10.0, "y": 100.0}


def movie(**row: Any) -> Any:
    known = {"movie_id": "m", "user_id": "u", "course_id": "bio", "status": "ready", "width": 640, "height": 480}
    return movie_from_row({**known, **row})


def frame(**item: Any) -> dict[str, Any]:
    return {"movie_id": "m", "frame_number": 3, "trackpoints": [STORED], **item}


@pytest.mark.parametrize("origin", [None, "upper-left", "top-left"])
def test_a_legacy_frame_is_turned_as_it_is_read_and_stays_as_it_is_stored(origin: str | None) -> None:
    stored = frame()
    old = movie() if origin is None else movie(trackpoint_origin=origin)
    assert frame_shows(old, stored) == [{**POINT, "y": 380.0}]
    assert frame_shows(old, stored) == [{**POINT, "y": 380.0}]
    assert stored == frame()


@pytest.mark.parametrize("ours", [{"edit_seq": 1}, {"job_id": "j"}, {"edit_seq": 0}])
def test_a_frame_that_this_service_wrote_is_shown_as_stored_though_its_movie_is_old(ours: dict[str, Any]) -> None:
    assert frame_shows(movie(), frame(**ours)) == [POINT]


def test_a_movie_whose_points_were_turned_says_so_itself() -> None:
    assert frame_shows(movie(trackpoint_origin="lower-left"), frame()) == [POINT]


def test_a_cleaned_frame_does_not_become_a_legacy_one() -> None:
    placed = frame(trackpoints=[{**STORED, "placed": "user"}], job_id="older")
    kept = _cleared("m", placed, Hidden(1, 9, "newer", 4, keep_placed=True))
    update = kept.update  # type: ignore[union-attr]
    after = {name: value for name, value in {**placed, **update.set}.items() if name not in update.remove}
    assert frame_shows(movie(), after) == [{**POINT, "placed": "user"}]


@given(st.integers(1, 8000), st.integers(1, 8000))
def test_an_old_rows_analysis_frame_is_the_tracers(width: int, height: int) -> None:
    assert movie(width=width, height=height).frame_size == analysis_size(width, height)


def test_a_movie_of_which_nothing_is_known_has_no_frame() -> None:
    assert movie(width=0, height=None).frame_size == (0, 0)


@pytest.mark.parametrize("unknown", [{"width": None}, {"height": 0}])
def test_points_of_a_movie_of_unknown_size_stay_as_they_are_stored(unknown: dict[str, Any]) -> None:
    assert frame_shows(movie(**unknown), frame()) == [POINT]
