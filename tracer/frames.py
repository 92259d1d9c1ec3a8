"""One decoded frame, and the two pictures that are taken from it: gray to follow, colour to show."""

from __future__ import annotations

from functools import cache
from typing import Any

import av
import cv2
import numpy as np
import numpy.typing as npt

from tracer.geometry import View, turned_size
from tracer.planes import Planes, of_picture, reformatted

# Pictures are uint8 throughout; OpenCV's own annotations know no more than "some number".
Gray = npt.NDArray[Any]
Bgr = npt.NDArray[Any]
Chroma = npt.NDArray[Any]

_TURNS = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}


class Frame:
    """A frame as it came out of the decoder; pictures are made when asked for, and `gray` only once.

    `number` counts decoded frames from 0. `time` is seconds from the movie's first frame by its own timestamps, or
    None.
    """

    __slots__ = ("_gray", "_picture", "_small", "number", "time", "view")

    def __init__(self, number: int, time: float | None, picture: av.VideoFrame, view: View) -> None:
        self.number = number
        self.time = time
        self.view = view
        self._picture = picture
        self._gray: Gray | None = None
        self._small: Gray | None = None

    @property
    def ticks(self) -> int | None:
        """The timestamp as stored, in the stream's own unit."""
        return self._picture.pts

    @property
    def is_key(self) -> bool:
        """Can decoding begin with this frame, as far as the file says?"""
        return bool(self._picture.key_frame)

    def stored_luma(self) -> Gray:
        """Brightness as it lies in the file, neither scaled nor turned; in the decoder's memory where possible."""
        return luma(self._picture)

    @property
    def scale(self) -> float:
        """Analysis pixels per tracking pixel, along the longer side."""
        view = self.view
        return view.scale_x if view.track_width >= view.track_height else view.scale_y

    def gray(self) -> Gray:
        """Brightness at tracking size: uint8 (track_height, track_width), upright, square pixels.

        It is the decoder's own Y plane where the format has one; its range (16-235 or 0-255) is left as it is, because
        whoever follows a marker must bear a change of gain and offset anyway. It may lie in the decoder's memory,
        which the frame keeps alive: read it, never write to it.
        """
        if self._gray is None:
            self._gray = _upright(_fitted(luma(self._picture), self._lying_size()), self.view.rotation)
        return self._gray

    def small(self) -> Gray:
        """`gray` at a quarter of its size, by two exact halvings; made once."""
        if self._small is None:
            whole = self.gray()
            height, width = whole.shape
            whole = whole[: max(1, height // 4) * 4, : max(1, width // 4) * 4]
            for _ in range(2):
                size = (max(1, whole.shape[1] // 2), max(1, whole.shape[0] // 2))
                whole = cv2.resize(whole, size, interpolation=cv2.INTER_AREA)
            self._small = whole
        return self._small

    def chroma(self) -> Chroma:
        """Colour without brightness, at half of the tracking size: uint8 (h, w, 2), U and V; 128 is gray."""
        width, height = self._lying_size()
        size = (max(1, width // 2), max(1, height // 2))
        u, v = (cv2.resize(plane, size, interpolation=cv2.INTER_AREA) for plane in _chroma_planes(self._picture))
        return _upright(np.dstack([u, v]), self.view.rotation)

    def bgr(self) -> Bgr:
        """The analysis frame in colour: uint8 (frame_height, frame_width, 3), blue first."""
        size = turned_size(self.view.frame_width, self.view.frame_height, self.view.rotation)
        way = "AREA" if size[0] < self._picture.width else "BICUBIC"
        small = reformatted(self._picture, "bgr24", size, interpolation=way)
        return _upright(small.to_ndarray(), self.view.rotation)

    def planes(self) -> Planes:
        """The analysis frame in colour, as the encoder wants it; an odd side gets one more row or column."""
        view = self.view
        size = turned_size(view.frame_width, view.frame_height, view.rotation)
        return of_picture(self._picture, size, view.rotation)

    def _lying_size(self) -> tuple[int, int]:
        """Tracking size before the turn: shrinking first makes the turn cheap."""
        return turned_size(self.view.track_width, self.view.track_height, self.view.rotation)


def luma(picture: av.VideoFrame) -> Gray:
    """Brightness of a decoded picture as stored: uint8 (height, width); rows may be strided into the decoder's memory.

    Planar formats give their first plane without any conversion; more than eight bits lose the lowest ones. Packed,
    palette and RGB formats are converted.
    """
    plane = picture.planes[0] if picture.planes else None
    bits = _plain_luma_bits(picture.format.name)
    if plane is None or bits == 0 or plane.line_size <= 0:
        return reformatted(picture, "gray").to_ndarray()
    if bits == 8:
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        return rows[: picture.height, : picture.width]
    wide = np.frombuffer(memoryview(plane), "<u2").reshape(-1, plane.line_size // 2)
    return (wide[: picture.height, : picture.width] >> (bits - 8)).astype(np.uint8)


def _chroma_planes(picture: av.VideoFrame) -> list[npt.NDArray[Any]]:
    """U and V as stored, at whatever size they have; only 8-bit planar 4:2:0 is read without a conversion."""
    if picture.format.name not in ("yuv420p", "yuvj420p"):
        picture = reformatted(picture, "yuv420p")
    size = ((picture.height + 1) // 2, (picture.width + 1) // 2)
    planes = (np.frombuffer(memoryview(p), np.uint8).reshape(-1, p.line_size) for p in picture.planes[1:3])
    return [plane[: size[0], : size[1]] for plane in planes]


@cache
def _plain_luma_bits(name: str) -> int:
    """Bits per sample if plane 0 holds brightness alone, one sample per pixel, low bits used; 0 otherwise."""
    form = av.VideoFormat(name)
    parts = form.components
    if form.is_rgb or form.has_palette or form.is_bit_stream or not parts or not parts[0].is_luma:
        return 0
    if any(part.plane == 0 for part in parts[1:]) or form.name.startswith(("p0", "p2", "p4", "nv20")):
        return 0  # packed, or samples in the high bits
    bits = parts[0].bits
    return bits if bits == 8 or (8 < bits <= 16 and not form.is_big_endian) else 0


def _fitted(gray: Gray, size: tuple[int, int]) -> Gray:
    """`gray` at (width, height) `size`; the same array, in the decoder's memory, where nothing has to be done.

    Even sizes are halved exactly (four pixels averaged into one) and the rest is interpolated: a third of the time of
    an area average over a crooked ratio, and nothing is skipped because each step shrinks by two at most.
    """
    if (gray.shape[1], gray.shape[0]) == size:
        return gray
    while _halves(gray, size):
        gray = cv2.resize(gray, (gray.shape[1] // 2, gray.shape[0] // 2), interpolation=cv2.INTER_AREA)
    crooked = gray.shape[1] > 2 * size[0] or gray.shape[0] > 2 * size[1]
    return cv2.resize(gray, size, interpolation=cv2.INTER_AREA if crooked else cv2.INTER_LINEAR)


def _halves(gray: Gray, size: tuple[int, int]) -> bool:
    height, width = gray.shape
    return bool(width % 2 == 0 and height % 2 == 0 and width >= 2 * size[0] and height >= 2 * size[1])


def _upright(picture: npt.NDArray[Any], rotation: int) -> npt.NDArray[Any]:
    return picture if rotation == 0 else cv2.rotate(picture, _TURNS[rotation])
