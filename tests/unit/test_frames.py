"""Gray and colour pictures from every kind of decoded frame."""

from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests.support.movies import textured, write_movie
from tracer.frames import Frame, luma
from tracer.geometry import View
from tracer.media import open_movie


def frame_of(picture: av.VideoFrame, rotation: int = 0) -> Frame:
    return Frame(0, 0.0, picture, View.of(picture.width, picture.height, rotation=rotation))


@pytest.mark.parametrize(
    "form", ["yuv420p", "yuvj420p", "yuv422p", "yuv444p10le", "yuv420p10le", "yuv420p10be", "nv12", "p010le", "gray",
             "yuyv422", "rgb24", "bgra", "gbrp"],
)  # fmt: skip
def test_every_pixel_format_gives_the_same_brightness(form: str) -> None:
    """Odd sizes, padded rows and ten bits included; the range may differ, the picture may not."""
    bgr = textured(94, 70)
    picture = av.VideoFrame.from_ndarray(bgr, format="bgr24").reformat(format=form)
    gray = luma(picture)
    assert gray.shape == (70, 94)
    assert gray.dtype == np.uint8
    assert np.corrcoef(gray.ravel(), bgr[..., 0].ravel())[0, 1] > 0.995


def test_ten_bits_lose_their_lowest_two() -> None:
    bgr = textured(96, 64)
    eight = luma(av.VideoFrame.from_ndarray(bgr, format="bgr24").reformat(format="yuv420p"))
    ten = luma(av.VideoFrame.from_ndarray(bgr, format="bgr24").reformat(format="yuv420p10le"))
    assert np.abs(eight.astype(int) - ten).max() <= 1


def test_odd_sizes_keep_their_last_row_and_column() -> None:
    bgr = np.zeros((45, 67, 3), np.uint8)
    bgr[44, 66] = 255
    assert luma(av.VideoFrame.from_ndarray(bgr, format="bgr24").reformat(format="yuv444p"))[44, 66] > 200


def test_the_gray_picture_outlives_the_frame_and_the_decoder(tmp_path: Path) -> None:
    """It may lie in the decoder's memory: that must stay as it is while later frames are decoded."""
    pictures = [np.full((64, 96, 3), 8 * n + 20, np.uint8) for n in range(20)]
    path = write_movie(tmp_path / "m.mp4", pictures, options={"crf": "1"})
    with open_movie(path) as movie:
        grays = [frame.gray() for frame in movie.frames()]
    levels = [float(gray.mean()) for gray in grays]
    assert levels == sorted(levels)
    assert np.diff(levels) == pytest.approx(8 * 219 / 255, abs=1.0)


@pytest.mark.parametrize("size", [(1920, 1080), (1080, 1440), (1024, 1024), (1001, 701), (2560, 1440)])
def test_shrinking_moves_nothing(size: tuple[int, int]) -> None:
    """A blurred spot lies at the same place, by pixel centres, before and after."""
    width, height = size
    spot = (0.37 * width, 0.61 * height)
    ys, xs = np.mgrid[:height, :width]
    gray = (20 + 200 * np.exp(-((xs - spot[0]) ** 2 + (ys - spot[1]) ** 2) / (2 * 12.0**2))).astype(np.uint8)
    small = frame_of(av.VideoFrame.from_ndarray(gray, format="gray")).gray().astype(float) - 20
    small[small < 3] = 0
    found = [small.sum(axis) @ np.arange(small.shape[1 - axis]) / small.sum() for axis in (0, 1)]
    expected = [(c + 0.5) * n / s - 0.5 for c, n, s in zip(spot, small.shape[::-1], size, strict=True)]
    assert found == pytest.approx(expected, abs=0.06)


def test_colour_comes_at_analysis_size_even_if_that_is_larger() -> None:
    frame = frame_of(av.VideoFrame.from_ndarray(textured(160, 120), format="bgr24"))
    assert frame.bgr().shape == (480, 640, 3)
    assert frame.gray().shape == (120, 160)
    assert frame.scale == 4.0
    enlarged = cv2.resize(textured(160, 120), (640, 480), interpolation=cv2.INTER_CUBIC)
    assert np.abs(frame.bgr().astype(int) - enlarged).mean() < 3
