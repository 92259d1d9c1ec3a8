"""Codecs, rotation flags and sizes of many cameras, each followed to its end (A02, B06, B07, B16, B32)."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from click.testing import CliRunner

from service.cli.trace import trace
from tests.support.movies import sliding, textured, write_movie
from tracer.errors import TooManyPixels
from tracer.follow import Follower
from tracer.media import inspect, open_movie
from tracer.model import FrameResult, Limits, Marker, TraceRequest

SLIDE = (2.0, 1.0)


def followed(path: Path, marker: Marker) -> list[FrameResult]:
    follower = Follower(TraceRequest((marker,)))
    with open_movie(path) as movie:
        return [result for frame in movie.frames() if (result := follower.step(frame)) is not None]


CODECS = {
    "h264 b17": ("m.mp4", "libx264", "yuv420p", True),
    "hevc b16": ("m.mp4", "libx265", "yuv420p", False),
    "hevc of ten bits b16": ("m.mov", "libx265", "yuv420p10le", False),
    "hevc of full range b16": ("m.mp4", "libx265", "yuvj420p", False),
    "av1 b16": ("m.mkv", "libsvtav1", "yuv420p", True),
    "av1 in mp4 b16": ("m.mp4", "libsvtav1", "yuv420p10le", False),
    "vp9": ("m.webm", "libvpx-vp9", "yuv420p", True),
    "motion jpeg of a scientific camera": ("m.avi", "mjpeg", "yuvj422p", False),
    "prores of a laboratory": ("m.mov", "prores", "yuv422p10le", False),
    "lossless": ("m.mkv", "ffv1", "yuv444p", False),
}


@pytest.mark.parametrize("name", CODECS)
def test_a_marker_is_followed_whatever_the_codec(name: str, tmp_path: Path) -> None:
    """Every frame decodes, and the marker ends where the picture's motion takes it."""
    file, codec, form, playable = CODECS[name]
    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV was built without {codec}")
    quiet = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    path = write_movie(tmp_path / file, sliding(320, 240, 8, SLIDE), codec=codec, pix_fmt=form, options=quiet)
    found = inspect(path)
    assert (found.decoded_frames, found.promised_frames, found.browser_playable) == (8, 8, playable)
    last = followed(path, Marker("a", "Apex", 320.0, 240.0))[-1]
    assert last.frame_number == 7
    assert last.status[0] == 1
    assert last.points[0] == pytest.approx([320 - 7 * 4, 240 - 7 * 2], abs=1.0)  # the analysis frame is twice as large


@pytest.mark.parametrize("flag", [90, 180, 270])
def test_a_turned_copy_of_a_movie_is_traced_alike(flag: int, tmp_path: Path) -> None:
    """B06, B07: filmed lying on its side, with the flag that sets it upright."""
    upright = sliding(320, 240, 10, SLIDE)
    lying = [np.rot90(picture, flag // 90) for picture in upright]
    plain = write_movie(tmp_path / "plain.mp4", upright, options={"crf": "8"})
    turned = write_movie(tmp_path / "turned.mov", lying, rotation=flag, options={"crf": "8"})
    marker = Marker("a", "Apex", 300.0, 200.0)
    ways = [np.stack([result.points[0] for result in followed(path, marker)]) for path in (plain, turned)]
    assert np.abs(ways[0] - ways[1]).max() < 0.25


@pytest.mark.parametrize("size", [(480, 360), (1920, 1080), (360, 640)])
def test_a_place_near_the_corner_survives_the_way_through_every_file(size: tuple[int, int], tmp_path: Path) -> None:
    """A02: placed at (10, 10) of the source, told from the lower left of the analysis frame, drawn where it was."""
    picture = textured(size[0] // 4, size[1] // 4).repeat(4, 0).repeat(4, 1) // 4
    path = write_movie(tmp_path / "m.mp4", [picture] * 2, options={"preset": "ultrafast"})
    out = {kind: tmp_path / f"o.{kind}" for kind in ("json", "csv", "mp4")}
    options = [str(item) for kind, file in out.items() for item in (f"--{kind}", file)]
    result = CliRunner().invoke(trace, [str(path), "--marker", "Apex=10,10", *options])
    assert result.exit_code == 0, result.output
    document = json.loads(out["json"].read_text())
    scale, height = 640 / max(size), document["movie"]["frame_height"]
    x, y = 10.5 * scale - 0.5, 10.5 * scale - 0.5
    placed = document["trackpoint_dicts"][0]
    assert (placed["x"], height - placed["y"]) == pytest.approx((x, y), abs=1e-3)
    assert out["csv"].read_text().splitlines()[1] == f"0,{placed['x']:.10g},{placed['y']:.10g}"
    with open_movie(out["mp4"]) as labelled:
        shown = next(labelled.frames()).bgr().astype(int)
    rows, columns = np.nonzero((shown[..., 0] - shown[..., 2])[:40, :40] > 60)  # the ring is blue
    assert ((columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2) == pytest.approx((x, y), abs=1.5)


def joined(path: Path, parts: Sequence[list[np.ndarray[Any, Any]]]) -> Path:
    """A transport stream whose parts were encoded apart, each with a size of its own, as some cameras write."""
    packets = []
    for part in parts:
        one = io.BytesIO()
        height, width = part[0].shape[:2]
        with av.open(one, "w", format="mpegts") as container:
            stream = container.add_stream("libx264", rate=20, options={"preset": "ultrafast", "tune": "zerolatency"})
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            for n, picture in enumerate(part):
                frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
                frame.pts, frame.time_base = n, Fraction(1, 20)
                packets += [bytes(packet) for packet in stream.encode(frame)]
            packets += [bytes(packet) for packet in stream.encode(None)]
    with av.open(str(path), "w", format="mpegts") as container:
        stream = container.add_stream("libx264", rate=20)
        stream.height, stream.width = parts[0][0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for n, body in enumerate(packets):
            packet = av.Packet(body)
            packet.stream, packet.time_base, packet.pts, packet.dts = stream, Fraction(1, 20), n, n
            container.mux(packet)
    return path


def test_frames_that_change_their_size_keep_the_first_ones_analysis_frame(tmp_path: Path) -> None:
    path = joined(tmp_path / "m.ts", [[textured(320, 240)] * 4, [textured(640, 480)] * 4])
    with open_movie(path) as movie:
        frames = list(movie.frames())
        assert (movie.frame_width, movie.frame_height) == (640, 480)
    assert len(frames) == 8
    assert {frame.gray().shape for frame in frames} == {(240, 320)}
    assert {frame.planes().y.shape for frame in frames} == {frame.bgr().shape[:2] for frame in frames} == {(480, 640)}


def test_frames_that_grow_beyond_the_limit_are_not_decoded_however_late_they_come(tmp_path: Path) -> None:
    """B32: seen when the file is opened, or else missing, which is said."""
    giants = [textured(1600, 1200)] * 4
    early = joined(tmp_path / "early.ts", [[textured(160, 120)] * 4, giants])
    with pytest.raises(TooManyPixels):
        inspect(early, limits=Limits(max_pixels=200_000))
    late = joined(tmp_path / "late.ts", [[textured(160, 120)] * 150, giants])
    found = inspect(late, limits=Limits(max_pixels=200_000))
    assert found.decoded_frames == 150
    assert any("damaged" in warning for warning in found.warnings)
