"""How long a trace takes, told as multiples of merely decoding the movie: a ratio means the same on every machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import chain, cycle, islice
from pathlib import Path
from statistics import median

import av
import cv2
import pytest
from click.testing import CliRunner

from service.cli.trace import trace
from tests.support.movies import real_movie, write_movie
from tracer import synthetic
from tracer.follow import Follower
from tracer.frames import luma
from tracer.media import open_movie
from tracer.model import Limits, Marker, TraceRequest

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
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


@pytest.mark.parametrize(("size", "limit"), [((320, 240), 7.0), ((640, 480), 3.0), ((1920, 1080), 1.25)])
def test_following_four_points_costs_little_beside_decoding_and_resizing(
    size: tuple[int, int], limit: float, tmp_path: Path
) -> None:
    """1.25 means a quarter of the decoding and resizing to 640 on top of it, on one core."""
    scene, path = filmed(size, tmp_path)
    measured = ratio(lambda: follow(path, scene.markers), lambda: decode(path, 640))
    print(f"\nfollow / decode and resize, {size[0]} x {size[1]}: {measured:.2f}")
    assert measured < limit


def test_twelve_points_cost_little_more_than_four(tmp_path: Path) -> None:
    """Points of the same kinds: each of the four, and two neighbours of each."""
    scene, path = filmed((640, 480), tmp_path)
    four = scene.markers[:4]
    twelve = tuple(
        Marker(f"{m.marker_id}-{n}", f"{m.label} {n}", m.x + dx, m.y + dy)
        for m in four
        for n, (dx, dy) in enumerate(((0, 0), (3, 2), (-2, 4)))
    )
    measured = ratio(lambda: follow(path, twelve), lambda: follow(path, four))
    print(f"\ntwelve points / four points, 640 x 480: {measured:.2f}")
    assert measured < 1.6


def test_the_last_frames_of_a_long_movie_take_no_longer_than_the_first(tmp_path: Path) -> None:
    """A shoot that nods there and back, 10,000 frames: the median frame of the last thousand and of the first."""
    scene = synthetic.scene("circumnutation", seed=2, frames=60, width=320, height=240)
    way = list(scene.pictures())
    pictures = islice(cycle(chain(way, way[-2:0:-1])), 10_000)
    path = write_movie(tmp_path / "long.mp4", pictures, options={"preset": "ultrafast"})
    follower, times = Follower(TraceRequest(scene.markers)), []
    with open_movie(path, limits=Limits(max_frames=10_000)) as movie:
        for frame in movie.frames():
            frame.gray()
            start = time.process_time()
            follower.step(frame)
            times.append(time.process_time() - start)
    measured = median(times[-1000:]) / median(times[200:1200])
    print(f"\nlast thousand frames / first thousand: {measured:.2f}")
    assert measured < 1.1


def filmed(size: tuple[int, int], folder: Path) -> tuple[synthetic.Scene, Path]:
    scene = synthetic.scene("circumnutation", seed=1, frames=90, width=size[0], height=size[1])
    path = folder / "bench.mp4"
    synthetic.write(scene, path)
    return scene, path
