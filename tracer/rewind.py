"""Read a stretch of a movie backwards, last frame first, in bounded memory.

A decoder only goes forwards. So the movie is read once to its last wanted frame, while the whereabouts of key frames
and a fingerprint of each frame are written down; then it is read in pieces from the last to the first, each beginning
at the nearest key frame and held only as far as following needs it. A piece whose fingerprints differ (files whose
index lies, or whose key frames are none) is read from the movie's beginning instead: slower, never wrong.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tracer.errors import MovieCutOff
from tracer.frames import Chroma, Frame, Gray
from tracer.geometry import View
from tracer.media import open_movie
from tracer.model import Limits

MEGABYTES = 64


class Held(Frame):
    """A frame that is kept after the decoder has gone on: what a follower asks for, nothing to show.

    `number` is whatever the reader wants it to be: backwards, frames are counted from the end.
    """

    __slots__ = ("_chroma",)

    def __init__(self, frame: Frame, number: int) -> None:
        self.number, self.time, self.view = number, frame.time, frame.view
        self._gray: Gray | None = frame.gray().copy()
        self._chroma: Chroma = frame.chroma()
        self._small: Gray | None = None

    def chroma(self) -> Chroma:
        return self._chroma


class _Mark(NamedTuple):
    """What identifies a frame: its timestamp in the stream's ticks, whether decoding can begin there, its print."""

    ticks: int | None
    key: bool
    print: int


class Rewinder:
    """The frames `first` to `last` of a movie, backwards; `reversed_frames` runs through them once.

    `decoded` counts every frame that had to be decoded, the first reading's included. `megabytes` is what the held
    frames may take together; a piece has at least one frame.
    """

    def __init__(
        self,
        path: str | Path,
        first: int,
        last: int,
        *,
        rotation: int = 0,
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        megabytes: int = MEGABYTES,
    ) -> None:
        self._path, self._rotation, self._limits = path, rotation, limits
        self.first, self.last = first, last
        self._bytes = megabytes << 20
        self._marks: list[_Mark] = []
        self._seekable = True
        self.decoded = 0

    def reversed_frames(self, on_frame: Callable[[], None] | None = None) -> Iterator[Held]:
        """Frames numbered from 0 for `last` up to `last - first` for `first`.

        `on_frame` is called for every frame that is decoded on the way; what it raises ends the reading. Raises the
        errors of `open_movie`, and MovieCutOff if the movie ends before `last`.
        """
        tell = on_frame or (lambda: None)
        with open_movie(self._path, rotation=self._rotation, limits=self._limits) as movie:
            length = max(1, self._bytes // _weight(movie.view))
            piece: deque[Held] = deque()
            for frame in movie.frames():
                self._count(tell)
                self._marks.append(_mark(frame))
                if frame.number > self.last - length and frame.number >= self.first:
                    piece.append(Held(frame, self.last - frame.number))
                if frame.number == self.last:
                    break
            else:
                raise MovieCutOff(last=max(0, len(self._marks) - 1), promised=max(movie.promised_frames, self.last + 1))
        ticks = [mark.ticks for mark in self._marks]
        self._seekable = all(a is not None and b is not None and a < b for a, b in pairwise(ticks))
        while True:
            bottom = self.last - piece[0].number
            while piece:
                yield piece.pop()
            if bottom <= self.first:
                return
            piece = self._piece(max(self.first, bottom - length), bottom - 1, tell)

    def _piece(self, low: int, high: int, tell: Callable[[], None]) -> deque[Held]:
        """The frames `low` to `high`, forwards."""
        if self._seekable:
            found = self._from_key(low, high, tell)
            if found is not None:
                return found
            self._seekable = False  # what failed once is not tried for every piece
        return self._from_start(low, high, tell)

    def _from_key(self, low: int, high: int, tell: Callable[[], None]) -> deque[Held] | None:
        """By way of the key frame at or before `low`; None if what comes out is not what came out before."""
        key = max((n for n in range(low + 1) if self._marks[n].key), default=0)
        wanted = {self._marks[n].ticks: n for n in range(low, high + 1)}
        ticks = self._marks[key].ticks
        assert ticks is not None
        piece: deque[Held] = deque()
        with open_movie(self._path, rotation=self._rotation, limits=self._limits) as movie:
            for frame in movie.frames_from(ticks):
                self._count(tell)
                n = wanted.get(frame.ticks)
                if n is None:
                    continue
                if n != low + len(piece) or _mark(frame).print != self._marks[n].print:
                    return None
                piece.append(Held(frame, self.last - n))
                if n == high:
                    return piece
        return None

    def _from_start(self, low: int, high: int, tell: Callable[[], None]) -> deque[Held]:
        piece: deque[Held] = deque()
        with open_movie(self._path, rotation=self._rotation, limits=self._limits) as movie:
            for frame in movie.frames():
                self._count(tell)
                if frame.number >= low:
                    piece.append(Held(frame, self.last - frame.number))
                if frame.number == high:
                    break
        return piece

    def _count(self, tell: Callable[[], None]) -> None:
        self.decoded += 1
        tell()


def _weight(view: View) -> int:
    """Bytes of one held frame: brightness, and two colours at half the size."""
    return view.track_width * view.track_height * 3 // 2


def _mark(frame: Frame) -> _Mark:
    few: Any = frame.stored_luma()[::16, ::16]
    return _Mark(frame.ticks, frame.is_key, zlib.crc32(few.tobytes()))
