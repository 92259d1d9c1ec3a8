"""The results as a person looks at them: charts that follow the film, numbers that explain themselves, files."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.async_api import Response, expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import Filmed, Person, Site
from tests.browser.visitor import ARTIFACTS, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

WHOLE_PAGE, ONE_FILE = 900_000, 100_000
"""Most bytes over the wire; the library that draws the charts may take more than one file may."""
MEASURES = {"Gravitropism": ("Distance", "Rate", "Angle"), "Circumnutation": ("Amplitude", "Path rate")}
FILES = ("csv", "xlsx", "json", "movie")


async def _charted(at: Visitor, movie_id: str) -> None:
    await at.analyze(movie_id)
    await expect(at.page.locator("#chart-y .plot-cursor")).to_be_visible()


async def _on_chart(at: Visitor, axis: str, part: float) -> tuple[float, float]:
    """A place in the window: so far from a panel's left edge to its right one."""
    layer = at.page.locator(f"#chart-{axis} .plot-layer")
    await layer.scroll_into_view_if_needed()
    box = await layer.bounding_box()
    assert box is not None
    return box["x"] + box["width"] * part, box["y"] + box["height"] / 2


async def _cursor(at: Visitor, axis: str) -> float:
    box = await at.page.locator(f"#chart-{axis} .plot-cursor").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2


async def _drag_over(at: Visitor, start: float, end: float) -> None:
    mouse = at.page.mouse
    await mouse.move(*await _on_chart(at, "x", start))
    await mouse.down()
    await mouse.move(*await _on_chart(at, "x", end), steps=3)
    await mouse.up()


async def _shown(at: Visitor) -> str:
    return re.sub(r".*[Ff]rames ", "", await at.page.locator("#chart-time").inner_text())


