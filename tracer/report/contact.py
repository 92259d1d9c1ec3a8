"""The contact sheet: a few frames, evenly spread, each with the ways of the markers so far."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import cv2
import numpy as np

from tracer.frames import Frame
from tracer.report.way import Way, runs, thinned

_WIDTH = 420  # pixels of a tile's picture
_QUALITY = 80
_TRAIL = 300  # corners of a drawn way
_RING, _LINE = 11.0, 4.0  # analysis pixels at a 640-wide frame


@dataclass(frozen=True, slots=True)
class Tile:
    """One frame: its number, its time in seconds or None, and its picture as JPEG."""

    number: int
    time: float | None
    jpeg: bytes


class ContactSheet:
    """Keeps frames while they pass by, at most four times `tiles` at any time, however long the movie turns out to be.

    That many, so that those which are shown in the end are nearly evenly apart.
    """

    def __init__(self, tiles: int = 12) -> None:
        self._most = max(2, tiles)
        self._kept: list[Tile] = []
        self._passed = 0
        self._every = 1
        self._last: Frame | None = None

    def add(self, frame: Frame) -> None:
        if self._passed % self._every == 0:
            if len(self._kept) == 4 * self._most:  # from now on every other one
                self._kept = self._kept[::2]
                self._every *= 2
            if self._passed % self._every == 0:
                self._kept.append(_tile(frame))
        self._passed += 1
        self._last = frame

    def tiles(self) -> list[Tile]:
        """Evenly spread over the frames that were added; the first and the last are among them."""
        if self._last is None:
            return []
        kept = self._kept
        if kept[-1].number != self._last.number:
            kept = [*kept, _tile(self._last)]
        numbers = np.array([tile.number for tile in kept])
        wanted = np.linspace(numbers[0], numbers[-1], min(self._most, len(kept)))
        nearest = np.unique(np.abs(numbers - wanted[:, None]).argmin(axis=1))
        return [kept[place] for place in nearest]


def _tile(frame: Frame) -> Tile:
    bgr = frame.bgr()
    height = max(1, round(bgr.shape[0] * _WIDTH / bgr.shape[1]))
    if bgr.shape[1] > _WIDTH:
        bgr = cv2.resize(bgr, (_WIDTH, height), interpolation=cv2.INTER_AREA)
    ok, jpeg = cv2.imencode(".jpeg", bgr, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return Tile(frame.number, frame.time, jpeg.tobytes() if ok else b"")


def figure(tile: Tile, ways: Sequence[Way], size: tuple[int, int]) -> str:
    """The tile as an HTML figure; `size` is the analysis frame's width and height."""
    width, height = size
    unit = max(width, height) / 640
    drawn = "".join(_way(way, tile.number, unit) for way in ways)
    lost = [way.label for way in ways if not _seen_at(way, tile.number)]
    time = "" if tile.time is None else f" · {tile.time:.2f} s"
    note = f'<span class="lost">lost: {escape(", ".join(lost))}</span>' if lost else ""
    words = f"Frame {tile.number}" + (f"; lost: {', '.join(lost)}" if lost else "; every marker was seen")
    picture = base64.b64encode(tile.jpeg).decode()
    return (
        f'<figure><svg viewBox="-0.5 -0.5 {width} {height}" role="img" aria-label="{escape(words)}">'
        f'<image href="data:image/jpeg;base64,{picture}" x="-0.5" y="-0.5" width="{width}" height="{height}"'
        f' preserveAspectRatio="none"/>{drawn}</svg>'
        f"<figcaption><b>{tile.number}</b>{time} {note}</figcaption></figure>"
    )


def _seen_at(way: Way, number: int) -> bool:
    return bool(way.seen[way.frames == number].any())


def _way(way: Way, number: int, unit: float) -> str:
    """The way up to this frame, with gaps where the marker was lost, and a ring where it is; dashed: not seen."""
    here = int(np.searchsorted(way.frames, number, side="right"))
    if here == 0:
        return ""
    color = escape(way.color)
    lines = []
    for a, b in runs(way.seen[:here]):
        points = way.points[a:b]
        chosen = np.union1d(thinned(points[:, 0], _TRAIL), thinned(points[:, 1], _TRAIL))
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points[chosen])
        for width, stroke in ((2 * _LINE, "#000"), (_LINE, color)):
            faint = ' stroke-opacity=".35"' if stroke == "#000" else ""
            lines.append(
                f'<polyline points="{corners}" fill="none" stroke="{stroke}"{faint} stroke-width="{width * unit:.1f}"'
                ' stroke-linejoin="round" stroke-linecap="round"/>'
            )
    x, y = way.points[here - 1]
    ring = _RING * unit
    dash = "" if way.seen[here - 1] else f' stroke-dasharray="{ring / 2:.1f}"'
    lines.append(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{ring:.1f}" fill="none" stroke="#fff" stroke-width="{5 * unit:.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{ring:.1f}" fill="none" stroke="{color}"{dash}'
        f' stroke-width="{3 * unit:.1f}"/>'
    )
    return f"<g><title>{escape(way.label)}</title>{''.join(lines)}</g>"
