"""Ten thousand frames, the longest movie that is let in, cost no more memory than two hundred (A25)."""

from __future__ import annotations

import re
from itertools import chain, cycle, islice
from pathlib import Path

import numpy as np
import pytest

from tests.support.movies import write_movie
from tracer import synthetic
from tracer.media import open_movie
from tracer.model import Limits, Marker, TraceRequest
from tracer.retrace import Retrace
from tracer.rewind import MEGABYTES

FRAMES, PERIOD, SETTLED = 10_000, 60, 200


pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def megabytes() -> float:
    """What this process holds now, as the kernel counts it."""
    told = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert told
    return int(told.group(1)) / 1024


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Marker, ...]]:
    """A shoot that nods there and back, again and again."""
    scene = synthetic.scene("circumnutation", 2, PERIOD, 320, 240)
    way = list(scene.pictures())
    pictures = islice(cycle(chain(way, way[-2:0:-1])), FRAMES)
    path = tmp_path_factory.mktemp("long") / "film.mp4"
    return write_movie(path, pictures, options={"preset": "ultrafast"}), scene.markers


def test_memory_is_flat_and_nothing_drifts_over_ten_thousand_frames(film: tuple[Path, tuple[Marker, ...]]) -> None:
    path, markers = film
    trace = Retrace(TraceRequest(markers))
    held, round_trips = [], []
    with open_movie(path, limits=Limits(max_frames=FRAMES)) as movie:
        for frame in movie.frames():
            result = trace.step(frame)
            assert result is not None
            if frame.number >= SETTLED and frame.number % 100 == 0:
                held.append(megabytes())
            if frame.number % (2 * PERIOD - 2) == 0:
                round_trips.append(result)
    print(f"\nMB after {SETTLED} frames: {held[0]:.0f}, at most {max(held):.0f}; {len(held)} readings")
    assert max(held) - held[0] < 50
    assert len(trace.save()) < 1 << 20
    start = np.array([(marker.x, marker.y) for marker in markers])
    assert all(result.status.all() for result in round_trips)
    assert max(float(np.abs(result.points - start).max()) for result in round_trips) < 0.5


def test_looking_back_over_ten_thousand_frames_holds_one_piece_of_them(film: tuple[Path, tuple[Marker, ...]]) -> None:
    path, markers = film
    last = FRAMES - 1 - (FRAMES - 1) % (2 * PERIOD - 2)  # the shoot is back where it began
    trace = Retrace(TraceRequest(markers, frame_end=last, anchors={last: markers}))
    before = megabytes()
    held: list[float] = []

    def on_frame() -> None:
        held.append(megabytes() if len(held) % 100 == 0 else held[-1])

    trace.look_back(path, limits=Limits(max_frames=FRAMES), on_frame=on_frame)
    print(f"\nMB before {before:.0f}, at most {max(held):.0f}; {len(held)} frames decoded for {last}")
    assert max(held) - before < 2 * MEGABYTES + 50  # one piece is let go while the next one is read
    assert len(held) < 3 * FRAMES