async def test_charts_and_film_stand_on_the_same_frame_and_both_say_it_in_words(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    await _charted(at, traced_movie)
    number = at.page.get_by_label("Frame number")
    x, y = await _on_chart(at, "x", 0.6)
    await at.page.mouse.click(x, y)
    await expect(number).not_to_have_value("0")
    reached = int(await number.input_value())
    for axis in ("x", "y"):
        assert await _cursor(at, axis) == pytest.approx(x, abs=12), "less than half a frame away"
    await number.press("ArrowUp")
    await number.fill(str(reached + 10))
    await number.press("Enter")
    for axis in ("x", "y"):
        assert await _cursor(at, axis) > x + 100
    await at.page.mouse.move(*await _on_chart(at, "y", 0.3))
    said = at.page.locator("#readout")
    await expect(said).to_contain_text(re.compile(r"Apex.*frame \d+.*y \d+\.\d\d mm"))
    await at.page.mouse.move(5, 5)
    await expect(said).to_be_hidden()
    picture = at.page.get_by_role("img", name=re.compile(r"^x over .*Apex between [\d.]+ mm and [\d.]+ mm"))
    await expect(picture).to_have_count(1)
    switch = at.page.get_by_role("button", name="Apex", exact=True)
    await expect(switch).to_have_attribute("aria-pressed", "true")
    await switch.press("Enter")
    await expect(switch).to_have_attribute("aria-pressed", "false")
    await expect(switch).to_be_focused()


async def test_a_stretch_is_enlarged_by_hand_and_by_key_and_shown_whole_again(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    await _charted(at, traced_movie)
    assert await _shown(at) == "0 to 39"
    await _drag_over(at, 0.3, 0.6)
    await expect(at.page.locator("#chart-time")).not_to_contain_text("0 to 39")
    first, last = map(int, (await _shown(at)).split(" to "))
    assert 5 < first < 15
    assert 18 < last < 28
    await at.page.get_by_role("button", name="Earlier").press("Enter")
    await expect(at.page.locator("#chart-time")).not_to_contain_text(f"{first} to {last}")
    moved = list(map(int, (await _shown(at)).split(" to ")))
    assert moved[0] < first
    assert moved[1] - moved[0] == pytest.approx(last - first, abs=1)
    await at.page.mouse.move(*await _on_chart(at, "y", 0.5))
    await at.page.keyboard.down("Control")
    await at.page.mouse.wheel(0, -300)
    await at.page.keyboard.up("Control")
    await expect(at.page.locator("#chart-time")).not_to_contain_text(f"{moved[0]} to {moved[1]}")
    await at.page.get_by_role("button", name="All", exact=True).press("Enter")
    await expect(at.page.locator("#chart-time")).to_contain_text("0 to 39")
    await expect(at.page.get_by_role("button", name="All", exact=True)).to_be_focused()
    await expect(at.page.get_by_role("button", name="All", exact=True)).to_have_attribute("aria-disabled", "true")


@pytest.mark.long  # test_looking_closer does the same for the frame
async def test_what_is_looked_at_stays_while_the_movie_is_traced_again_and_files_come_back_without_a_reload(
    new_traced_movie: Makes, ada: Person, visit: Opens
) -> None:
    """A33: the zoom survives a trace, its polls and a smaller window. A16: files are offered exactly when they are."""
    at = await visit(ada)
    page = at.page
    await _charted(at, new_traced_movie("Looked at closely"))
    await at.editable()
    await _drag_over(at, 0.3, 0.6)
    await expect(page.locator("#chart-time")).not_to_contain_text("0 to 39")
    shown = await _shown(at)
    await page.get_by_role("button", name="Trace again").click()
    await expect(page.locator("#download-words")).to_have_text("The files are there when the trace has ended.")
    for name in FILES:
        await expect(page.locator(f"#download-{name}")).to_have_attribute("aria-disabled", "true")
    await expect(page.locator("#download-png")).to_be_disabled()
    await expect(page.locator("#measures")).to_contain_text("Amplitude", timeout=60_000)
    for name in FILES:
        await expect(page.locator(f"#download-{name}")).to_have_attribute("href", re.compile("http"))
    await expect(page.locator("#download-png")).to_be_enabled()
    await expect(page.locator("#download-words")).to_be_empty()
    assert await _shown(at) == shown
    await page.set_viewport_size({"width": 700, "height": 600})
    await page.get_by_role("tab", name="Results").click()
    await expect(page.locator("#chart-y .plot-layer")).to_be_visible()
    assert await _shown(at) == shown


@pytest.mark.long
async def test_after_a_retrace_that_failed_the_page_says_what_the_files_hold(
    site: Site, ada: Person, film: Filmed, visit: Opens
) -> None:
    """A16"""
    movie_id = site.traced(ada, film, "File gone before the second trace")
    at = await visit(ada)
    page = at.page
    await _charted(at, movie_id)
    await at.editable()
    await page.get_by_label("Frame number").fill("20")
    await page.get_by_label("Frame number").press("Enter")
    site.break_movie(movie_id)
    await page.get_by_role("button", name="Retrace from here").click()
    await expect(page.locator("#facts")).to_contain_text("tracing failed", timeout=60_000)
    said = page.locator("#download-words")
    await expect(said).to_contain_text("The last trace ended early: the tables reach frame 20.")
    await expect(page.locator("#download-csv")).to_have_attribute("href", re.compile("format=csv"))


async def test_each_number_says_how_it_was_computed_and_the_charts_are_saved_as_a_picture(
    new_traced_movie: Makes, ada: Person, visit: Opens
) -> None:
    at = await visit(ada)
    await _charted(at, new_traced_movie("Bean: blue/red ä?"))
    await expect(at.page.locator("#download-png")).to_be_enabled()
    async with at.page.expect_download() as arriving:
        await at.page.get_by_role("button", name="PNG").click()
    download = await arriving.value
    assert download.suggested_filename == "Bean blue red ä charts.png"
    picture = Path(await download.path()).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", picture[16:24]) == (1600, 1058)
    assert len(picture) > 20_000, "more than white paper"
    ARTIFACTS.mkdir(exist_ok=True)
    (ARTIFACTS / "charts.png").write_bytes(picture)
    await expect(at.page.locator(".workshop")).to_have_count(0)
    for group, names in MEASURES.items():
        box = at.page.get_by_role("region", name=group)
        for name in names:
            measure = box.locator("details", has=at.page.get_by_text(name, exact=True))
            await expect(measure.locator(".formula")).to_be_hidden()
            await measure.locator("summary").press("Enter")
            await expect(measure.locator(".formula")).to_be_visible()
    await expect(at.page.locator("#basis")).to_have_text("Over frames 0 to 39. Apex was seen in 40 of 40 frames.")
    await expect(at.page.locator("#scale-words")).to_contain_text("10 mm between Ruler 0mm and Ruler 10mm")


async def test_the_page_is_light_and_nothing_in_it_but_the_charts_is_large(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada, fresh=True)  # with nothing in its cache
    came: list[Response] = []
    at.page.on("response", lambda answer: came.append(answer))
    await _charted(at, traced_movie)
    weights = [(await answer.request.sizes(), answer) for answer in came if answer.status == 200]
    bytes_of = {answer.url: sizes["responseBodySize"] for sizes, answer in weights}
    parts = {url: size for url, size in bytes_of.items() if "/static/" in url or "/analyze" in url}
    assert len(parts) > 25
    charts = [url for url in parts if url.endswith("/bokeh.parts.js")]
    assert len(charts) == 1
    assert sum(bytes_of.values()) < WHOLE_PAGE, bytes_of
    assert [url for url, size in bytes_of.items() if size > ONE_FILE and url not in charts] == []
    plain = [url for url in _texts(weights) if parts[url] > 2000 and await _encoding(came, url) != "gzip"]
    assert plain == []
    print(f"\npage {sum(parts.values())} bytes, charts {parts[charts[0]]} of them, with data {sum(bytes_of.values())}")


def _texts(weights: Sequence[tuple[object, Response]]) -> list[str]:
    return [answer.url for _, answer in weights if re.search(r"/static/.*\.(js|css|svg)$|/analyze", answer.url)]


async def _encoding(came: Sequence[Response], url: str) -> str | None:
    return await next(answer for answer in came if answer.url == url).header_value("content-encoding")


async def test_the_charts_wait_until_there_is_something_to_chart(new_movie: Makes, ada: Person, visit: Opens) -> None:
    at = await visit(ada)
    asked: list[str] = []
    at.page.on("request", lambda request: asked.append(request.url))
    await at.analyze(new_movie("Nothing to chart"))
    await at.editable()
    assert [url for url in asked if "/static/bokeh" in url] == []
    await expect(at.page.locator("#charts")).to_be_hidden()


@pytest.mark.long
async def test_a_library_that_does_not_come_leaves_the_table_and_can_be_asked_for_again(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    at.watch.expected += ["ERR_FAILED", "could not be fetched"]
    await at.page.route("**/static/bokeh.js", lambda route: route.abort())
    await at.analyze(traced_movie)
    await expect(at.page.locator("#chart-problem")).to_be_visible()
    await at.page.get_by_text("Positions as a table").click()
    await expect(at.page.locator("#positions-table tbody tr")).to_have_count(40)
    await at.page.unroute("**/static/bokeh.js")
    await at.page.get_by_role("button", name="Try again").click()
    await expect(at.page.locator("#chart-y .plot-cursor")).to_be_visible()
    await expect(at.page.locator("#chart-problem")).to_be_hidden()


@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
async def test_results_can_be_read_on_every_screen(
    ada: Person, traced_movie: str, visit: Opens, width: int, scheme: str
) -> None:
    at = await visit(ada, width=width, color_scheme=scheme)
    await at.analyze(traced_movie)
    if width < 600:
        await at.page.get_by_role("tab", name="Results").tap()
    await expect(at.page.locator("#chart-y .plot-cursor")).to_be_visible()
    await at.page.get_by_text("The path in the picture").click()
    await expect(at.page.locator("#chart-path .plot-point")).to_have_count(1)
    await at.page.evaluate("scrollTo(0, 0)")
    await at.shoot(f"analyze-results-{width}-{scheme}", full=True)
