"""How long a trace takes, told as multiples of merely decoding the movie: a ratio means the same on every machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import av
import cv2
import pytest
from click.testing import CliRunner

from service.cli.trace import trace
from tests.support.movies import real_movie
from tracer import synthetic
from tracer.follow import Follower
from tracer.frames import luma
from tracer.media import open_movie
from tracer.model import Marker, TraceRequest

pytestmark = pytest.mark.bench
_ROUNDS = 7


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """A worker runs one movie per process and lets no library start threads of its own."""
    cv2.setNumThreads(1)


def decode(path: Path, long_side: int | None = None) -> None:
    """What every trace must do at least: decode on one thread, and bring the brightness to `long_side`."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for picture in container.decode(stream):
            if long_side:
                scale = long_side / max(picture.width, picture.height)
                size = (round(picture.width * scale), round(picture.height * scale))
                cv2.resize(luma(picture), size, interpolation=cv2.INTER_AREA)


def follow(path: Path, markers: tuple[Marker, ...]) -> None:
    follower = Follower(TraceRequest(markers))
    with open_movie(path) as movie:
        for frame in movie.frames():
            follower.step(frame)


def ratio(work: Callable[[], None], baseline: Callable[[], None]) -> float:
    """Median processor time of `work` over `baseline`'s, taken in turns after one warm-up of each."""
    times: dict[Callable[[], None], list[float]] = {work: [], baseline: []}
    for attempt in range(_ROUNDS + 1):
        for job in (work, baseline):
            start = time.process_time()
            job()
            if attempt:
                times[job].append(time.process_time() - start)
    return median(times[work]) / median(times[baseline])


def test_the_trace_command_takes_few_times_the_decoding(record_property: Callable[[str, object], None]) -> None:
    """The whole command without artifacts, on a real 320 x 240 movie, against decoding and resizing it."""
    path = real_movie("plants/circumnutation_2019-07-12.mp4")
    options = ["--marker", "Apex=139,83", "--marker", "Ruler 0mm=238,123", "--marker", "Ruler 10mm=239,99"]

    def command() -> None:
        result = CliRunner().invoke(trace, [str(path), *options])
        assert result.exit_code == 0, result.output

    measured = ratio(command, lambda: decode(path, 640))
    record_property("ratio", measured)
    print(f"\ntrace command / decode and resize, 320 x 240: {measured:.2f}")
    assert measured < 5


@pytest.mark.parametrize(("size", "limit"), [((640, 480), 6.0), ((1920, 1080), 2.25)])
def test_following_four_points_costs_little_beside_decoding(
    size: tuple[int, int], limit: float, tmp_path: Path
) -> None:
    """Against decoding alone, nothing resized: 2.25 means one and a quarter of the decoding on top of it."""
    scene = synthetic.scene("circumnutation", seed=1, frames=60, width=size[0], height=size[1])
    path = tmp_path / "bench.mp4"
    synthetic.write(scene, path)
    measured = ratio(lambda: follow(path, scene.markers), lambda: decode(path))
    print(f"\nfollow / decode, {size[0]} x {size[1]}: {measured:.2f}")
    assert measured < limit
