"""The Analyze page's speed in a real Chromium: how soon it can be used, the film at 30 frames a second, a long movie.

pytest -m bench tests/bench/test_page_speed.py -s
"""

from __future__ import annotations

import io
import itertools
import statistics
import zipfile
from collections.abc import AsyncIterator, Iterator
from typing import Any

import cv2
import numpy as np
import pytest
import pytest_asyncio
from playwright.async_api import async_playwright, expect

from service.bench import machine
from service.store.movies import ANALYSIS, JOB
from service.store.schema import FRAMES, MOVIES
from service.store.table import Put
from tests.browser.conftest import launched
from tests.browser.site import HEIGHT, WIDTH, Person, Site, filmed, running_site
from tests.browser.visitor import Visitor, Watch

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1200), pytest.mark.asyncio(loop_scope="module")]
LONG, MARKERS = 10_000, 20
OPENINGS = 5
RATE = 30

TASKS = """
window.tasks = [];
new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.tasks.push([task.startTime, Math.round(task.duration)]);
}).observe({ type: 'longtask', buffered: true });
"""
USABLE = """
new MutationObserver((_, watch) => {
    const button = document.querySelector('#add-marker');
    if (!button || button.disabled) return;
    watch.disconnect();
    window.usable = performance.now();
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
CAME = """(part) => {
    const came = performance.getEntriesByType('resource').filter((one) => one.name.includes(part));
    const sum = (measure) => came.map(measure).reduce((total, one) => total + one, 0);
    const last = Math.round(Math.max(0, ...came.map((one) => one.responseEnd)));
    const megabytes = (measure) => (sum(measure) / 1e6).toFixed(2);
    const waited = Math.round(sum((one) => one.responseEnd - one.requestStart));
    return `${came.length} requests, ${megabytes((one) => one.decodedBodySize)} MB`
        + ` as ${megabytes((one) => one.encodedBodySize)} MB, ${waited} ms of waiting, the last at ${last} ms`;
}"""
PAINTS = """() => {
    const frame = document.querySelector('#frame');
    window.painted = [];
    new MutationObserver(() => window.painted.push([Number(frame.dataset.frame), performance.now()]))
        .observe(frame, {attributeFilter: ['data-frame']});
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.fixture(scope="module")
def ada(site: Site) -> Person:
    return site.person("Ada Green")


@pytest.fixture(scope="module")
def bean(site: Site, ada: Person, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A traced movie of 300 frames of 640 x 480."""
    return site.traced(ada, filmed(tmp_path_factory.mktemp("film") / "bean.mp4", frames=300), "Bean")


@pytest_asyncio.fixture(loop_scope="module")
async def at(site: Site, ada: Person) -> AsyncIterator[Visitor]:
    async with async_playwright() as playwright:
        browser = await launched(playwright)
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        visitor = Visitor(site, context, await context.new_page(), Watch())
        await context.add_init_script(TASKS + USABLE)
        await visitor.sign_in_as(ada)
        yield visitor
        await browser.close()


def told(line: str) -> None:
    print(f"\n{line}\n  {machine.in_words(machine.description())}")


async def longest(at: Visitor, since: float) -> str:
    tasks: list[list[float]] = await at.page.evaluate("tasks")
    spent = sorted((length for start, length in tasks if start >= since), reverse=True)
    return f"longest tasks {spent[:5]} ms ({len(spent)} above 50 ms)"


async def moment(at: Visitor) -> float:
    now: float = await at.page.evaluate("performance.now()")
    return now


async def test_how_soon_a_movie_of_300_frames_can_be_edited(at: Visitor, site: Site, bean: str) -> None:
    spent = []
    for _ in range(OPENINGS):
        site.free(bean)
        await at.analyze(bean)
        await at.editable()
        spent.append(float(await at.page.evaluate("usable")))
        await at.open("/")
    median = statistics.median(spent)
    told(f"first usable Analyze, 300 frames: {[round(ms) for ms in spent]} ms, median {median:.0f} ms")


async def test_the_film_at_thirty_frames_a_second(at: Visitor, site: Site, bean: str) -> None:
    site.free(bean)
    await at.analyze(bean)
    await at.editable()
    page = at.page
    await page.get_by_label("Speed of playing").select_option(str(RATE))
    await expect(page.locator("#frame")).to_have_attribute("data-frame", "0")
    await page.evaluate(PAINTS)
    since = await moment(at)
    await page.locator("#play").click()
    await expect(page.locator("#frame")).to_have_attribute("data-frame", "299", timeout=60_000)
    painted: list[list[float]] = await page.evaluate("painted")
    numbers = [int(frame) for frame, _ in painted]
    gaps = sorted(b[1] - a[1] for a, b in itertools.pairwise(painted))
    late = sum(gap > 1500 / RATE for gap in gaps)
    told(
        f"300 frames at {RATE}/s: {len(set(numbers))} of 299 painted, {1000 * len(gaps) / sum(gaps):.1f}/s;"
        f" between two p50 {gaps[len(gaps) // 2]:.1f} p95 {gaps[int(len(gaps) * 0.95)]:.1f} max {gaps[-1]:.1f} ms,"
        f" {late} later than half a frame; {await longest(at, since)}"
    )
    assert numbers == list(range(1, 300)), "a frame was left out"


async def test_ten_thousand_frames_of_twenty_markers_follow_the_hand(at: Visitor, site: Site, bean: str) -> None:
    movie_id = _long_movie(site, bean)
    page = at.page
    await at.open(f"/analyze?movie_id={movie_id}")
    await expect(page.locator("#add-marker")).to_be_enabled(timeout=120_000)
    usable = await page.evaluate("usable")
    await page.wait_for_function("() => document.querySelector('#have-results').hidden === false", timeout=300_000)
    read = await moment(at)
    tasks: list[list[float]] = await page.evaluate("tasks")
    when = ", ".join(f"{length:.0f} at {start:.0f}" for start, length in tasks if length > 100)
    charts = await page.evaluate(
        """Math.max(0, ...performance.getEntriesByType('resource')
            .filter((one) => /bokeh/.test(one.name)).map((one) => one.responseEnd))"""
    )
    told(
        f"{LONG} x {MARKERS}: usable after {usable:.0f} ms, all read after {read:.0f} ms; {await longest(at, 0)};"
        f" above 100 ms: {when}; the charts' library came at {charts:.0f}"
    )

    for name, part in (("positions", "get-movie-metadata"), ("results", "get-movie-trackpoints")):
        print(f"  {name}: {await page.evaluate(CAME, part)}")

    since = await moment(at)
    for _ in range(20):
        await page.keyboard.press("ArrowRight")
    await expect(page.locator("#frame")).to_have_attribute("data-frame", "20")
    told(f"  20 steps in {await moment(at) - since:.0f} ms; {await longest(at, since)}")

    since = await moment(at)
    x, y = await at.position("Apex")
    await at.drag((x, HEIGHT - y), (x + 80, HEIGHT - y + 40))
    await at.saved()
    told(f"  one drag and its save in {await moment(at) - since:.0f} ms; {await longest(at, since)}")

    since = await moment(at)
    bar = await page.locator("#scrub").bounding_box()
    assert bar
    await page.mouse.move(bar["x"] + 10, bar["y"] + 8)
    await page.mouse.down()
    await page.mouse.move(bar["x"] + bar["width"] - 10, bar["y"] + 8, steps=60)
    await page.mouse.up()
    reached = await page.locator("#frame-number").input_value()
    await expect(page.locator("#frame")).to_have_attribute("data-frame", reached)
    told(f"  the bar from end to end in {await moment(at) - since:.0f} ms; {await longest(at, since)}")

    since = await moment(at)
    for _ in range(4):
        await page.keyboard.press("+")
    await page.keyboard.press("0")
    told(f"  zoomed in and out; {await longest(at, since)}")


def _long_movie(site: Site, like: str) -> str:
    """Rows and an archive of a traced movie with many frames and markers; there is no such file behind it."""
    names = ["Apex", "Ruler 0mm", "Ruler 10mm", *(f"Leaf {n}" for n in range(MARKERS - 3))]
    labels = {f"k{n:02d}": {"label": name, "color": f"#0072{n:02x}"} for n, name in enumerate(names)}
    rng = np.random.default_rng(3)
    ways = np.cumsum(rng.normal(0, 0.4, (LONG, MARKERS, 2)), axis=0)
    ways = np.round(np.abs((ways + np.linspace(60, 400, MARKERS)[None, :, None]) % 460), 1) + 4

    def frame(movie_id: str, number: int) -> Put:
        points: list[dict[str, Any]] = [
            {"marker_id": marker, "x": float(ways[number, n, 0]), "y": float(ways[number, n, 1]), "status": 1,
             "err": 0.25, "placed": "trace"}
            for n, marker in enumerate(labels)
        ]  # fmt: skip
        return Put(FRAMES, {"movie_id": movie_id, "frame_number": number, "trackpoints": points, "job_id": "j"})

    async def fill() -> str:
        stores = site.app.runtime.stores
        movie_id = stores.ids.movie_id()
        key = f"movies/{movie_id}/made/frames.zip"
        await stores.objects.put(key, _archive(), "application/zip")
        movie = await stores.movies.get(like)
        assert movie is not None
        row = {
            **{name: value for name, value in movie.row.items() if name != "movie_traced_urn"},
            "movie_id": movie_id, "title": "Long", "total_frames": LONG, "last_frame_tracked": LONG - 1,
            "movie_zipfile_urn": stores.objects.urn(key),
        }  # fmt: skip
        row.pop("trim_end_frame", None)
        await stores.database.write(Put(MOVIES, {k: v for k, v in row.items() if k not in {*ANALYSIS, *JOB}}))
        await stores.database.write(stores.frames.marker_map_write(movie_id, labels))
        for start in range(0, LONG, 100):
            await stores.database.transact([frame(movie_id, n) for n in range(start, min(start + 100, LONG))])
        return movie_id

    return site.run(fill(), 600)


def _archive() -> bytes:
    """A small picture for each frame, all the same: what is measured is the page."""
    ground = cv2.GaussianBlur(np.random.default_rng(4).integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8), (0, 0), 9)
    _, jpeg = cv2.imencode(".jpeg", ground, [cv2.IMWRITE_JPEG_QUALITY, 60])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for number in range(LONG):
            archive.writestr(f"frame_{number:04d}.jpeg", jpeg.tobytes())
    return out.getvalue()
