"""What a run through all frames tells about a movie: its real length, its clock, its cuts, and warnings in plain
words.
"""

from __future__ import annotations

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
            duration=span + (float(np.median(gaps)) if len(gaps) else 1.0 / movie.fps),
            fps=fps,
            variable_frame_rate=variable,
            browser_playable=_browser_playable(movie),
            cuts=tuple(self._cut_frames),
            warnings=tuple(self._warnings(movie, variable)),
        )

    def _warnings(self, movie: Movie, variable: bool) -> list[str]:
        said = []
        if self._frames < movie.promised_frames:
            said.append(f"Only {self._frames} of {movie.promised_frames} promised frames can be read.")
        if movie.damaged:
            said.append("Part of the file is damaged; frames may be missing in the middle.")
        if variable:
            said.append("The frame rate varies; times come from the movie's own timestamps.")
        if not _browser_playable(movie):
            said.append("Browsers may not play this file; its pictures and the traced movie still work.")
        if len(self._cut_frames) == 1:
            cut = self._cut_frames[0]
            said.append(f"The scene changes at frame {cut}; trim the movie to end at frame {cut - 1}.")
        elif self._cut_frames:
            some = ", ".join(map(str, self._cut_frames[:_NAMED_CUTS]))
            more = " and later" if len(self._cut_frames) > _NAMED_CUTS else ""
            said.append(f"The scene changes at frames {some}{more}; trim the movie to one scene.")
        return said


def _browser_playable(movie: Movie) -> bool:
    return movie.codec_name in _PLAYABLE.get(movie.container_name, ()) and movie.pixel_format in _BROWSER_FORMATS
