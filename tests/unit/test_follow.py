"""The follower's promises, whatever strategy it uses (A01, A02, A03, A32, B08, B11, B12)."""

from __future__ import annotations

import av
import numpy as np
import pytest

from tests.support.movies import sliding, textured
from tracer.errors import NoMarkers
from tracer.follow import DEFAULT_STRATEGY, STRATEGIES, Follower
from tracer.frames import Frame
from tracer.geometry import View
from tracer.model import FrameResult, Marker, TraceRequest

WIDTH, HEIGHT = 640, 480


def frames(pictures: list[np.ndarray]) -> list[Frame]:
    made = []
    for number, bgr in enumerate(pictures):
        view = View.of(bgr.shape[1], bgr.shape[0])
        made.append(Frame(number, number / 20, av.VideoFrame.from_ndarray(bgr, format="bgr24"), view))
    return made


def markers(*places: tuple[float, float]) -> tuple[Marker, ...]:
    return tuple(Marker(f"m{n}", f"Marker {n}", x, y) for n, (x, y) in enumerate(places))


def run(request: TraceRequest, film: list[Frame], strategy: str = DEFAULT_STRATEGY) -> list[FrameResult]:
    follower = Follower(request, strategy=strategy)
    return [result for frame in film if (result := follower.step(frame)) is not None]


@pytest.fixture(scope="module")
def drift() -> list[Frame]:
    """Everything moves 3 px left and 1 px up from frame to frame."""
    return frames(sliding(WIDTH, HEIGHT, 14, (3, 1)))


@pytest.mark.parametrize("strategy", list(STRATEGIES))
class TestEveryStrategy:
    def test_it_follows_a_picture_that_slides(self, strategy: str, drift: list[Frame]) -> None:
        results = run(TraceRequest(markers((320, 240), (500, 99.5))), drift, strategy)
        assert [r.frame_number for r in results] == list(range(14))
        for r in results:
            n = r.frame_number
            assert r.points == pytest.approx(np.array([(320 - 3 * n, 240 - n), (500 - 3 * n, 99.5 - n)]), abs=0.3)
            assert r.status.tolist() == [1, 1]
            assert r.time == n / 20

    def test_the_source_frame_answers_what_was_placed(self, strategy: str, drift: list[Frame]) -> None:
        """A32: to the last digit, wherever the movie is entered."""
        results = run(TraceRequest(markers((320.123, 240.456)), frame_start=5, frame_end=8), drift, strategy)
        assert [r.frame_number for r in results] == [5, 6, 7, 8]
        assert results[0].points.tolist() == [[320.123, 240.456]]
        assert results[0].status.tolist() == [1]
        assert results[0].err.tolist() == [0.0]

    def test_it_goes_on_from_a_checkpoint_as_if_nothing_had_happened(self, strategy: str, drift: list[Frame]) -> None:
        """A stopped attempt equals an uninterrupted one, also when it is fed from frame 0 again."""
        request = TraceRequest(markers((320, 240), (4, 470)))
        whole = run(request, drift, strategy)
        first = Follower(request, strategy=strategy)
        for frame in drift[:6]:
            first.step(frame)
        second = Follower(request, state=first.save())
        assert second.last_frame == 5
        rest = [result for frame in drift if (result := second.step(frame)) is not None]
        assert [r.frame_number for r in rest] == list(range(6, 14))
        for before, after in zip(whole[6:], rest, strict=True):
            assert after.points == pytest.approx(before.points, abs=1e-6)
            assert after.status.tolist() == before.status.tolist()

    def test_a_marker_that_leaves_is_lost_and_its_place_stays_inside(self, strategy: str) -> None:
        """B11: never negative, never written as a measurement."""
        film = frames(sliding(WIDTH, HEIGHT, 12, (5, 3)))
        results = run(TraceRequest(markers((3, 200), (300, 3), (400, 300))), film, strategy)
        assert len(results) == 12
        assert results[-1].status.tolist() == [0, 0, 1]
        points = np.stack([r.points for r in results])
        assert points.min() >= 0
        assert points[..., 0].max() <= WIDTH - 1
        assert points[..., 1].max() <= HEIGHT - 1

    def test_black_frames_stop_nothing(self, strategy: str) -> None:
        """B12."""
        pictures = sliding(WIDTH, HEIGHT, 8, (1, 0))
        pictures[4] = np.zeros_like(pictures[4])
        results = run(TraceRequest(markers((320, 240))), frames(pictures), strategy)
        assert [r.frame_number for r in results] == list(range(8))
        assert np.isfinite(np.stack([r.points for r in results])).all()
        assert np.isfinite(np.stack([r.err for r in results])).all()

    def test_a_flat_place_breaks_nothing(self, strategy: str) -> None:
        """B12: a marker on a bare wall."""
        flat = np.full((HEIGHT, WIDTH, 3), 127, np.uint8)
        assert len(run(TraceRequest(markers((320, 240))), frames([flat] * 5), strategy)) == 5

    def test_an_anchor_is_kept_to_the_last_digit_and_followed_from_there(
        self, strategy: str, drift: list[Frame]
    ) -> None:
        """B08, B14: a person's word on a later frame counts there and after it."""
        anchors = {6: (Marker("m1", "Marker 1", 150.25, 160.5), Marker("gone", "x", 1, 1))}
        results = run(TraceRequest(markers((320, 240), (500, 99)), anchors=anchors), drift, strategy)
        assert results[6].points[1].tolist() == [150.25, 160.5]
        assert results[6].err[1] == 0
        assert results[7].points[1] == pytest.approx([147.25, 159.5], abs=0.3)
        assert results[7].points[0] == pytest.approx([299, 233], abs=0.3)


