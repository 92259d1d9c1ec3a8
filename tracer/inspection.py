"""What a run through all frames tells about a movie: its real length, its clock, its cuts, and warnings in plain
words.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tracer.cuts import CutFinder
from tracer.model import Inspection
from tracer.pace import varies

if TYPE_CHECKING:
    from tracer.frames import Frame
    from tracer.media import Movie

_PLAYABLE = {
    "mov,mp4,m4a,3gp,3g2,mj2": ("h264", "av1", "vp9"),
    "matroska,webm": ("vp8", "vp9", "av1"),
    "ogg": ("theora",),
}
_NAMED_CUTS = 5
_BROWSER_FORMATS = ("yuv420p", "yuvj420p")


class Survey:
    """Collects while frames pass by: one number per frame and the last thumbnail, never a picture."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._frames = 0
        self._cuts = CutFinder()
        self._cut_frames: list[int] = []

    def add(self, frame: Frame) -> None:
        self._frames += 1
        if frame.time is not None:
            self._times.append(frame.time)
        if self._cuts.is_cut(frame.small()):
            self._cut_frames.append(frame.number - self._cuts.blanks_before)

    def inspection(self, movie: Movie) -> Inspection:
        """The record for `movie` after its last frame was added."""
        gaps = np.diff(np.array(self._times, np.float64))
        span = self._times[-1] if self._times else 0.0
        fps = (len(self._times) - 1) / span if span > 0 else movie.fps
        variable = varies(gaps)
        trim = proposed_trim(self._frames, self._cut_frames, self._cuts.blanks)
        return Inspection(
            container=movie.container_name,
            codec=movie.codec_name,
            pixel_format=movie.pixel_format,
            width=movie.width,
            height=movie.height,
            frame_width=movie.frame_width,
            frame_height=movie.frame_height,
            rotation=movie.rotation,
            pixel_aspect=movie.view.pixel_aspect,
            promised_frames=movie.promised_frames,
            decoded_frames=self._frames,
            duration=max(0.0, span + (float(np.median(gaps)) if len(gaps) else 1.0 / movie.fps)),  # clocks can run back
            fps=fps,
            variable_frame_rate=variable,
            browser_playable=_browser_playable(movie),
            cuts=tuple(self._cut_frames),
            trim_start=None if trim is None else trim[0],
            trim_end=None if trim is None else trim[1],
            completeness="partial" if self._frames < movie.promised_frames or movie.damaged else "whole",
            warnings=tuple(self._warnings(movie, variable, trim)),
        )

    def _warnings(self, movie: Movie, variable: bool, trim: tuple[int, int] | None) -> list[str]:
        said = []
        if self._frames < movie.promised_frames:
            said.append(f"Only {self._frames} of {movie.promised_frames} promised frames can be read.")
        if movie.damaged:
            said.append("Part of the file is damaged; frames may be missing in the middle.")
        if variable:
            said.append("The frame rate varies; times come from the movie's own timestamps.")
        if not _browser_playable(movie):
            said.append("Browsers may not play this file; its pictures and the traced movie still work.")
        if self._cut_frames:
            some = ", ".join(map(str, self._cut_frames[:_NAMED_CUTS]))
            more = " and later" if len(self._cut_frames) > _NAMED_CUTS else ""
            at = "frame" if len(self._cut_frames) == 1 else "frames"
            said.append(f"The scene changes at {at} {some}{more}; {_advice(trim, self._frames)}.")
        elif trim:
            said.append(f"The picture is black from frame {trim[1] + 1} to the end; {_advice(trim, self._frames)}.")
        return said


def proposed_trim(frames: int, cuts: list[int], black_end: int) -> tuple[int, int] | None:
    """First and last frame of the scene that makes up at least half of the movie, if that is not all of it.

    `black_end` frames at the end show nothing. A movie of many short scenes has no such scene: None.
    """
    edges = [0, *cuts, frames - black_end]
    first, behind = max(pairwise(edges), key=lambda scene: scene[1] - scene[0])
    if behind - first == frames or 2 * (behind - first) < frames:
        return None
    return first, behind - 1


def _advice(trim: tuple[int, int] | None, frames: int) -> str:
    if trim is None:
        return "trim the movie to one scene"
    if trim[0] == 0:
        return f"trim the movie to end at frame {trim[1]}"
    if trim[1] == frames - 1:
        return f"trim the movie to begin at frame {trim[0]}"
    return f"trim the movie to frames {trim[0]} to {trim[1]}"


def _browser_playable(movie: Movie) -> bool:
    return movie.codec_name in _PLAYABLE.get(movie.container_name, ()) and movie.pixel_format in _BROWSER_FORMATS
