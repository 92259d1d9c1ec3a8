"""A picture as video codecs keep it: full brightness, colour at half the resolution (4:2:0, limited range).

Drawing and encoding in this form spares the two conversions to RGB and back, which cost more than the drawing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import av
import cv2
import numpy as np
import numpy.typing as npt

Plane = npt.NDArray[Any]
_TURNS = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, 270: cv2.ROTATE_90_COUNTERCLOCKWISE}
_FULL_RANGE = 2  # AVCOL_RANGE_JPEG


class Planes(NamedTuple):
    """uint8 `y` (height, width) and `u`, `v` (height / 2, width / 2), height and width even."""

    y: Plane
    u: Plane
    v: Plane


def reformatted(picture: av.VideoFrame, pixels: str, size: tuple[int, int] | None = None, **how: Any) -> av.VideoFrame:
    """The picture with other pixels and, if given, at another (width, height), computed in this thread alone.

    Left to itself the converter starts a thread for each core of the machine.
    """
    width, height = size or (None, None)
    same: av.VideoFrame = picture.reformat(width=width, height=height, format=pixels, threads=1, **how)
    return same


def of_picture(picture: av.VideoFrame, size: tuple[int, int], rotation: int) -> Planes:
    """A decoded picture at (width, height) `size` before its clockwise turn by `rotation`.

    An odd side gets one more row or column at the lower right, so that coordinates stay true.
    """
    width, height = size
    if picture.format.name == "yuv420p" and picture.color_range != _FULL_RANGE:
        planes = [_rows(picture, n) for n in range(3)]
    else:
        way = "AREA" if width < picture.width else "BILINEAR"
        same = reformatted(picture, "yuv420p", size, interpolation=way, dst_color_range="MPEG")
        planes = [_rows(same, n) for n in range(3)]
    half = ((width + 1) // 2, (height + 1) // 2)
    turned = [_turned(_sized(plane, s), rotation) for plane, s in zip(planes, (size, half, half), strict=True)]
    y = turned[0]
    if y.shape[0] % 2 or y.shape[1] % 2:
        y = cv2.copyMakeBorder(y, 0, y.shape[0] % 2, 0, y.shape[1] % 2, cv2.BORDER_REPLICATE)
    return Planes(y, turned[1], turned[2])


def of_bgr(bgr: Plane) -> Planes:
    """A picture in blue, green, red of any size."""
    height, width = bgr.shape[:2]
    even = cv2.copyMakeBorder(bgr, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE)
    height, width = even.shape[:2]
    flat = cv2.cvtColor(even, cv2.COLOR_BGR2YUV_I420).ravel()
    quarter = height * width // 4
    y, u, v = np.split(flat, [4 * quarter, 5 * quarter])
    return Planes(y.reshape(height, width), u.reshape(height // 2, width // 2), v.reshape(height // 2, width // 2))


def color_of_bgr(blue: int, green: int, red: int) -> tuple[int, int, int]:
    """One colour as y, u, v."""
    planes = of_bgr(np.full((2, 2, 3), (blue, green, red), np.uint8))
    return int(planes.y[0, 0]), int(planes.u[0, 0]), int(planes.v[0, 0])


def to_picture(planes: Planes) -> av.VideoFrame:
    """A frame for the encoder."""
    height, width = planes.y.shape
    picture = av.VideoFrame(width, height, "yuv420p")
    for plane, rows in zip(picture.planes, planes, strict=True):
        memory = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        memory[: rows.shape[0], : rows.shape[1]] = rows
    return picture


def _rows(picture: av.VideoFrame, n: int) -> Plane:
    plane = picture.planes[n]
    return np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]


def _sized(plane: Plane, size: tuple[int, int]) -> Plane:
    """Always its own memory: the decoder may reuse its buffer."""
    if (plane.shape[1], plane.shape[0]) == size:
        return plane.copy()
    shrinks = size[0] < plane.shape[1] or size[1] < plane.shape[0]
    return cv2.resize(plane, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)


def _turned(plane: Plane, rotation: int) -> Plane:
    return plane if rotation == 0 else cv2.rotate(plane, _TURNS[rotation])
