"""A movie read backwards shows the very frames that it shows forwards, in bounded memory (B08)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.movies import sliding, write_movie
from tracer.errors import MovieCutOff
from tracer.media import open_movie
from tracer.rewind import Rewinder

FRAMES, WIDTH, HEIGHT = 40, 320, 240
ENCODINGS = {
    "mp4": {"g": "12", "bf": "2"},
    "mkv": {"g": "250", "bf": "3"},
    "ts": {"g": "15", "bf": "2"},  # whose index leads nowhere: read from the start
}


@pytest.fixture(scope="module", params=list(ENCODINGS))
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rewind") / f"film.{request.param}"
    options = {"preset": "ultrafast", **ENCODINGS[request.param]}
    return write_movie(path, sliding(WIDTH, HEIGHT, FRAMES, (3, 1)), options=options)


def forwards(path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    with open_movie(path) as movie:
        return [(frame.gray().copy(), frame.chroma().copy()) for frame in movie.frames()]


def check(rewinder: Rewinder, truth: list[tuple[np.ndarray, np.ndarray]], first: int, last: int) -> None:
    numbers = []
    for frame in rewinder.reversed_frames():
        number = last - frame.number
        numbers.append(number)
        assert np.array_equal(frame.gray(), truth[number][0])
        assert np.array_equal(frame.chroma(), truth[number][1])
    assert numbers == list(range(last, first - 1, -1))


def test_the_frames_come_backwards_and_are_the_same(film: Path) -> None:
    truth = forwards(film)
    last = len(truth) - 5
    rewinder = Rewinder(film, 3, last)
    check(rewinder, truth, 3, last)
    assert rewinder.decoded == last + 1  # all of them fit: one reading


def test_a_long_stretch_is_read_in_pieces_that_fit(film: Path) -> None:
    truth = forwards(film)
    last = len(truth) - 1
    rewinder = Rewinder(film, 0, last, megabytes=1)  # nine frames
    check(rewinder, truth, 0, last)
    assert len(truth) < rewinder.decoded < 6 * len(truth)


def test_a_movie_that_ends_too_early_says_so(film: Path) -> None:
    """B01."""
    with pytest.raises(MovieCutOff) as refusal:
        list(Rewinder(film, 0, FRAMES + 20).reversed_frames())
    assert refusal.value.numbers["last"] < FRAMES


def test_the_reading_can_be_ended_at_any_frame(film: Path) -> None:
    class Enough(Exception):
        pass

    seen = 0

    def on_frame() -> None:
        nonlocal seen
        seen += 1
        if seen == 7:
            raise Enough

    with pytest.raises(Enough):
        list(Rewinder(film, 0, 30).reversed_frames(on_frame))
    assert seen == 7
