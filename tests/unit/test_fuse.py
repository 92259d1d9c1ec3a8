"""What two directions make of a marker between two frames on which a person placed it."""

from __future__ import annotations

import numpy as np
import pytest

from tracer.fuse import Side, Span, blend, spans
from tracer.model import Marker, TraceRequest


def side(x: float, *, seen: bool = True, err: float = 0.3, away: int = 10) -> Side:
    return Side(np.array([[x, 50.0]]), np.array([seen]), np.array([err]), np.array([away]))


def x_of(forward: Side, backward: Side) -> float:
    return float(blend(forward, backward).points[0, 0])


def test_equally_sure_sides_meet_in_the_middle() -> None:
    one = blend(side(100), side(103))
    assert one.points[0].tolist() == [101.5, 50.0]
    assert one.seen.tolist() == [True]
    assert one.err[0] == pytest.approx(0.3)
    assert one.disputed.tolist() == [False]


def test_the_side_whose_word_is_nearer_weighs_more() -> None:
    near_the_first = x_of(side(100, away=1), side(104, away=99))
    near_the_last = x_of(side(100, away=99), side(104, away=1))
    assert near_the_first < 101
    assert near_the_last > 103
    assert near_the_first - 100 == pytest.approx(104 - near_the_last)


def test_a_side_that_is_less_sure_weighs_less() -> None:
    assert x_of(side(100, err=0.2), side(104, err=3.0)) < 100.5


def test_sides_that_are_far_apart_are_not_averaged_and_the_frame_is_disputed() -> None:
    one = blend(side(100, err=0.3), side(130, err=0.5))
    assert one.points[0, 0] == 100
    assert one.disputed.tolist() == [True]
    assert one.err[0] == 30


def test_a_small_dispute_is_averaged_and_told_all_the_same() -> None:
    one = blend(side(100), side(105))
    assert one.points[0, 0] == 102.5
    assert one.err[0] == 5
    assert one.disputed.tolist() == [True]


@pytest.mark.parametrize("distance", [3.0, 40.0])
def test_a_side_that_sees_counts_alone_beside_one_that_does_not(distance: float) -> None:
    one = blend(side(100, seen=False, away=1), side(100 + distance, away=90))
    assert one.points[0, 0] == 100 + distance
    assert one.seen.tolist() == [True]
    assert one.disputed.tolist() == [False]


def test_what_neither_side_saw_stays_lost_between_them() -> None:
    one = blend(side(100, seen=False), side(104, seen=False))
    assert one.points[0, 0] == 102
    assert one.seen.tolist() == [False]
    assert one.disputed.tolist() == [False]


def test_spans_lie_between_neighbouring_words_of_a_person_about_one_marker() -> None:
    a, b, c = (Marker(name, name, 1.0, 2.0) for name in "abc")
    stranger = Marker("z", "z", 1.0, 2.0)
    anchors = {30: (a, stranger), 50: (a, b), 5: (b,), 95: (c,)}
    request = TraceRequest((a, b, c), frame_start=10, frame_end=90, anchors=anchors)
    assert spans(request) == (Span(0, 10, 30), Span(0, 30, 50), Span(1, 10, 50))


def test_a_trace_without_later_words_has_no_spans() -> None:
    assert spans(TraceRequest((Marker("a", "a", 1.0, 2.0),))) == ()
