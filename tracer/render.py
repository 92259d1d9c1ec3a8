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
from av.video.stream import VideoStream

from tracer.model import Status
from tracer.planes import Plane, Planes, color_of_bgr, to_picture

_SHIFT = 4  # cv2 draws at sixteenths of a pixel
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_TEXT = 0.4
_PAD = 4  # pixels of shadow around the words
_BLACK = color_of_bgr(0, 0, 0)
_WHITE = color_of_bgr(255, 255, 255)[0]
_LOST = color_of_bgr(150, 150, 150)
_TICK = Fraction(1, 90_000)  # seconds: fine enough for every camera's clock
_LONGEST = 3600.0  # seconds between two frames: a broken clock must not lead beyond what the file format can tell
Spot = tuple[float, float]
# No frame waits for a later one: a browser steps exactly, a quarter of the encoder's time is spared, and a plant's
# movie, which changes little from frame to frame, grows by nothing.
_CHEAP = {"bf": "0", "rc-lookahead": "5"}


class LabelledMovie:
    """H.264, yuv420p, index in front, so that every browser plays it while it loads. Its frames are the given ones, one
    for one, as far apart in time as theirs.

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
        threads: int = 1,
    ) -> None:
        self._path = Path(path)
        self._labels = [drawable(label) for label in labels]
        self._colors = [_shades_of(color) for color in colors]
        width, height = frame_width + frame_width % 2, frame_height + frame_height % 2
        self._trail = [_Layer(width >> half, height >> half) for half in (0, 1, 1)]
        self._last: list[Spot | None] = [None] * len(self._labels)
        self._frames = 0
        self._time: float | None = None
        self._now = 0.0  # when the last frame is shown; `_time` is what was told of it
        self._usual = 1 / fps if 0.1 <= fps <= 240 else 0.04
        self._open = True
        self._container = av.open(str(self._path), "w", format="mp4", container_options={"movflags": "+faststart"})
        self._container.metadata.update(tags or {})
        rate = Fraction(1 / self._usual).limit_denominator(1001)
        options = {"preset": preset, "crf": str(crf), **_CHEAP}
        self._stream = self._container.add_stream("libx264", rate=rate, options=options)
        self._stream.codec_context.time_base = _TICK
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        # Whole frames side by side: slices, the default, gain half as much and cost picture quality.
        self._stream.codec_context.thread_type = "FRAME"
        self._stream.codec_context.thread_count = threads

    def add(
        self,
        planes: Planes,
        points: npt.NDArray[np.float64] | None = None,
        status: npt.NDArray[np.int8] | None = None,
        *,
        time: float | None = None,
    ) -> None:
        """One more frame. `points` (n, 2) analysis pixels and `status` (n,), or None for a picture without markers.

        `time` is the frame's own in seconds; without one, or where it is not later than the last, `fps` tells.
        The planes are drawn on: they are the frame's own copy. Raises ValueError for another size than the movie's,
        MemoryError where the encoder gets none.
        """
        if planes.y.shape != (self._stream.height, self._stream.width):
            raise ValueError("every frame of a movie has the same size")
        if points is not None and status is not None:
            self._draw(planes, points, status)
        picture = to_picture(planes)
        picture.pts, picture.time_base = round(self._next(time) / _TICK), _TICK
        picture.duration = round(self._usual / _TICK)
        self._container.mux(self._encoded(picture))
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
        self._container.mux(self._encoded(None))
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

    def _next(self, time: float | None) -> float:
        """When the frame is shown, seconds."""
        if self._frames:
            gap = 0.0 if time is None or self._time is None else time - self._time
            self._now += min(gap, _LONGEST) if gap >= _TICK else self._usual
        self._time = time
        return self._now

    def _encoded(self, picture: av.VideoFrame | None) -> list[av.Packet[VideoStream]]:
        try:
            return self._stream.encode(picture)
        except av.error.ExternalError as fault:
            # The encoder says no more than that; since its settings are always the same, memory is what it lacks.
            raise MemoryError from fault

    def _draw(self, planes: Planes, points: npt.NDArray[np.float64], status: npt.NDArray[np.int8]) -> None:
        seen = [bool(one == Status.SEEN) for one in status]
        for n, (x, y) in enumerate(points):
            self._tread(n, (float(x), float(y)), seen[n])
        for layer, plane in zip(self._trail, planes, strict=True):
            layer.cover(plane)
        for n, (x, y) in enumerate(points):
            self._mark(planes, n, (float(x), float(y)), seen[n])

    def _tread(self, n: int, spot: Spot, seen: bool) -> None:
        """Draw the newest step of the trail. Nobody saw a lost marker move, so its trail has a gap."""
        before, self._last[n] = self._last[n], spot if seen else None
        if before is None or not seen:
            return
        for half, layer, shade in zip((0, 1, 1), self._trail, self._colors[n], strict=True):
            layer.line(_at(before, half), _at(spot, half), shade)

    def _mark(self, planes: Planes, n: int, spot: Spot, seen: bool) -> None:
        color, radius = (self._colors[n], 4) if seen else (_LOST, 6)
        text = self._labels[n] if seen else f"{self._labels[n]} ?"
        (width, height), _ = cv2.getTextSize(text, _FONT, _TEXT, 1)
        room = spot[0] + 10 + width + _PAD <= planes.y.shape[1]
        left = spot[0] + 10 if room else max(_PAD, spot[0] - 10 - width)
        base = max(spot[1] - 6, height + _PAD)
        for half, plane, shade, dark in zip((0, 1, 1), planes, color, _BLACK, strict=True):
            size = (radius << _SHIFT) >> half
            cv2.circle(plane, _at(spot, half), size, dark, 3 - half, cv2.LINE_AA, _SHIFT)
            cv2.circle(plane, _at(spot, half), size, shade, 1, cv2.LINE_AA, _SHIFT)
        # The words are white on a shadow, in brightness alone; the ring has the colour.
        x, y = round(left), round(base)
        shadow = planes.y[max(0, y - height - _PAD) : y + _PAD + 1, x - _PAD : x + width + _PAD]
        np.right_shift(shadow, 2, out=shadow)
        cv2.putText(planes.y, text, (x, y), _FONT, _TEXT, _WHITE, 1, cv2.LINE_AA)


class _Layer:
    """What was drawn so far on one plane, so that a frame costs the same at any length of the trail."""

    def __init__(self, width: int, height: int) -> None:
        self._ink = np.zeros((height, width), np.uint8)
        self._mask = np.zeros((height, width), np.uint8)

    def line(self, start: tuple[int, int], end: tuple[int, int], shade: int) -> None:
        cv2.line(self._ink, start, end, shade, 1, cv2.LINE_8, _SHIFT)
        cv2.line(self._mask, start, end, 255, 1, cv2.LINE_8, _SHIFT)

    def cover(self, plane: Plane) -> None:
        cv2.copyTo(self._ink, self._mask, plane)


def drawable(label: str) -> str:
    """`label` in the characters that the built-in font has: accents are dropped, the rest becomes "?"."""
    plain = unicodedata.normalize("NFKD", label.replace("ß", "ss").replace("ł", "l").replace("Ł", "L"))
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return "".join(c if " " <= c <= "~" else "?" for c in bare)


def _at(spot: Spot, half: int) -> tuple[int, int]:
    """A place on a plane of full (0) or half (1) resolution, in the fractions that cv2 draws at."""
    scale = (1 << _SHIFT) / (1 + half)
    shift = 0.5 * half  # the centre of a half-size pixel lies between four
    return round((spot[0] - shift) * scale), round((spot[1] - shift) * scale)


def _shades_of(color: str) -> tuple[int, int, int]:
    """ "#rrggbb" as y, u, v; anything else is drawn red rather than refused."""
    digits = color.removeprefix("#")
    try:
        red, green, blue = bytes.fromhex(digits)
    except ValueError:
        red, green, blue = 255, 0, 0
    return color_of_bgr(blue, green, red)
