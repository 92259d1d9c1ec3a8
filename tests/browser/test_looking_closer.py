"""Zoom and pan of the frame: by wheel, keys, buttons and fingers, and what must not disturb them."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import HEIGHT, Filmed, Person
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def _wheel(at: Visitor, x: float, y: float, up: float, *, ctrl: bool = True) -> None:
    """Turn the wheel over a pixel of the frame."""
    await at.page.mouse.move(*await at.place_on_screen(x, y))
    if ctrl:
        await at.page.keyboard.down("Control")
    await at.page.mouse.wheel(0, -up)
    if ctrl:
        await at.page.keyboard.up("Control")


async def test_what_a_person_looks_at_survives_a_drag_a_small_window_and_a_whole_trace_a33(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    """A33: zoom, place, frame and chosen marker stay; a marker is dragged exactly while zoomed."""
    at = await visit(ada)
    page, level = at.page, at.page.locator("#nearness-level")
    await at.analyze(new_movie("Looked at closely"))
    await at.editable()
    await at.drag_default_markers_to(film.markers)
    tip = film.markers[0]
    before = await at.place_on_screen(tip.x, tip.y)
    for _ in range(2):
        await _wheel(at, tip.x, tip.y, 170)
    await expect(level).to_have_text("400 %")
    assert await at.place_on_screen(tip.x, tip.y) == pytest.approx(before, abs=4), "what lies under the pointer stays"

    await at.drag((tip.x, tip.y), (tip.x + 12, tip.y - 7))
    assert await at.position("Apex") == pytest.approx((tip.x + 12, HEIGHT - tip.y + 7), abs=0.2)
    await at.drag((tip.x + 12, tip.y - 7), (tip.x, tip.y))
    seen = await at.middle()
    empty = (seen[0] + 30, seen[1] + 30)
    await at.drag(empty, (empty[0] + 20, empty[1] + 5))  # takes the picture along, so its end is where it began
    moved = await at.middle()
    assert moved == pytest.approx((seen[0] - 20, seen[1] - 5), abs=12)
    await at.saved()
    await at.shoot("analyze-zoomed-1280-light")

    await page.set_viewport_size({"width": 1000, "height": 520})
    assert await at.middle() == pytest.approx(moved, abs=0.5)
    await page.get_by_role("button", name="Trace movie").click()
    await expect(page.locator("#tracing")).to_be_visible()
    await expect(page.locator("#rotate")).to_be_disabled()
    await expect(page.locator("#have-results")).to_be_visible(timeout=60_000)
    await at.editable()
    await page.set_viewport_size({"width": 1280, "height": 800})
    await expect(level).to_have_text("400 %")
    assert await at.middle() == pytest.approx(moved, abs=0.5)
    await expect(page.locator(".marker.selected .marker-name")).to_have_text("Apex")
    await expect(page.get_by_label("Frame number")).to_have_value("0")


async def test_the_wheel_alone_scrolls_the_page_and_keys_and_buttons_look_closer(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    page, level = at.page, at.page.locator("#nearness-level")
    await at.analyze(traced_movie)
    await at.editable()
    await _wheel(at, 300, 200, -300, ctrl=False)
    await page.wait_for_function("() => scrollY > 50")
    await expect(level).to_have_text("100 %")
    await page.evaluate("scrollTo(0, 0)")
    await page.keyboard.press("+")
    await expect(level).to_have_text("150 %")
    await page.get_by_role("button", name="Closer").click()
    await expect(level).to_have_text("225 %")
    before = await at.middle()
    await page.keyboard.press("d")
    right = await at.middle()
    assert right[0] > before[0] + 20
    await page.get_by_role("button", name="Closer").press("ArrowLeft")
    assert await at.middle() == pytest.approx(before, abs=0.5)
    await page.get_by_label("Frame number").fill("7")
    await page.get_by_label("Frame number").press("-")
    await expect(level).to_have_text("225 %")
    await page.locator(".marker-main", has_text="Ruler 0mm").click()
    x, y = await at.position("Ruler 0mm")
    place = await at.place_on_screen(x, HEIGHT - y)
    box = await page.locator("#frame").bounding_box()
    assert box
    assert box["x"] < place[0] < box["x"] + box["width"], "a marker that is chosen comes into sight"
    assert box["y"] < place[1] < box["y"] + box["height"]
    await page.get_by_role("button", name="Farther").click()
    await expect(level).to_have_text("150 %")
    await page.keyboard.press("0")
    await expect(level).to_have_text("100 %")
    await expect(page.locator("#fit")).to_be_disabled()
    await page.keyboard.press("+")
    await page.get_by_role("button", name="Fit").click()
    await expect(level).to_have_text("100 %")


@pytest.mark.long  # one way of several
async def test_the_small_map_moves_the_picture_with_one_click(ada: Person, traced_movie: str, visit: Opens) -> None:
    at = await visit(ada)
    await at.analyze(traced_movie)
    await at.editable()
    await _wheel(at, 500, 100, 340)
    box = await at.page.locator("#frame").bounding_box()
    assert box
    scale = 112 / 640
    left, top = box["x"] + 12, box["y"] + box["height"] - 12 - HEIGHT * scale
    await at.page.mouse.click(left + 200 * scale, top + 300 * scale)
    assert await at.middle() == pytest.approx((200, 300), abs=4)


async def test_two_fingers_look_closer_and_one_moves_the_picture(new_movie: Makes, ada: Person, visit: Opens) -> None:
    at = await visit(ada, width=390)
    await at.analyze(new_movie("Pinched"))
    await at.editable()
    assert await at.page.evaluate(
        "document.querySelector('#next-doubtful').previousElementSibling.getBoundingClientRect().top"
        " - document.querySelector('#play').getBoundingClientRect().top"
    ) == pytest.approx(0, abs=6), "one row of controls"
    home = await at.position("Apex")
    touch = await at.context.new_cdp_session(at.page)

    async def fingers(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(places)]
        await touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    x, y = await at.place_on_screen(320, 240)
    # The first finger comes down on a marker, which a pinch must not take along.
    apex = await at.place_on_screen(50, 50)
    await fingers("touchStart", apex)
    await fingers("touchMove", (apex[0] + 6, apex[1] + 6))
    await fingers("touchStart", apex, (x, y))
    await fingers("touchMove", (apex[0] - 10, apex[1] - 10), (x + 60, y + 60))
    await fingers("touchEnd")
    level = at.page.locator("#nearness-level")
    await expect(level).to_have_text(re.compile(r"1[3-9]\d %"))
    assert await at.position("Apex") == home
    before = await at.middle()
    await fingers("touchStart", (x, y))
    for step in range(1, 6):
        await fingers("touchMove", (x - 8 * step, y - 6 * step))
    await fingers("touchEnd")
    after = await at.middle()
    assert after[0] > before[0] + 15
    assert await at.page.evaluate("scrollY") == 0
    await at.page.locator("#fit").tap()
    await expect(level).to_have_text("100 %")
