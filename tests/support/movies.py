"""Small movies made to order, and the real ones that lie beside the repository."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest

DATA = Path(__file__).parents[2].parent / "shared" / "data"


def real_movie(name: str) -> Path:
    """A movie of `<repo>/../shared/data`, or the test is skipped with the reason."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the real movies are not here: {path} is absent")
    return path


def write_movie(
    path: Path,
    pictures: Iterable[npt.NDArray[Any]],
    *,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    times: Sequence[int] | None = None,
    time_base: Fraction = Fraction(1, 20),
    rotation: int = 0,
    aspect: Fraction | None = None,
    options: dict[str, str] | None = None,
    front: bool = False,
    fragmented: bool = False,
) -> Path:
    """Encode BGR pictures; `rotation` is the file's clockwise flag, `times` are timestamps in units of `time_base`,
    `front` puts the index of an MP4 in front, `fragmented` cuts one into pieces with an index each.
    """
    flags = "+faststart" if front else "+frag_keyframe+empty_moov+default_base_moof" if fragmented else ""
    with av.open(str(path), "w", container_options={"movflags": flags} if flags else {}) as container:
        stream = None
        for number, bgr in enumerate(pictures):
            if stream is None:
                stream = container.add_stream(codec, rate=20, options=options or {})
                stream.height, stream.width = bgr.shape[:2]
                stream.pix_fmt = pix_fmt
                stream.codec_context.time_base = time_base
                if aspect is not None:
                    stream.codec_context.sample_aspect_ratio = aspect
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(bgr), format="bgr24")
            picture.pts, picture.time_base = (number if times is None else times[number]), time_base
            container.mux(stream.encode(picture))
        if stream is not None:
            container.mux(stream.encode(None))
    if rotation:
        _set_rotation_flag(path, rotation)
    return path


def _set_rotation_flag(path: Path, rotation: int) -> None:
    """Write the display matrix of a clockwise turn into the track header, as phones do (ISO 14496-12, 8.3.2)."""
    data = bytearray(path.read_bytes())
    matrix_at = data.index(b"tkhd") + 4 + 40
    a, b, c, d = {90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0)}[rotation]
    fixed = (a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
    data[matrix_at : matrix_at + 36] = struct.pack(">9i", *fixed)
    path.write_bytes(data)


def textured(width: int, height: int, seed: int = 0) -> npt.NDArray[Any]:
    """A still BGR picture with detail at several scales, so that every place in it can be told from its neighbours."""
    import cv2

    rng = np.random.default_rng(seed)
    field = np.zeros((height, width), np.float32)
    for size in (4, 9, 24):
        coarse = rng.normal(0, 1, (height // size + 2, width // size + 2)).astype(np.float32)
        field += cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    gray = np.clip(128 + 34 * field, 0, 255).astype(np.uint8)
    return np.repeat(gray[..., None], 3, axis=2)


def sliding(width: int, height: int, frames: int, step: tuple[float, float], seed: int = 0) -> list[npt.NDArray[Any]]:
    """A window that moves over a big still picture: everything in it moves by minus `step` pixels a frame."""
    margin = int(frames * max(map(abs, step))) + 8
    big = textured(width + 2 * margin, height + 2 * margin, seed)
    starts = [(round(margin + n * step[0]), round(margin + n * step[1])) for n in range(frames)]
    return [big[y : y + height, x : x + width].copy() for x, y in starts]
