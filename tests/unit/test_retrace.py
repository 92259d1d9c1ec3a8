"""A trace that knows of later words: fused in between, untouched elsewhere, and the same when it is resumed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.movies import sliding, write_movie
from tracer.media import open_movie
from tracer.model import FrameResult, Marker, TraceRequest
from tracer.retrace import Retrace

FRAMES, WIDTH, HEIGHT, STEP = 24, 320, 240, 3
SCALE = 640 / WIDTH


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything moves 3 px (6 of the analysis frame) left from frame to frame."""
    path = tmp_path_factory.mktemp("retrace") / "film.mp4"
    return write_movie(path, sliding(WIDTH, HEIGHT, FRAMES, (STEP, 0)), options={"preset": "ultrafast"})


def true_x(start: float, number: int) -> float:
    return start - SCALE * STEP * number


def run(request: TraceRequest, film: Path, stop_after: int | None = None) -> tuple[list[FrameResult], bytes]:
    trace = Retrace(request)
    if trace.must_look_back:
        trace.look_back(film)
    return advance(trace, film, stop_after)


def advance(trace: Retrace, film: Path, stop_after: int | None = None) -> tuple[list[FrameResult], bytes]:
    results = []
    with open_movie(film) as movie:
        for frame in movie.frames():
            result = trace.step(frame)
            if result is not None:
                results.append(result)
            if frame.number == stop_after:
                break
    return results, trace.save()


STAYS, WORDED = Marker("a", "Apex", 500.0, 240.0), Marker("b", "Leaf", 420.0, 200.0)
REQUEST = TraceRequest(
    (STAYS, WORDED),
    frame_start=2,
    # A person says that from frame 12 on "Leaf" is another spot, 60 px to the right of where frame 2 had it.
    anchors={
        12: (Marker("b", "Leaf", true_x(480.0, 10), 200.0),),
        18: (Marker("b", "Leaf", true_x(480.0, 16), 200.0),),
    },
)


@pytest.fixture(scope="module")
def whole(film: Path) -> list[FrameResult]:
    return run(REQUEST, film)[0]


def test_near_each_word_of_a_person_that_word_counts(whole: list[FrameResult]) -> None:
    x = {result.frame_number: float(result.points[1, 0]) for result in whole}
    assert x[2] == 420.0
    assert x[3] == pytest.approx(true_x(420, 1), abs=0.5)
    assert x[11] == pytest.approx(true_x(480, 9), abs=0.5)  # a pass forwards alone would still be 60 px off
    assert x[12] == true_x(480, 10)
    for number in range(13, FRAMES):
        assert x[number] == pytest.approx(true_x(480, number - 2), abs=0.5)


def test_frames_in_which_the_two_passes_contradict_each_other_say_so(whole: list[FrameResult]) -> None:
    err = {result.frame_number: float(result.err[1]) for result in whole}
    assert min(err[number] for number in range(3, 12)) == pytest.approx(60, abs=1)
    assert err[2] == err[12] == err[18] == 0
    assert max(err[number] for number in range(13, 18)) < 1


def test_a_marker_without_later_words_is_traced_as_ever(whole: list[FrameResult], film: Path) -> None:
    alone, _ = run(TraceRequest((STAYS,), frame_start=2), film)
    assert [result.frame_number for result in whole] == [result.frame_number for result in alone]
    for fused, plain in zip(whole, alone, strict=True):
        assert fused.points[0] == pytest.approx(plain.points[0], abs=0.02)
        assert fused.err[0] == pytest.approx(plain.err[0], abs=0.02)


@pytest.mark.parametrize("stop_after", [2, 7, 15, 20])
def test_a_resumed_retrace_looks_back_no_second_time_and_ends_alike(
    film: Path, whole: list[FrameResult], stop_after: int
) -> None:
    first, state = run(REQUEST, film, stop_after)
    resumed = Retrace(REQUEST, state=state)
    assert not resumed.must_look_back
    rest, _ = advance(resumed, film)
    assert [result.frame_number for result in first + rest] == list(range(2, FRAMES))
    for one, other in zip(first + rest, whole, strict=True):
        assert np.array_equal(one.points, other.points)
        assert np.array_equal(one.status, other.status)
        assert np.array_equal(one.err, other.err)


def test_a_checkpoint_of_a_plain_trace_is_none_of_a_retrace(film: Path) -> None:
    _, state = run(TraceRequest(REQUEST.markers), film, 5)
    with pytest.raises(ValueError, match="not a checkpoint"):
        Retrace(REQUEST, state=state)


def test_stepping_before_looking_back_is_a_mistake_that_is_told(film: Path) -> None:
    with open_movie(film) as movie, pytest.raises(RuntimeError):
        Retrace(REQUEST).step(next(movie.frames()))
