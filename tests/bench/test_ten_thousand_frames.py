"""Ten thousand frames cost a hundred times what a hundred cost, and no more memory.

pytest -m bench tests/bench/test_ten_thousand_frames.py -s
"""

from __future__ import annotations

import re
import time
import zipfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.support.movies import textured
from tracer.archive import FrameArchive
from tracer.follow import Follower
from tracer.frames import Frame
from tracer.media import inspect, open_movie
from tracer.model import Marker, TraceRequest
from tracer.planes import Planes, of_bgr
from tracer.render import LabelledMovie

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]
FRAMES, MARKERS, PART = 10_000, 8, 1000
MOST_GROWTH = 24.0  # MB: allocators round, a central directory has an entry per frame


def held_megabytes() -> float:
    """What this process holds in memory now."""
    told = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert told
    return int(told.group(1)) / 1024


class Watch:
    """Processor time of every thousand frames, and the memory at its end."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.megabytes: list[float] = []
        self._frames, self._since = 0, time.process_time()

    def frame(self) -> None:
        self._frames += 1
        if self._frames % PART == 0:
            now = time.process_time()
            self.seconds.append(now - self._since)
            self.megabytes.append(held_megabytes())
            self._since = now

    def told(self, what: str) -> None:
        per_frame = [1000 * seconds / PART for seconds in self.seconds]
        print(
            f"\n{what}: {per_frame[1]:.2f} ms a frame from {PART} on, {per_frame[-1]:.2f} ms in the last {PART};"
            f" {self.megabytes[1]:.0f} MB held, {self.megabytes[-1]:.0f} MB at the end"
        )

    def check(self) -> None:
        assert self.seconds[-1] < 1.35 * self.seconds[1]
        assert self.megabytes[-1] - self.megabytes[1] < MOST_GROWTH


@pytest.fixture(scope="module")
def long_movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One group of pictures over and over: no time is lost on encoding ten thousand frames."""
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"preset": "ultrafast", "g": "50", "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        packets = []
        for n in range(50):
            shifted = np.roll(textured(320, 240), round(6 * np.sin(n * np.pi / 25)), axis=1)
            frame = av.VideoFrame.from_ndarray(shifted, format="bgr24")
            frame.pts, frame.time_base = n, Fraction(1, 30)
            packets += stream.encode(frame)
        packets += stream.encode(None)
        kept = [(bytes(packet), packet.is_keyframe) for packet in packets]
        for n in range(FRAMES):
            packet = av.Packet(kept[n % 50][0])
            packet.stream, packet.time_base, packet.pts, packet.dts = stream, Fraction(1, 30), n, n
            packet.is_keyframe = kept[n % 50][1]
            container.mux(packet)
    return path


def test_drawing_and_encoding_cost_the_same_at_the_end(tmp_path: Path) -> None:
    """The trail is drawn step by step, not anew in every frame."""
    blank, watch = of_bgr(textured(640, 480)), Watch()
    chance = np.random.default_rng(1)
    points = chance.uniform(100, 380, (MARKERS, 2))
    status = np.ones(MARKERS, np.int8)
    path = tmp_path / "l.mp4"
    colors = ["#e69f00"] * MARKERS
    with LabelledMovie(path, 640, 480, fps=30, labels=["Apex"] * MARKERS, colors=colors) as movie:
        for _ in range(FRAMES):
            # Near where it began: a trail over the whole picture would cost the encoder more, whoever drew it.
            points += chance.normal(0, 1.5, points.shape) - 0.02 * (points - (320, 240))
            movie.add(Planes(*(plane.copy() for plane in blank)), points, status)
            watch.frame()
    watch.told("draw and encode")
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames == FRAMES
    watch.check()


def test_an_archive_grows_on_disk_and_not_in_memory(long_movie: Path, tmp_path: Path) -> None:
    """A25: decoding, looking for cuts and packing in one pass."""
    watch, path = Watch(), tmp_path / "f.zip"
    with FrameArchive(path) as archive:

        def pack(frame: Frame) -> None:
            archive.add(frame)
            watch.frame()

        found = inspect(long_movie, on_frame=pack)
    watch.told("inspect and archive")
    assert found.decoded_frames == FRAMES
    with zipfile.ZipFile(path) as packed:
        assert len(packed.namelist()) == FRAMES
    watch.check()


def test_following_costs_the_same_at_the_end(long_movie: Path) -> None:
    """A25: and a checkpoint is as small after ten thousand frames as after a thousand."""
    follower, watch = (
        Follower(TraceRequest((Marker("a", "Apex", 300.0, 200.0), Marker("b", "Leaf", 200.0, 300.0)))),
        Watch(),
    )
    sizes = []
    with open_movie(long_movie) as movie:
        for frame in movie.frames():
            follower.step(frame)
            watch.frame()
            if frame.number % PART == PART - 1:
                sizes.append(len(follower.save()))
    watch.told("decode and follow")
    print(f"  checkpoints of {sizes[0]} to {max(sizes)} bytes")
    assert len(watch.seconds) == FRAMES // PART
    assert max(sizes) < 1.5 * sizes[0]
    watch.check()
