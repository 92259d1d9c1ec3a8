"""Write the labelled movie: the analysis frames with markers, their labels and the way they came."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
import cv2
import numpy as np
import numpy.typing as npt

from tracer.frames import Bgr
from tracer.model import Status

_SHIFT = 4  # cv2 draws at sixteenths of a pixel
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_LOST = (150, 150, 150)


class LabelledMovie:
    """H.264, yuv420p, index in front, so that every browser plays it while it loads.

    `labels` and `colors` ("#rrggbb") are in the order of the points. The picture is the analysis frame; an odd side
    gets one more row or column, so that coordinates stay true. Used as a context manager it leaves no half file after
    an error. Memory and time per frame do not grow with the length.
    """

    def __init__(
        self,
        path: str | Path,
        frame_width: int,
        frame_height: int,
        *,
        fps: float,
        labels: Sequence[str],
        colors: Sequence[str],
        preset: str = "veryfast",
        crf: int = 23,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self._path = Path(path)
        self._labels = [drawable(label) for label in labels]
        self._colors = [_bgr_of(color) for color in colors]
        width, height = frame_width + frame_width % 2, frame_height + frame_height % 2
        self._margins = (height - frame_height, width - frame_width)
        self._trail = np.zeros((frame_height, frame_width, 3), np.uint8)
        self._trodden = np.zeros((frame_height, frame_width), np.uint8)
        self._last: list[tuple[int, int] | None] = [None] * len(self._labels)
        self._frames = 0
        self._open = True
        self._container = av.open(str(self._path), "w", format="mp4", container_options={"movflags": "+faststart"})
        self._container.metadata.update(tags or {})
        self._rate = Fraction(fps if 0.1 <= fps <= 240 else 25.0).limit_denominator(1001)
        self._stream = self._container.add_stream(
            "libx264", rate=self._rate, options={"preset": preset, "crf": str(crf)}
        )
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        self._stream.codec_context.thread_count = 1

    def add(
        self, bgr: Bgr, points: npt.NDArray[np.float64] | None = None, status: npt.NDArray[np.int8] | None = None
    ) -> None:
        """One more frame. `points` (n, 2) analysis pixels and `status` (n,), or None for a picture without markers.

        `bgr` is not changed.
        """
        if points is not None and status is not None:
            bgr = self._drawn(bgr.copy(), points, status)
        bottom, right = self._margins
        if bottom or right:
            bgr = cv2.copyMakeBorder(bgr, 0, bottom, 0, right, cv2.BORDER_REPLICATE)
        picture = av.VideoFrame.from_ndarray(bgr, format="bgr24")
        picture.pts, picture.time_base = self._frames, 1 / self._rate
        self._container.mux(self._stream.encode(picture))
        self._frames += 1

    def close(self) -> None:
        """Finish the file. Without a single frame there is no movie, and no file is left."""
        if not self._open:
            return
        self._open = False
        if self._frames == 0:
            self._container.close()
            self._path.unlink(missing_ok=True)
            return
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def __enter__(self) -> LabelledMovie:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
            return
        self._open = False
        self._container.close()
        self._path.unlink(missing_ok=True)

    def _drawn(self, bgr: Bgr, points: npt.NDArray[np.float64], status: npt.NDArray[np.int8]) -> Bgr:
        spots = [_spot(x, y) for x, y in points]
        for n, spot in enumerate(spots):
            self._tread(n, spot, bool(status[n] == Status.SEEN))
        cv2.copyTo(self._trail, self._trodden, bgr)
        for n, spot in enumerate(spots):
            self._mark(bgr, n, spot, bool(status[n] == Status.SEEN))
        return bgr

    def _tread(self, n: int, spot: tuple[int, int], seen: bool) -> None:
        """Draw the newest step of the trail. Nobody saw a lost marker move, so its trail has a gap."""
        before, self._last[n] = self._last[n], spot if seen else None
        if before is None or not seen:
            return
        cv2.line(self._trail, before, spot, self._colors[n], 1, cv2.LINE_8, _SHIFT)
        cv2.line(self._trodden, before, spot, 255, 1, cv2.LINE_8, _SHIFT)

    def _mark(self, bgr: Bgr, n: int, spot: tuple[int, int], seen: bool) -> None:
        color, radius = (self._colors[n], 4 << _SHIFT) if seen else (_LOST, 6 << _SHIFT)
        cv2.circle(bgr, spot, radius, (0, 0, 0), 3, cv2.LINE_AA, _SHIFT)
        cv2.circle(bgr, spot, radius, color, 1, cv2.LINE_AA, _SHIFT)
        x, y = spot[0] >> _SHIFT, spot[1] >> _SHIFT
        text = self._labels[n] if seen else f"{self._labels[n]} ?"
        (width, height), _ = cv2.getTextSize(text, _FONT, 0.4, 1)
        at = (min(x + 8, bgr.shape[1] - width - 2), max(y - 6, height + 2))
        cv2.putText(bgr, text, at, _FONT, 0.4, (0, 0, 0), 3, cv2.LINE_AA)
        cv2.putText(bgr, text, at, _FONT, 0.4, color, 1, cv2.LINE_AA)


def drawable(label: str) -> str:
    """`label` in the characters that the built-in font has: accents are dropped, the rest becomes "?"."""
    plain = unicodedata.normalize("NFKD", label.replace("ß", "ss").replace("ł", "l").replace("Ł", "L"))
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return "".join(c if " " <= c <= "~" else "?" for c in bare)


def _spot(x: float, y: float) -> tuple[int, int]:
    return round(x * (1 << _SHIFT)), round(y * (1 << _SHIFT))


def _bgr_of(color: str) -> tuple[int, int, int]:
    """ "#rrggbb" as cv2 wants it; anything else is drawn red rather than refused."""
    digits = color.removeprefix("#")
    try:
        red, green, blue = bytes.fromhex(digits)
    except ValueError:
        return 0, 0, 255
    return blue, green, red
