"""Curves over frames as SVG, in the colours of the markers. Lost stretches are gaps, and bars along the top."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np
import numpy.typing as npt

from tracer.report.way import Way, runs, thinned

_WIDTH, _HEIGHT = 860.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 10.0, 10.0, 28.0
_BARS, _BAR = 30.0, 6.0  # height for all bars at the most, and for one
_CORNERS = 1200  # of one curve: more than there are pixels across

Values = Callable[[Way], npt.NDArray[np.float64]]


def chart(ways: Sequence[Way], values: Values, name: str, unit: str, *, from_zero: bool = False) -> str:
    """One curve for each marker. `name` says what is shown, for those who cannot see it."""
    frames = [int(frame) for way in ways if len(way.frames) for frame in way.frames[[0, -1]]]
    shown = [values(way)[way.seen] for way in ways if way.seen.any()]
    if not frames or not shown:
        return ""
    first, last = min(frames), max(max(frames), min(frames) + 1)
    low = 0.0 if from_zero else min(float(one.min()) for one in shown)
    high = max(float(one.max()) for one in shown)
    marks = ticks(low, high if high > low else low + 1)
    low, high = min(low, marks[0]), max(high, marks[-1])
    if any(not way.seen.all() for way in ways):
        high += (high - low) * _BARS / (_HEIGHT - _TOP - _BOTTOM - _BARS)  # room for the bars

    def across(frame: float) -> float:
        return _LEFT + (frame - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [_grid(marks, up), *(_frame_mark(mark, across) for mark in ticks(first, last) if first <= mark <= last)]
    parts += _bars(ways, across)
    parts += [_curve(way, values(way), across, up) for way in ways]
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{escape(name)}">'
        f'{"".join(parts)}<text x="{_LEFT - 8:g}" y="{_TOP + 4:g}" class="unit" text-anchor="end">{escape(unit)}</text>'
        f'<text x="{_WIDTH - _RIGHT:g}" y="{_HEIGHT - 4:g}" text-anchor="end">frame</text></svg>'
    )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that cover low to high, some `about` of them; 1, 2 or 5 times a power of ten apart."""
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((n * power for n in (1, 2, 5) if n * power >= rough), 10 * power)
    start = math.floor(low / step + 1e-9)
    return [n * step for n in range(start, math.ceil(high / step - 1e-9) + 1)]


def _grid(marks: Sequence[float], up: Callable[[float], float]) -> str:
    lines = []
    for mark in marks[:-1]:  # the uppermost place is the unit's
        y = up(mark)
        lines.append(
            f'<line x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{mark:.6g}</text>'
        )
    return "".join(lines)


def _frame_mark(mark: float, across: Callable[[float], float]) -> str:
    x, base = across(mark), _HEIGHT - _BOTTOM
    if x > _WIDTH - 70:  # the word "frame" stands there
        return ""
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{base:g}" y2="{base + 4:g}" class="grid"/>'
        f'<text x="{x:.1f}" y="{_HEIGHT - 4:g}" text-anchor="middle">{mark:.6g}</text>'
    )


def _bars(ways: Sequence[Way], across: Callable[[float], float]) -> list[str]:
    """One row for each marker that was lost at all."""
    losers = [way for way in ways if not way.seen.all()]
    height = min(_BAR, _BARS / max(1, len(losers)))
    bars = []
    for row, way in enumerate(losers):
        for a, b in way.lost_spans():
            left, right = max(_LEFT, across(a - 0.5)), min(_WIDTH - _RIGHT, across(b + 0.5))
            bars.append(
                f'<rect x="{left:.1f}" width="{max(1.0, right - left):.1f}" y="{_TOP + row * height:.1f}"'
                f' height="{height - 1:.1f}" fill="{escape(way.color)}" class="gap">'
                f"<title>{escape(way.label)} lost, frames {a} to {b}</title></rect>"
            )
    return bars


def _curve(
    way: Way, values: npt.NDArray[np.float64], across: Callable[[float], float], up: Callable[[float], float]
) -> str:
    lines = []
    for a, b in runs(way.seen):
        chosen = a + thinned(values[a:b], _CORNERS)
        corners = " ".join(f"{across(way.frames[n]):.1f},{up(values[n]):.1f}" for n in chosen)
        lines.append(f'<polyline points="{corners}" fill="none" stroke="{escape(way.color)}" class="curve"/>')
    return f"<g><title>{escape(way.label)}</title>{''.join(lines)}</g>"
