"""The page of `tiptrace trace --report`."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import av
import numpy as np
import pytest
from click.testing import CliRunner

from service.cli.trace import trace
from tests.support.movies import sliding, textured, write_movie
from tracer import measures
from tracer.frames import Frame
from tracer.geometry import View
from tracer.report import ContactSheet, Told, Way, page
from tracer.report.charts import chart, ticks
from tracer.report.way import runs, thinned

HOSTILE = "</title><script>alert(1)</script> \"onload='x' & ä"


class Reader(HTMLParser):
    """Every element with its attributes, and the text of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


def way(label: str, seen: list[bool], color: str = "#0072B2") -> Way:
    n = np.arange(len(seen))
    return Way(label, color, n, np.stack([10.0 * n, 5.0 * n], 1), np.array(seen), np.full(len(seen), 0.5))


def frame(number: int) -> Frame:
    picture = av.VideoFrame.from_ndarray(textured(64, 48, number), format="bgr24")
    return Frame(number, number / 20, picture, View.of(64, 48))


def told(ways: list[Way], notes: tuple[str, ...] = ()) -> Told:
    sheet = ContactSheet(4)
    for number in range(6):
        sheet.add(frame(number))
    tracks = [measures.Track(one.label, one.frames, one.points, one.seen) for one in ways]
    found = measures.results(tracks, measures.calibration({}), fpm=2)
    return Told(HOSTILE, [("frames", "0 to 5")], found, ways, sheet.tiles(), (640, 480), notes)


def test_the_page_needs_nothing_but_itself_and_escapes_what_people_named() -> None:
    text = page(told([way(HOSTILE, [True] * 4 + [False] * 2), way("Leaf", [True] * 6)], (HOSTILE,)))
    reader = read(text)
    assert reader.count("script") == 0
    assert reader.count("title") > 1  # the page's own, and one for each thing that is drawn
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    addresses = [value for _, attributes in reader.elements for name, value in attributes.items()
                 if name in ("href", "src", "xlink:href", "action", "data")]  # fmt: skip
    assert addresses
    assert all(address and address.startswith("data:image/jpeg;base64,") for address in addresses)
    assert "url(" not in text
    assert "@import" not in text
    policy = next(attributes for tag, attributes in reader.elements if tag == "meta" and "http-equiv" in attributes)
    assert str(policy["content"]).startswith("default-src 'none';")
    assert "".join(reader.text).count(HOSTILE) >= 5


def test_the_page_tells_results_errors_and_lost_stretches() -> None:
    seen = [True, True, False, False, True, False]
    words = re.sub(r"\s+", " ", " ".join(read(page(told([way("Apex", seen)], ("The scene changes.",)))).text))
    assert "Distance 44.72 px" in words  # from (0, 0) to (40, 20)
    assert "seen in 3 of 6 frames" in words
    assert "The scene changes." in words
    assert "Apex 2 3 2" in words  # lost from frame 2 to 3: two frames
    assert "Apex 5 5 1" in words
    assert "Apex 3 3 0.50 0.50" in words  # seen, lost, usual and largest error


def test_a_page_without_a_tip_or_a_seen_frame_is_a_page_all_the_same() -> None:
    for ways in ([way("Ruler 0mm", [True] * 6)], [way("Apex", [False] * 6)], [way("Apex", [True] + [False] * 5)]):
        assert "Contact sheet" in page(told(ways))


def test_the_contact_sheet_is_spread_evenly_and_stays_small() -> None:
    sheet = ContactSheet(5)
    most = 0
    for number in range(200):
        sheet.add(frame(number))
        most = max(most, len(sheet._kept))
    numbers = [tile.number for tile in sheet.tiles()]
    assert len(numbers) == 5
    assert (numbers[0], numbers[-1]) == (0, 199)
    gaps = np.diff(numbers)
    assert gaps.max() <= 1.5 * gaps.min()
    assert most <= 20


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_short_movie_shows_all_its_frames(frames: int) -> None:
    sheet = ContactSheet(12)
    for number in range(frames):
        sheet.add(frame(number))
    assert [tile.number for tile in sheet.tiles()] == list(range(frames))


def test_a_thinned_curve_keeps_its_ends_and_extremes() -> None:
    values = np.sin(np.arange(10_000) / 700)
    values[4321] = 9.0
    chosen = thinned(values, 200)
    assert len(chosen) <= 202
    assert {0, 4321, 9999} <= set(chosen.tolist())
    assert np.all(np.diff(chosen) > 0)


def test_runs_and_ticks() -> None:
    assert runs(np.array([True, True, False, True])) == [(0, 2), (3, 4)]
    assert runs(np.array([False])) == []
    assert ticks(0, 296) == [0, 100, 200, 300]
    assert ticks(-0.03, 0.04) == pytest.approx([-0.04, -0.02, 0.0, 0.02, 0.04])


def test_a_curve_has_a_gap_and_a_bar_where_the_marker_was_lost() -> None:
    drawn = read(chart([way("Apex", [True, True, False, False, True, True])], lambda one: one.err, "Error", "px"))
    lines = [attributes["points"] for tag, attributes in drawn.elements if tag == "polyline"]
    assert [len(str(points).split()) for points in lines] == [2, 2]
    assert drawn.count("rect") == 1
    assert "Apex lost, frames 2 to 3" in drawn.text


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    movie = write_movie(tmp_path / "bean.mp4", sliding(320, 240, 8, (2, 1)))
    out = tmp_path / "out.html"
    result = CliRunner().invoke(trace, [str(movie), "--marker", f"{HOSTILE}=160,120", "--report", str(out)])
    assert result.exit_code == 0, result.output
    reader = read(out.read_text(encoding="utf-8"))
    assert reader.count("figure") == 8
    assert reader.count("script") == 0
    assert CliRunner().invoke(trace, [str(movie), "--marker", "A=1,1", "--report", str(movie)]).exit_code == 2
