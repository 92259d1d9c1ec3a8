"""Whatever people call their movies, markers, courses and themselves, a page shows it as words and keeps its width."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from playwright.async_api import Page, expect

from service.store.schema import USERS
from service.store.table import Put
from service.usecases import people
from tests.browser.conftest import Opens
from tests.browser.site import Person, Site
from tests.browser.visitor import ARTIFACTS

pytestmark = pytest.mark.asyncio(loop_scope="session")

RUNS = "window.canary = 1"
WORDS = {
    "markup": f'<img src=x onerror="{RUNS}"><script>{RUNS}</script><svg onload="{RUNS}">',
    "attribute": f'" onmouseover="{RUNS}" autofocus onfocus="{RUNS}" x="',
    "address": f"javascript:{RUNS}//",
    "data": f"data:text/html,<script>{RUNS}</script>",
    "template": f"${{{RUNS}}} {{{{{RUNS}}}}} %s {{0}} {{who}}",
    "formula": '=HYPERLINK("http://elsewhere.test";"click")',
    "turned": "Bean \u202e4pm.exe",
    "long": "W" * 200,
    "wide": "\u5b57" * 200,
    "line": "one\ntwo\ttabs   spaces",
    "stacked": "Z" + "\u0334\u0311\u033d" * 60,
    "invisible": "\u200b\u2060",
    "book": "Movie of beans " * 680,
}
"""The last is what a row of an older service may hold."""
LABELS = {name: words[:100] for name, words in WORDS.items() if name not in ("line", "invisible", "book")}
COURSE = "odd"


@dataclass(frozen=True, slots=True)
class Odd:
    person: Person
    movies: dict[str, str]
    marked: str


@pytest.fixture(scope="module")
def odd(site: Site, bean: str) -> Odd:
    """A course of its own with a teacher and movies whose every word is hostile."""
    stores = site.app.runtime.stores

    async def teacher() -> Person:
        await people.add_course(stores, COURSE, WORDS["markup"][:100])
        added = await people.add_user(stores, "odd@school.test", "Odd", COURSE, course_admin=True)
        user = await stores.people.user(added.user_id)
        assert user
        await stores.database.write(Put(USERS, {**user, "user_name": WORDS["markup"]}))
        for name in ("long", "attribute", "turned"):
            other = await people.add_user(stores, f"{name}@{'x' * 60}.{'y' * 60}.test", "Odd", COURSE)
            user = await stores.people.user(other.user_id)
            assert user
            await stores.database.write(Put(USERS, {**user, "user_name": WORDS[name]}))
        return Person(added.user_id, added.api_key, "Odd")

    person = site.run(teacher())
    movies = {name: site.copy(bean, words) for name, words in WORDS.items()}
    for name, movie_id in movies.items():
        site.change(movie_id, course_id=COURSE, user_id=person.user_id, user_name=WORDS[name], description=WORDS[name])
        site.tell("movie.tracing.started", person, movie_id)
    site.change(movies["long"], status="tracing failed", tracing_failure_summary=WORDS["long"], failure_code="x")
    site.change(movies["markup"], status="unusable", status_reason=WORDS["markup"])
    marked = movies["book"]

    async def label() -> None:
        known = await stores.frames.markers(marked)
        first = next(iter(known))
        labels = {first: {**known[first], "label": LABELS["markup"]}}
        labels |= {f"odd{n}": {"label": words, "color": "#c2410c"} for n, words in enumerate(LABELS.values()) if n}
        await stores.database.write(stores.frames.marker_map_write(marked, labels))
        items = [item async for item in stores.frames.span(marked, 0, 100)]
        for item in items:
            points = item["trackpoints"]
            more = [
                {**points[0], "marker_id": f"odd{n}", "label": words, "x": 40 + 50 * n}
                for n, words in enumerate(LABELS.values()) if n
            ]  # fmt: skip
            await stores.database.write(Put("movie_frames", {**item, "trackpoints": [*points[:1], *more]}))

    site.run(label())
    return Odd(person, movies, marked)


async def _faults(page: Page, place: str) -> list[str]:
    """What ran, what is wider than the window, and what stands outside of it where nobody can scroll."""
    wide: list[str] = await page.evaluate(
        """() => [...document.querySelectorAll('body *')].filter((one) => {
            const box = one.getBoundingClientRect();
            if (box.width === 0 || box.right <= innerWidth + 1 || one.closest('.sr-only, .workshop, svg')) return false;
            for (let around = one.parentElement; around !== document.body; around = around.parentElement) {
                if (getComputedStyle(around).overflowX !== 'visible') return false; // it is cut or can be moved there
            }
            return true;
        }).map((one) => `${one.tagName}.${one.className}#${one.id} reaches ${one.getBoundingClientRect().right}`)"""
    )
    found = wide[:6]
    if await page.evaluate("window.canary") is not None:
        found.append("a word was run")
    if not await page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
        found.append("the page can be pushed sideways")
    return [f"{place}: {fault}" for fault in found]


async def _policy_faults(page: Page, place: str) -> list[str]:
    """Even a page that did write a name into its markup would run nothing."""
    ran = await page.evaluate(
        """async (words) => {
            const box = document.createElement('div');
            box.innerHTML = words;
            const script = document.createElement('script');
            script.textContent = 'window.canary = 2';
            const link = document.createElement('a');
            link.href = 'javascript:window.canary = 3';
            document.body.append(box, script, link);
            link.click();
            await new Promise((done) => setTimeout(done, 50));
            for (const one of [box, script, link]) one.remove();
            return window.canary ?? null;
        }""",
        WORDS["markup"],
    )
    return [] if ran is None else [f"{place}: the policy let {ran} run"]


PAGES = {
    "/": ".movie",
    "/activity": ".trail li",
    "/course": "#people li",
    "/upload": "#drop",
}


@pytest.mark.long  # ten seconds each
@pytest.mark.parametrize("width", [390, 1280])
async def test_hostile_words_are_words_on_every_page(odd: Odd, visit: Opens, width: int) -> None:
    at = await visit(odd.person, width=width)
    page = at.page
    at.watch.expected += ["Content Security Policy", "Content-Security-Policy", "404", "/x"]
    faults: list[str] = []
    for path, there in PAGES.items():
        await at.open(path)
        await expect(page.locator(there).first).to_be_visible()
        if path == "/":
            await expect(page.locator(".movie")).to_have_count(len(WORDS))
            await expect(page.locator(".movie .title", has_text="<img src=x")).to_be_visible()
            book = await page.locator(".movie", has_text="Movie of beans").bounding_box()
            assert book
            assert book["height"] < 800
            await expect(page.locator(".movie .title", has_text="Bean \u202e4pm.exe")).to_be_visible()
        if path == "/upload":
            names = [f"{WORDS['markup'][:30].replace('/', '')}{'W' * 150}.mp4", "javascript:window.canary=4.mp4"]
            files = [{"name": name, "mimeType": "video/mp4", "buffer": b"x"} for name in names]
            await page.set_input_files("#file", files)  # type: ignore[arg-type]
        faults += await _faults(page, path)
        await at.shoot(f"hostile{path.replace('/', '-')}-{width}", full=True)
        faults += await _policy_faults(page, path)
    assert faults == []


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 390])
async def test_hostile_markers_are_words_in_the_frame_the_charts_and_the_files(
    odd: Odd, visit: Opens, width: int
) -> None:
    at = await visit(odd.person, width=width)
    page = at.page
    at.watch.expected += ["Content Security Policy", "Content-Security-Policy", "404", "/x"]
    await at.analyze(odd.marked)
    await at.editable()
    faults = await _faults(page, "markers")
    await at.shoot(f"hostile-analyze-{width}", full=True)
    for name in ("Trace", "Results") if width < 600 else ():
        await page.get_by_role("tab", name=name).click()
        faults += await _faults(page, name)
        await at.shoot(f"hostile-analyze-{name.lower()}-{width}", full=True)
    await expect(page.locator("#download-png")).to_be_enabled()
    async with page.expect_download() as arriving:
        await page.locator("#download-png").click()
    download = await arriving.value
    assert not set(download.suggested_filename) & set('<>:"/\\|?*\n')
    assert len(download.suggested_filename.encode()) < 256
    await download.save_as(ARTIFACTS / f"hostile-chart-{width}.png")
    faults += await _policy_faults(page, "analyze")
    assert faults == []
