"""Files that a person may upload, made on the spot: good ones, broken ones, and ones that mean harm."""

from __future__ import annotations

import io
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np


def mp4(frames: int = 12, width: int = 160, height: int = 120, *, faststart: bool = True) -> bytes:
    """H.264: a textured square that moves one pixel a frame over a textured ground."""
    ground = np.random.default_rng(5).integers(60, 120, (height, width, 3), dtype=np.uint8)
    square = np.random.default_rng(6).integers(140, 255, (24, 24, 3), dtype=np.uint8)
    options = {"movflags": "+faststart"} if faststart else {}
    with (
        tempfile.NamedTemporaryFile(suffix=".mp4") as out,  # the index is moved by reading the file again
        av.open(out.name, "w", format="mp4", container_options=options) as container,
    ):
        stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast", "crf": "18"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for n in range(frames):
            picture = ground.copy()
            x = 10 + n % (width - 40)
            picture[20:44, x : x + 24] = square
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = n, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        container.close()
        return Path(out.name).read_bytes()


def wide(width: int = 16384, height: int = 1024) -> bytes:
    """A few kilobytes that unfold to a giant raster."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        frame = av.VideoFrame(width, height, "yuv420p")
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        for n in range(2):
            frame.pts, frame.time_base = n, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def sound() -> bytes:
    """A second of silence in an MP4 without a picture."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=16000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 16000), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16000
        frame.pts = 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def playlist(target: str) -> bytes:
    """A play list that would make a careless decoder read `target`."""
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{target}\n#EXT-X-ENDLIST\n".encode()


def concat_script(target: str) -> bytes:
    return f"ffconcat version 1.0\nfile '{target}'\n".encode()
