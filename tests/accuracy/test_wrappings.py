"""One movie in many wrappings gives one track (B06, B07, B08, B16, B29)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from tests.support.accuracy import trace
from tests.support.movies import write_movie
from tracer import synthetic
from tracer.model import Marker, TraceRequest
from tracer.synthetic import Scene

SAME = 0.3  # analysis pixels
FRAMES, SEED = 24, 31
_FINE = {"preset": "ultrafast", "crf": "12"}


@dataclass(frozen=True)
class Wrapping:
    """How the pictures are stored, and what has to be done to them so that they look the same in the end."""

    suffix: str
    codec: str = "libx264"
    pix_fmt: str = "yuv420p"
    options: dict[str, str] = field(default_factory=lambda: _FINE)
    fragmented: bool = False
    seconds_apart: int | None = None
    rotation: int = 0
    aspect: Fraction | None = None
    cropped: int = 0  # columns and rows less at the right and below


WRAPPINGS = {
    "fragmented": Wrapping("mp4", options={**_FINE, "g": "8"}, fragmented=True),
    "long group of pictures with B frames": Wrapping("mkv", options={**_FINE, "g": "250", "bf": "8", "b-adapt": "0"}),
    "motion jpeg": Wrapping("avi", "mjpeg", "yuvj420p", {"qmin": "2", "qmax": "3"}),
    "vp9": Wrapping("webm", "libvpx-vp9", options={"crf": "14", "b": "0", "deadline": "realtime", "cpu-used": "8"}),
    "hevc, 10 bit": Wrapping(
        "mp4", "libx265", "yuv420p10le", {"preset": "ultrafast", "crf": "12", "x265-params": "log-level=none:pools=1"}
    ),
    "odd size": Wrapping("mp4", pix_fmt="yuv444p", cropped=1),
    "turned by its flag": Wrapping("mp4", rotation=90),
    "upside down by its flag": Wrapping("mp4", rotation=180),
    "oblong pixels": Wrapping("mp4", aspect=Fraction(4, 5)),
    "one frame a minute": Wrapping("mp4", seconds_apart=60),
}


@pytest.fixture(scope="module")
def scene() -> Scene:
    return synthetic.scene("circumnutation", SEED, FRAMES)


@pytest.fixture(scope="module")
def pictures(scene: Scene) -> list[npt.NDArray[np.uint8]]:
    return list(scene.pictures())


@pytest.fixture(scope="module")
def plain(
    scene: Scene, pictures: list[npt.NDArray[np.uint8]], tmp_path_factory: pytest.TempPathFactory
) -> npt.NDArray[np.float64]:
    path = write_movie(tmp_path_factory.mktemp("plain") / "film.mp4", pictures, options=_FINE)
    return track(scene.markers, path)


def track(markers: tuple[Marker, ...], path: Path) -> npt.NDArray[np.float64]:
    """(frames, markers, 2); a marker that is not seen has no place."""
    results = trace(TraceRequest(markers), path)
    assert len(results) == FRAMES
    seen = np.stack([result.status for result in results]).astype(bool)
    return np.where(seen[..., None], np.stack([result.points for result in results]), np.nan)


# This encoder takes longer than all the others together.
_SLOW = {"hevc, 10 bit"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in _SLOW)) for n in WRAPPINGS])
def test_a_wrapping_changes_no_track(
    name: str,
    scene: Scene,
    pictures: list[npt.NDArray[np.uint8]],
    plain: npt.NDArray[np.float64],
    tmp_path: Path,
) -> None:
    how = WRAPPINGS[name]
    path = write_movie(
        tmp_path / f"film.{how.suffix}",
        stored(how, pictures),
        codec=how.codec,
        pix_fmt=how.pix_fmt,
        times=None if how.seconds_apart is None else [n * how.seconds_apart for n in range(FRAMES)],
        time_base=Fraction(1, 20) if how.seconds_apart is None else Fraction(1),
        rotation=how.rotation,
        aspect=how.aspect,
        options=how.options,
        fragmented=how.fragmented,
    )
    enlarged = 640 / (640 - how.cropped)  # what is cropped is made up for: the longer side is always 640
    markers = tuple(
        Marker(m.marker_id, m.label, (m.x + 0.5) * enlarged - 0.5, (m.y + 0.5) * enlarged - 0.5) for m in scene.markers
    )
    found = (track(markers, path) + 0.5) / enlarged - 0.5
    away = np.hypot(*np.moveaxis(found - plain, -1, 0))
    assert np.isfinite(away).all()
    assert away.max() < SAME


def stored(how: Wrapping, pictures: list[npt.NDArray[np.uint8]]) -> Iterator[npt.NDArray[np.uint8]]:
    """The pictures as they lie in the file."""
    back = {90: cv2.ROTATE_90_COUNTERCLOCKWISE, 180: cv2.ROTATE_180}
    for picture in pictures:
        height, width = picture.shape[:2]
        kept = picture[: height - how.cropped, : width - how.cropped]
        if how.rotation:
            kept = cv2.rotate(kept, back[how.rotation]).astype(np.uint8)
        if how.aspect is not None:
            squeezed = (round(width / how.aspect), height)
            kept = cv2.resize(kept, squeezed, interpolation=cv2.INTER_AREA).astype(np.uint8)
        yield np.ascontiguousarray(kept)
