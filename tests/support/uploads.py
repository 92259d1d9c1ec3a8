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


def greedy(width: int = 2400, height: int = 1800, frames: int = 20) -> bytes:
    """Small frames that the decoder must all keep: sixteen references in full colour, 220 MB at this size."""
    out = io.BytesIO()
    options = {"preset": "ultrafast", "bf": "0", "g": "250", "x264-params": "ref=16"}
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv444p"
        for n in range(frames):
            container.mux(stream.encode(_plain_frame(width, height, "yuv444p", n)))
        container.mux(stream.encode(None))
    return out.getvalue()


def slow(width: int = 4000, height: int = 4000, frames: int = 2000) -> bytes:
    """One whole picture over and over: seven megabytes that take most of a minute to decode."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=25, options={"preset": "superfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        (packet,) = [*stream.encode(_plain_frame(width, height, "yuv420p", 0)), *stream.encode(None)]
        body = bytes(packet)
        for n in range(frames):
            again = av.Packet(body)
            again.stream, again.time_base, again.is_keyframe = stream, Fraction(1, 25), True
            again.pts = again.dts = n
            container.mux(again)
    return out.getvalue()


def _plain_frame(width: int, height: int, form: str, number: int) -> av.VideoFrame:
    frame = av.VideoFrame(width, height, form)
    for plane in frame.planes:
        plane.update(bytes([16 + 9 * number % 200]) * plane.buffer_size)
    frame.pts, frame.time_base = number, Fraction(1, 25)
    return frame
