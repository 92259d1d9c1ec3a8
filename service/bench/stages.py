"""What each stage of a trace costs on one movie, told as multiples of merely decoding it: that means the same on every
machine.

It runs in a process of its own, so that the peak of its memory is the trace's.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from service.bench.machine import peak_megabytes

STAGES = ("decode", "resize", "follow", "render and encode", "archive")
Place = tuple[str, float, float]
"""A marker: its label, x and y in analysis pixels, origin upper left."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds of each stage for the whole movie, medians over all rounds."""

    frames: int
    width: int
    height: int
    codec: str
    markers: int
    seconds: dict[str, float]
    peak_megabytes: float | None


def measure(path: Path, places: Sequence[Place], points: int, rounds: int) -> Cost:
    """Trace `path` once to warm up and `rounds` times to measure, in a child process.

    With no `places`, `points` of them are chosen that a tracer can hold on to. Raises the errors of
    `tracer.media.open_movie`, and NoMarkers where the first frame is too plain.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:
        return child.submit(_measured, path, tuple(places), points, rounds).result()


def _measured(path: Path, places: tuple[Place, ...], points: int, rounds: int) -> Cost:
    import cv2

    from tracer.media import open_movie

    cv2.setNumThreads(1)  # as in a worker: parallelism is movies, not threads
    with open_movie(path) as movie:
        chosen = places or good_places(next(movie.frames()).bgr(), points)
        told = (movie.width, movie.height, movie.codec_name)
    laps = []
    for _ in range(rounds + 1):
        with tempfile.TemporaryDirectory(prefix="tiptrace-bench-") as folder:
            laps.append(_one_round(path, chosen, Path(folder)))
    seconds = {stage: median(lap.seconds[stage] for lap in laps[1:]) for stage in STAGES}
    return Cost(laps[0].frames, *told, len(chosen), seconds, peak_megabytes())


class _Laps:
    """Processor time since the last call, by stage. Threads of the decoder or encoder count too."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.frames = 0
        self._since = time.process_time()

    def end(self, stage: str) -> None:
        now = time.process_time()
        self.seconds[stage] += now - self._since
        self._since = now


def _one_round(path: Path, places: Sequence[Place], folder: Path) -> _Laps:
    """Everything that a job makes of a movie, one thing after the other."""
    from tracer.archive import FrameArchive
    from tracer.follow import Follower
    from tracer.media import open_movie
    from tracer.model import Marker, TraceRequest
    from tracer.render import LabelledMovie

    follower = Follower(TraceRequest(tuple(Marker(label, label, x, y) for label, x, y in places)))
    with ExitStack() as stack:
        laps = _Laps()
        movie = stack.enter_context(open_movie(path))
        video = LabelledMovie(
            folder / "traced.mp4",
            movie.frame_width,
            movie.frame_height,
            fps=movie.fps,
            labels=[label for label, _, _ in places],
            colors=["#0072b2"] * len(places),
        )
        stack.enter_context(video)
        archive = stack.enter_context(FrameArchive(folder / "frames.zip"))
        for frame in movie.frames():
            laps.end("decode")
            frame.gray()
            frame.small()
            laps.end("resize")
            result = follower.step(frame)
            laps.end("follow")
            assert result is not None  # every frame from the first on was asked for
            video.add(frame.planes(), result.points, result.status, time=frame.time)
            laps.end("render and encode")
            archive.add(frame)
            laps.end("archive")
            laps.frames += 1
        laps.end("decode")
        video.close()
        laps.end("render and encode")
        archive.close()
        laps.end("archive")
    return laps


def good_places(bgr: object, points: int) -> tuple[Place, ...]:
    """Corners of the first frame, apart from each other."""
    import cv2
    import numpy as np

    from tracer.errors import NoMarkers

    gray = cv2.cvtColor(np.asarray(bgr), cv2.COLOR_BGR2GRAY)
    inside = np.zeros_like(gray)
    inside[24:-24, 24:-24] = 255
    corners = cv2.goodFeaturesToTrack(gray, points, 0.05, 40, mask=inside, blockSize=9)
    if corners is None:
        raise NoMarkers(frame=0)
    return tuple((f"Point {n}", float(x), float(y)) for n, ((x, y),) in enumerate(corners, start=1))
