"""The whole report as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from tracer.report.charts import chart
from tracer.report.contact import Tile, figure
from tracer.report.style import STYLE
from tracer.report.way import Way

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MOST_SPANS = 200


@dataclass(frozen=True, slots=True)
class Told:
    """What the page is made of.

    `facts` are pairs of a name and a value about the movie; `results` is `tracer.measures.results`; `size` the
    analysis frame's width and height; `notes` sentences about the movie.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    results: Mapping[str, Any]
    ways: Sequence[Way]
    tiles: Sequence[Tile]
    size: tuple[int, int]
    notes: Sequence[str] = ()


def page(told: Told) -> str:
    """The page. Its text is escaped wherever it came from outside."""
    height = told.size[1]
    title = escape(told.title)
    facts = " · ".join(f"{escape(name)} <b>{escape(value)}</b>" for name, value in told.facts)
    notes = [*told.notes, *told.results.get("warnings", ())]
    tiles = "".join(figure(tile, told.ways, told.size) for tile in told.tiles)
    body = [
        f'<header><h1>{title}</h1><p class="facts">{facts}</p></header>',
        _section("Results", _results(told.results) + _list(notes, "notes")),
        _section("Contact sheet", _legend(told.ways) + f'<div class="tiles">{tiles}</div>'),
        _section("Markers", _markers(told.ways)),
        _section("Lost on the way", _lost(told.ways)),
        _section(
            "Estimated error",
            "<p>How far from the marker's true place each position may be. Bars at the top: the marker was lost.</p>"
            + chart(told.ways, lambda way: way.err, "Estimated error of each marker over frames", "px", from_zero=True),
        ),
        _section(
            "Positions",
            "<p>Pixels of the analysis frame, from its lower left corner.</p><h3>x</h3>"
            + chart(told.ways, lambda way: way.points[:, 0], "x of each marker over frames", "px")
            + "<h3>y</h3>"
            + chart(told.ways, lambda way: height - way.points[:, 1], "y of each marker over frames", "px"),
        ),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title} · tiptrace</title><style>{STYLE}</style></head>\n"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _section(name: str, body: str) -> str:
    return f"<section><h2>{name}</h2>{body}</section>\n"


def _list(sentences: Sequence[str], kind: str) -> str:
    if not sentences:
        return ""
    return f'<ul class="{kind}">{"".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)}</ul>'


def _results(results: Mapping[str, Any]) -> str:
    """What was measured, one row each, with its unit and how it is computed."""
    scale = f"<p>{escape(str(results['scale']))}</p>"
    if "gravitropism" not in results:
        return scale + "<p>There is no marker but rulers, so nothing else was measured.</p>"
    unit, per = results["unit"], f"{results['unit']} per {results['time_unit']}"
    bend, swing = results["gravitropism"], results["circumnutation"]
    rows = [
        ("Distance", bend["distance"], unit, "straight from the first to the last place where the tip was seen"),
        ("Rate", bend["rate"], per, "distance over the time between these two"),
        ("Angle", bend["angle"], "degrees", "at the marker Inflection Point, by the law of cosines"),
        ("Amplitude", swing["amplitude"], unit, "half of the range from left to right"),
        ("Path rate", swing["rate"], per, "length of the way that was seen, over its time"),
    ]
    cells = "".join(
        f'<tr><th scope="row">{name}</th><td class="number">{value:.4g}</td><td>{escape(measure)}</td>'
        f'<td class="how">{how}</td></tr>'
        for name, value, measure, how in rows
        if value is not None
    )
    seen, lost = results["frames"]["seen"], results["frames"]["lost"]
    tip = escape(str(results["tip"]))
    basis = f"<p>Of {tip}, which was seen in {seen} of {seen + lost} frames; the others count in no number.</p>"
    return f'<div class="wide"><table><tbody>{cells}</tbody></table></div>{basis}{scale}'


def _legend(ways: Sequence[Way]) -> str:
    items = "".join(f"<li>{_dot(way)}{escape(way.label)}</li>" for way in ways)
    return f'<ul class="legend">{items}</ul>'


def _dot(way: Way) -> str:
    circle = f'<circle cx="5" cy="5" r="4" fill="{escape(way.color)}"/>'
    return f'<svg class="dot" viewBox="0 0 10 10" aria-hidden="true">{circle}</svg>'


def _markers(ways: Sequence[Way]) -> str:
    rows = []
    for way in ways:
        seen = int(way.seen.sum())
        err = way.err[way.seen]
        errors = ("–", "–") if not len(err) else (f"{float(np.median(err)):.2f}", f"{float(err.max()):.2f}")
        numbers = (seen, len(way.seen) - seen, *errors)
        cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
        rows.append(f'<tr><th scope="row">{_dot(way)}{escape(way.label)}</th>{cells}</tr>')
    heads = "".join(
        f'<th scope="col" class="number">{name}</th>'
        for name in ("frames seen", "frames lost", "usual error, px", "largest error, px")
    )
    return (
        f'<div class="wide"><table><thead><tr><th scope="col">marker</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _lost(ways: Sequence[Way]) -> str:
    spans = [(way, a, b) for way in ways for a, b in way.lost_spans()]
    if not spans:
        return "<p>No marker was lost.</p>"
    rows = "".join(
        f'<tr><th scope="row">{_dot(way)}{escape(way.label)}</th><td class="number">{a}</td>'
        f'<td class="number">{b}</td><td class="number">{b - a + 1}</td></tr>'
        for way, a, b in spans[:_MOST_SPANS]
    )
    more = f"<p>And {len(spans) - _MOST_SPANS} more.</p>" if len(spans) > _MOST_SPANS else ""
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in ("from frame", "to frame", "frames"))
    table = f'<thead><tr><th scope="col">marker</th>{heads}</tr></thead><tbody>{rows}</tbody>'
    return (
        f'<div class="wide"><table>{table}</table></div>{more}<p>Positions there are carried, not measured.'
        " To get them, place the marker on the first frame of a stretch and trace again from there.</p>"
    )
