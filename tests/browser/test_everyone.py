"""For everyone: by keyboard alone, by finger on a small screen, in light and in dark, by ear."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import Filmed, Person

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
TABS = ("Markers", "Trace", "Results")


async def _fits(page: Page) -> bool:
    """Nothing is wider than the window."""
    fits: bool = await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return fits


async def _tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by the Tab key")


async def test_a_marker_is_moved_and_a_trace_started_by_keyboard_alone(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    movie_id = new_movie("By keyboard")
    at = await visit(ada)
    await at.analyze(movie_id)
    await at.editable()
    page = at.page
    await _tab_to(page, ".marker-main")
    x, y = await at.position("Apex")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Shift+ArrowDown")
    assert await at.position("Apex") == (x + 1, y - 10)
    await expect(page.locator("#announcer")).to_have_text(f"Apex at {x + 1:.1f}, {y - 10:.1f}")
    await page.keyboard.press("Control+z")
    assert await at.position("Apex") == (x + 1, y)
    await page.keyboard.press("Control+Shift+z")
    assert await at.position("Apex") == (x + 1, y - 10)
    await at.saved()
    await _tab_to(page, "#trace")
    await page.keyboard.press("Enter")
    await expect(page.locator("#cancel-trace")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#banner")).to_contain_text("It was cancelled")


@pytest.mark.long  # test_player steps by keys
async def test_frames_are_stepped_by_keyboard_and_the_list_of_keys_is_shown(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    await at.analyze(traced_movie)
    await expect(at.page.locator("#marker-list li")).to_have_count(3)
    number = at.page.get_by_label("Frame number")
    for key, frame in ((".", "1"), ("Shift+>", "11"), (",", "10")):
        await at.page.keyboard.press(key)
        await expect(number).to_have_value(frame)
    await at.page.keyboard.press("?")
    await expect(at.page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await at.page.get_by_label("Use keys without Ctrl").uncheck()
    await at.page.keyboard.press("Escape")
    await at.page.keyboard.press(".")
    await expect(number).to_have_value("10")
    await at.page.get_by_label("Frame", exact=True).press("ArrowRight")
    await expect(number).to_have_value("11")


async def test_a_phone_shows_one_sheet_with_tabs_and_the_primary_action_always(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada, width=390)
    await at.analyze(traced_movie)
    await at.editable()
    for tab in TABS:
        await at.page.get_by_role("tab", name=tab).tap()
        await expect(at.page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        await expect(at.page.get_by_role("button", name="Trace again")).to_be_in_viewport(ratio=1)
        await expect(at.page.locator("#frame")).to_be_in_viewport()
        assert await _fits(at.page), tab
        await at.shoot(f"analyze-{tab.lower()}-390-light")
    await expect(at.page.locator("#chart .plot-cursor").first).to_be_visible()


async def test_a_finger_on_a_marker_moves_it_and_beside_it_scrolls_the_page(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    movie_id = new_movie("By finger")
    at = await visit(ada, width=390)
    await at.analyze(movie_id)
    await at.editable()
    touch = await at.context.new_cdp_session(at.page)

    async def swipe(start: tuple[float, float], end: tuple[float, float]) -> None:
        for step in range(9):
            part = step / 8
            x, y = (a + (b - a) * part for a, b in zip(start, end, strict=True))
            kind = "touchStart" if step == 0 else "touchMove"
            await touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        await touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    await swipe(await at.place_on_screen(50, 50), await at.place_on_screen(120, 200))
    x, y = await at.position("Apex")
    assert x == pytest.approx(120, abs=1.5)
    assert y == pytest.approx(280, abs=1.5)
    assert await at.page.evaluate("scrollY") == 0
    await at.saved()
    await swipe(await at.place_on_screen(500, 400), await at.place_on_screen(500, 100))
    await at.page.wait_for_function("scrollY > 20")
    assert await at.position("Apex") == (x, y)


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("dark", 390),  # the narrow one is where something can push, the dark one where colours were forgotten
        pytest.param("light", 1280, marks=pytest.mark.long),
        pytest.param("light", 390, marks=pytest.mark.long),
        pytest.param("dark", 1280, marks=pytest.mark.long),
    ],
)
async def test_every_page_fits_and_can_be_read_in_light_and_dark(
    ada: Person, traced_movie: str, visit: Opens, scheme: str, width: int
) -> None:
    at = await visit(ada, width=width, color_scheme=scheme)
    at.watch.expected.append("the server responded with a status of 404")
    for name, path in (
        ("movies", "/"), ("upload", "/upload"), ("activity", "/activity"), ("signin", "/signin"), ("analyze", None),
        ("missing", "/no/such/page"),
    ):  # fmt: skip
        if path is None:
            await at.analyze(traced_movie)
            await expect(at.page.locator("#download-csv")).to_have_attribute("href", re.compile("format=csv"))
        else:
            await at.open(path)
            await expect(at.page.locator("h1:visible").first).to_be_visible()
        if name == "movies":
            await expect(at.page.locator(".movie").first).to_be_visible()
        assert await at.page.evaluate(CONTRAST) == [], name
        assert await _fits(at.page), name
        await at.shoot(f"{name}-{width}-{scheme}")


async def test_a_long_title_gives_way_in_the_head_and_nothing_else_does(
    new_movie: Makes, teacher: Person, visit: Opens
) -> None:
    at = await visit(teacher)
    await at.analyze(new_movie("A bean in blue light, " * 8))
    await expect(at.page.locator("#to-course")).to_be_visible()
    await expect(at.page.locator("#user-name")).to_have_text("Bo Field")
    cut = await at.page.locator("#user-name, #course-name, #movie-title").evaluate_all(
        "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.id)"
    )
    assert cut == ["movie-title"]
    tops = await at.page.locator(".places a").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
    assert len(set(tops)) == 1, "the places stand on one line"
    await at.shoot("analyze-long-title-1280-light")


@pytest.mark.long  # axe asks the same
async def test_everything_that_can_be_used_has_a_name(ada: Person, traced_movie: str, visit: Opens) -> None:
    at = await visit(ada)
    for path in ("/", "/upload", "/signin", f"/analyze?movie_id={traced_movie}"):
        await at.open(path)
        await expect(at.page.locator("h1:visible").first).to_be_visible()
        await expect(at.page.locator("[aria-busy=true]")).to_have_count(0)
        nameless = await at.page.evaluate(
            """() => [...document.querySelectorAll('button, a[href], input, select, textarea, summary')]
                .filter((one) => one.checkVisibility())
                .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length
                    || one.getAttribute('aria-hidden')))
                .map((one) => one.outerHTML.slice(0, 120))"""
        )
        assert nameless == [], path
        assert await at.page.evaluate("document.documentElement.lang") == "en"