def test_a_small_movie_is_answered_in_analysis_pixels() -> None:
    """A02: 320 x 240 pixels of the source are 640 x 480 of the analysis frame."""
    film = frames(sliding(320, 240, 6, (2, 0)))
    results = run(TraceRequest(markers((320, 240))), film)
    assert results[-1].points[0] == pytest.approx([300, 240], abs=0.5)


def test_a_lost_marker_keeps_its_row_and_returns() -> None:
    """A01: covered for three frames, then seen again where it is."""
    pictures = sliding(WIDTH, HEIGHT, 14, (1, 0))
    for n in (5, 6, 7):
        pictures[n][180:300, 240:380] = 128
    results = run(TraceRequest(markers((320, 240), (100, 100))), frames(pictures))
    status = [int(r.status[0]) for r in results]
    assert status[:5] == [1] * 5
    assert 0 in status[5:8]
    assert status[-1] == 1
    assert [int(r.status[1]) for r in results] == [1] * 14
    assert results[-1].points[0] == pytest.approx([307, 240], abs=0.6)


def test_nothing_is_seen_behind_a_cut() -> None:
    """A03: the promotion card at the end is no plant."""
    card = textured(WIDTH, HEIGHT, 99)
    results = run(TraceRequest(markers((320, 240), (100, 100))), frames(sliding(WIDTH, HEIGHT, 6, (1, 0)) + [card] * 6))
    assert [int(r.status.sum()) for r in results] == [2] * 6 + [0] * 6


def test_frames_out_of_order_are_refused(drift: list[Frame]) -> None:
    follower = Follower(TraceRequest(markers((320, 240))))
    follower.step(drift[0])
    with pytest.raises(ValueError, match="order"):
        follower.step(drift[2])
    assert follower.step(drift[0]) is None
    with pytest.raises(ValueError, match="order"):
        Follower(TraceRequest(markers((320, 240)), frame_start=3)).step(drift[4])


def test_without_markers_there_is_nothing_to_follow() -> None:
    with pytest.raises(NoMarkers) as refusal:
        Follower(TraceRequest((), frame_start=7))
    assert refusal.value.numbers == {"frame": 7}


def test_a_foreign_checkpoint_is_refused(drift: list[Frame]) -> None:
    first = Follower(TraceRequest(markers((320, 240))))
    first.step(drift[0])
    state = first.save()
    for wrong in (b"", b"nonsense", state[: len(state) // 2]):
        with pytest.raises(ValueError):
            Follower(TraceRequest(markers((320, 240))), state=wrong)
    with pytest.raises(ValueError):
        Follower(TraceRequest(markers((320, 240), (1, 1))), state=state)


def test_a_checkpoint_before_the_first_frame_is_a_fresh_start(drift: list[Frame]) -> None:
    state = Follower(TraceRequest(markers((320, 240)))).save()
    follower = Follower(TraceRequest(markers((320, 240))), state=state)
    assert follower.last_frame is None
    result = follower.step(drift[0])
    assert result is not None
    assert result.points.tolist() == [[320, 240]]
