"""One trace of one file by the tracer alone: decode, follow, keep the rows, draw the labelled movie."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from service.domain.markers import COLORS as MARKER_COLORS
from tracer.errors import MovieCutOff
from tracer.follow import Follower
from tracer.geometry import flip_y
from tracer.inspection import Survey
from tracer.media import Movie, open_movie
from tracer.model import FrameResult, Inspection, Limits, Marker, TraceRequest
from tracer.render import LabelledMovie
from tracer.report import ContactSheet

COLORS = MARKER_COLORS[:-1]  # the last one is black


class Run:
    """One trace of one file; afterwards `rows` are stored trackpoints and `told` is what the exports know of the
    movie.
    """

    def __init__(
        self, path: Path, placed: list[tuple[str, float, float]], start: int, end: int | None, rotation: int
    ) -> None:
        self.path, self.placed, self.start, self.end, self.rotation = path, placed, start, end, rotation
        self.rows: list[dict[str, Any]] = []
        self.told: dict[str, Any] = {}
        self.warnings: tuple[str, ...] = ()

    def follow(self, mp4_path: Path | None, sheet: ContactSheet | None = None) -> None:
        """Trace the movie, and write its labelled copy and collect frames on the way where they are wanted."""
        limits = Limits(threads=min(2, os.cpu_count() or 1))
        with ExitStack() as stack:
            movie = stack.enter_context(open_movie(self.path, rotation=self.rotation, limits=limits))
            markers = self._markers(movie)
            follower = Follower(TraceRequest(markers, self.start, self.end, self.rotation))
            writer = stack.enter_context(self._writer(mp4_path, movie)) if mp4_path else None
            step = stack.enter_context(_progress(self._expected(movie)))
            survey, last, whole = Survey(), -1, True
            for frame in movie.frames():
                if self.end is not None and frame.number > self.end:
                    whole = False
                    break
                last = frame.number
                survey.add(frame)
                result = follower.step(frame)
                if result is not None:
                    self._keep(result, markers, movie.frame_height)
                    if sheet:
                        sheet.add(frame)
                    if writer:
                        writer.add(frame.planes(), result.points, result.status, time=result.time)
                step(frame.number + 1)
            self._check_length(last, movie)
            self._tell(movie, survey.inspection(movie) if whole else None, last)

    def _markers(self, movie: Movie) -> tuple[Marker, ...]:
        """Source pixels to analysis pixels; the upright source may have oblong pixels, so each axis has its own
        scale.
        """
        across, down = movie.frame_width / movie.width, movie.frame_height / movie.height
        markers = []
        for n, (label, x, y) in enumerate(self.placed):
            if not (0 <= x < movie.width and 0 <= y < movie.height):
                hint = f"{label} lies outside the picture, which is {movie.width} x {movie.height} pixels"
                raise click.BadParameter(hint, param_hint="--marker")
            markers.append(Marker(f"m{n}", label, (x + 0.5) * across - 0.5, (y + 0.5) * down - 0.5))
        return tuple(markers)

    def _writer(self, path: Path, movie: Movie) -> LabelledMovie:
        labels = [label for label, _, _ in self.placed]
        colors = [COLORS[n % len(COLORS)] for n in range(len(labels))]
        size = (movie.frame_width, movie.frame_height)
        return LabelledMovie(path, *size, fps=movie.fps, labels=labels, colors=colors, tags={"title": self.path.stem})

    def _expected(self, movie: Movie) -> int | None:
        if self.end is not None:
            return self.end + 1
        return movie.promised_frames or None

    def _keep(self, result: FrameResult, markers: tuple[Marker, ...], frame_height: int) -> None:
        for n, marker in enumerate(markers):
            x, y = result.points[n]
            self.rows.append(
                {
                    "frame_number": result.frame_number,
                    "label": marker.label,
                    "marker_id": marker.marker_id,
                    "x": round(float(x), 3),
                    "y": round(float(flip_y(y, frame_height)), 3),
                    "status": int(result.status[n]),
                    "err": round(float(result.err[n]), 3),
                    "color": COLORS[n % len(COLORS)],
                    "time": None if result.time is None else round(result.time, 6),
                }
            )

    def _check_length(self, last: int, movie: Movie) -> None:
        """What was asked for by number must be there; without --end, everything that can be read is."""
        wanted = self.start if self.end is None else self.end
        if last < wanted:
            raise MovieCutOff(last=last, promised=max(movie.promised_frames, last + 1))

    def _tell(self, movie: Movie, inspection: Inspection | None, last: int) -> None:
        self.warnings = inspection.warnings if inspection else ()
        self.told = {
            "title": self.path.stem,
            "width": movie.width,
            "height": movie.height,
            "frame_width": movie.frame_width,
            "frame_height": movie.frame_height,
            "total_frames": inspection.decoded_frames if inspection else movie.promised_frames,
            "fps": inspection.fps if inspection else movie.fps,
            "trim_start_frame": self.start,
            "trim_end_frame": last,
            "inspection": asdict(inspection) if inspection else None,
        }


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], None]]:
    columns = (TextColumn("tracing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("tracing", total=total)
        # Drawn ten times a second; telling it of every frame would cost more than decoding a small one.
        yield lambda done: progress.update(task, completed=done) if done % 8 == 0 or done == total else None
