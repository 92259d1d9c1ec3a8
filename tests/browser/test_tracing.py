"""The trace as a person meets it: one click is one trace, one may leave, a failure has a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Route, expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import Filmed, Person, Site, filmed
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def _marked(at: Visitor, movie_id: str, film: Filmed) -> None:
    await at.analyze(movie_id)
    await at.editable()
    await at.drag_default_markers_to(film.markers)
    await at.saved()


async def test_a_trace_whose_answer_was_lost_is_asked_for_again_and_runs_once(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    movie_id = new_movie("Pea, bad line")
    at = await visit(ada)
    at.watch.expected.append("ERR_FAILED")
    await _marked(at, movie_id, film)
    asked: list[dict[str, Any]] = []
    answered: list[dict[str, Any]] = []
    reasons: list[str | None] = []

    async def lose_the_first_answer(route: Route) -> None:
        asked.append(route.request.post_data_json or {})
        reasons.append(route.request.headers.get("x-retry-reason"))
        reply = await route.fetch()
        answered.append(await reply.json())
        if len(asked) == 1:
            await route.abort()
        else:
            await route.fulfill(response=reply)

    await at.page.route("**/trace-movie", lose_the_first_answer)
    await at.page.get_by_role("button", name="Trace movie").click()
    await expect(at.page.locator("#measures")).to_contain_text("Amplitude", timeout=60_000)
    assert len(asked) == 2
    assert asked[0] == asked[1], "the same intent, byte for byte"
    assert answered[0]["job_id"] == answered[1]["job_id"]
    assert [answer["replayed"] for answer in answered] == [False, True]
    assert reasons == [None, "network"]


@pytest.mark.long  # the journey waits for a result too
async def test_one_may_leave_a_trace_and_finds_the_result_on_coming_back(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    """A15: the list's own polls reach the end too."""
    movie_id = new_movie("Morning glory")
    at = await visit(ada)
    await _marked(at, movie_id, film)
    await at.page.get_by_role("button", name="Trace movie").click()
    await expect(at.page.get_by_role("button", name="Cancel")).to_be_visible()
    await at.open("/")
    card = at.page.locator(".movie", has_text="Morning glory")
    await expect(card.locator(".status-word")).to_have_text("traced", timeout=60_000)
    await card.get_by_role("link", name="Analyze").click()
    await expect(at.page.locator("#measures")).to_contain_text("Amplitude")
    await at.editable()


@pytest.mark.long  # the keyboard cancels one too
async def test_a_cancelled_trace_says_so_and_gives_the_markers_back(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    movie_id = new_movie("Cress")
    at = await visit(ada)
    await _marked(at, movie_id, film)
    placed = await at.position("Apex")
    await at.page.get_by_role("button", name="Trace movie").click()
    await at.page.get_by_role("button", name="Cancel").click()
    await expect(at.page.locator("#banner")).to_contain_text("It was cancelled. Your markers are kept")
    await at.editable()
    assert await at.position("Apex") == placed


async def test_a_failed_trace_shows_its_reason_on_both_pages(
    site: Site, ada: Person, film: Filmed, visit: Opens
) -> None:
    movie_id = site.upload(ada, film, "Lost file")
    at = await visit(ada)
    await _marked(at, movie_id, film)
    site.break_movie(movie_id)
    await at.page.get_by_role("button", name="Trace movie").click()
    reason = "could not be fetched from storage"
    await expect(at.page.locator("#banner")).to_contain_text(reason, timeout=60_000)
    await expect(at.page.locator("#facts")).to_contain_text("tracing failed")
    await at.editable()
    await at.shoot("analyze-failed-1280-light")
    await at.open("/")
    card = at.page.locator(".movie", has_text="Lost file")
    await expect(card).to_contain_text(reason)
    await expect(card.locator(".go")).to_have_text("Try again")


async def test_a_lost_marker_is_said_marked_on_the_bar_and_reached_with_one_click(
    site: Site, ada: Person, visit: Opens, tmp_path: Path
) -> None:
    hidden = filmed(tmp_path / "hidden.mp4", name="occlusion")
    movie_id = site.traced(ada, hidden, "Hidden for a while")
    at = await visit(ada)
    await at.analyze(movie_id)
    await at.editable()
    at.watch.expected.append("willReadFrequently")  # this test reads the bar's pixels, the page does not
    said = at.page.locator("#lost-list li").first
    await expect(said).to_contain_text("Apex could not be followed")
    first_lost = int(re.findall(r"frame (\d+)", await said.inner_text())[0])
    await said.get_by_role("button").click()
    await expect(at.page.get_by_label("Frame number")).to_have_value(str(first_lost))
    await expect(at.page.locator(".marker.lost .marker-name")).to_have_text("Apex (lost here)")
    assert await _bar_color(at, first_lost, hidden.scene.frames) == await _css_color(at, "--lost")
    assert await _bar_color(at, 0, hidden.scene.frames) == await _css_color(at, "--tracked")
    await at.shoot("analyze-lost-marker-1280-light")
    await at.page.get_by_label("Frame number").fill("0")
    await at.page.get_by_label("Frame number").press("Enter")
    await at.page.get_by_role("button", name="Next doubtful").click()
    doubtful = int(await at.page.get_by_label("Frame number").input_value())
    assert 0 < doubtful <= first_lost
    await at.page.locator(".marker-main", has_text="Apex").press("ArrowUp")
    await expect(at.page.locator(".marker.lost")).to_have_count(0)


async def _bar_color(at: Visitor, frame: int, frames: int) -> list[int]:
    """The colour of one frame's place on the bar."""
    color: list[int] = await at.page.evaluate(
        """([part]) => {
            const bar = document.querySelector('#strip');
            const at = [Math.floor(bar.width * part), Math.floor(bar.height / 2), 1, 1];
            return [...bar.getContext('2d').getImageData(...at).data].slice(0, 3);
        }""",
        [(frame + 0.5) / frames],
    )
    return color


async def _css_color(at: Visitor, name: str) -> list[int]:
    hexadecimal: str = await at.page.evaluate("n => getComputedStyle(document.body).getPropertyValue(n).trim()", name)
    return [int(hexadecimal[place : place + 2], 16) for place in (1, 3, 5)]


async def test_a_point_placed_by_mistake_is_left_to_the_next_trace(
    new_traced_movie: Makes, ada: Person, visit: Opens
) -> None:
    """A word of a person's outlasts every trace: the page shows whose it is, and takes it back."""
    at = await visit(ada)
    await at.analyze(new_traced_movie("Arabidopsis, mistaken"))
    await at.editable()
    await _go(at, 20)
    right = await at.position("Apex")
    row = at.page.locator("#marker-list li", has_text="Apex")
    await expect(row).not_to_have_class(re.compile("by-hand"))
    for _ in range(6):
        await at.page.locator(".marker-main", has_text="Apex").press("Shift+ArrowLeft")
    await at.saved()
    await expect(row).to_have_class(re.compile("by-hand"))
    await at.shoot("analyze-by-hand")
    leave, card = await row.locator(".danger").bounding_box(), await at.page.locator("#markers").bounding_box()
    assert leave
    assert card
    assert leave["x"] + leave["width"] <= card["x"] + card["width"], "its words are longer than those of Delete"
    await row.get_by_role("button", name="Leave to the trace").click()
    await expect(row).to_have_count(0)
    await at.saved()
    await at.page.get_by_role("button", name="Trace again").click()
    await expect(at.page.locator("#tracing")).to_be_visible()
    await expect(at.page.locator("#have-results")).to_be_visible(timeout=60_000)
    await _go(at, 20)
    assert await at.position("Apex") == pytest.approx(right, abs=2)
    await expect(row).not_to_have_class(re.compile("by-hand"))


async def test_a_hand_that_rests_in_a_drag_puts_the_marker_where_it_lets_go(
    new_traced_movie: Makes, ada: Person, visit: Opens
) -> None:
    """Nothing is saved until it is let go, and neither that nor news of the connection moves the frame meanwhile."""
    at = await visit(ada)
    await at.analyze(new_traced_movie("Arabidopsis, slowly"))
    await at.editable()
    await _go(at, 20)
    x, y = await at.position("Apex")
    sent: list[str] = []
    at.page.on("request", lambda request: sent.append(request.url) if "put-frame-trackpoints" in request.url else None)
    mouse, height = at.page.mouse, 480
    await mouse.move(*await at.place_on_screen(x, height - y))
    await mouse.down()
    goal = await at.place_on_screen(x + 40, height - y + 30)
    await mouse.move(*goal, steps=4)
    above = (await at.page.locator("#frame").bounding_box() or {})["y"]
    await at.page.wait_for_timeout(700)
    assert sent == []
    await mouse.move(goal[0] + 1, goal[1])
    await mouse.move(*goal)
    await mouse.up()
    await at.saved()
    assert len(sent) == 1
    assert await at.position("Apex") == pytest.approx((x + 40, y - 30), abs=1.5)
    assert (await at.page.locator("#frame").bounding_box() or {})["y"] == above
    await expect(at.page.locator("#trace-hint")).to_contain_text("Markers were moved after the last trace.")


async def test_a_marker_moved_on_a_later_frame_is_retraced_from_there_b14(
    new_traced_movie: Makes, ada: Person, visit: Opens
) -> None:
    """Twice in one movie, the second time before the first: both corrections stay where a person put them."""
    movie_id = new_traced_movie("Arabidopsis, corrected")
    at = await visit(ada)
    await at.analyze(movie_id)
    await at.editable()
    await _go(at, 20)
    await at.page.locator(".marker-main", has_text="Apex").press("Shift+ArrowLeft")
    await at.saved()
    moved = await at.position("Apex")
    await expect(at.page.locator("#trace-hint")).to_contain_text("Markers were moved after the last trace.")
    await expect(at.page.locator("#banner")).to_be_hidden()
    await at.page.get_by_role("button", name="Retrace from here").click()
    await expect(at.page.locator("#tracing")).to_be_visible()
    await expect(at.page.locator("#have-results")).to_be_visible(timeout=60_000)
    await expect(at.page.locator("#trace-hint")).not_to_contain_text("Markers were moved")
    assert await at.position("Apex") == moved, "the frame that was corrected stays as it was placed"

    await _go(at, 5)
    untouched = await at.position("Apex")
    await _go(at, 10)
    await at.editable()
    await at.page.locator(".marker-main", has_text="Apex").press("Shift+ArrowUp")
    await at.saved()
    earlier = await at.position("Apex")
    await at.page.get_by_role("button", name="Retrace from here").click()
    await expect(at.page.locator("#tracing")).to_be_visible()
    await expect(at.page.locator("#have-results")).to_be_visible(timeout=60_000)
    for frame, place in ((5, untouched), (10, earlier), (20, moved)):
        await _go(at, frame)
        assert await at.position("Apex") == place, frame


async def _go(at: Visitor, frame: int) -> None:
    number = at.page.get_by_label("Frame number")
    await number.fill(str(frame))
    await number.press("Enter")
    await expect(number).to_have_value(str(frame))


async def test_markers_are_renamed_added_and_removed_and_all_of_it_can_be_undone(
    new_traced_movie: Makes, ada: Person, visit: Opens
) -> None:
    movie_id = new_traced_movie("Renamed")
    at = await visit(ada)
    await at.analyze(movie_id)
    await at.editable()
    names = at.page.locator(".marker-name")
    await at.page.locator(".marker-main", has_text="Apex").press("F2")
    await at.page.get_by_label("New name of Apex").fill("Ruler 0mm")
    await at.page.keyboard.press("Enter")
    await expect(at.page.get_by_role("alert").first).to_have_text("There is a marker called Ruler 0mm already.")
    await at.page.get_by_label("New name of Apex").fill("Shoot tip")
    await at.page.keyboard.press("Enter")
    await expect(names).to_have_text(["Shoot tip", "Ruler 0mm", "Ruler 10mm"])
    await at.page.get_by_role("button", name="Inflection point").click()
    await expect(names).to_have_count(4)
    await at.page.keyboard.press("Delete")
    await expect(names).to_have_count(3)
    for count in (4, 3):
        await at.page.keyboard.press("Control+z")
        await expect(names).to_have_count(count)
    await at.page.keyboard.press("Control+z")
    await expect(at.page.locator(".marker-main", has_text="Apex")).to_be_visible()
    await at.saved()
    await at.page.reload()
    await expect(at.page.locator(".marker-main", has_text="Apex")).to_be_visible()


async def test_trim_and_interval_are_set_and_kept(new_traced_movie: Makes, ada: Person, visit: Opens) -> None:
    movie_id = new_traced_movie("Trimmed")
    at = await visit(ada)
    await at.analyze(movie_id)
    await at.editable()
    await at.page.get_by_label("One picture every").fill("1.5")
    await at.page.get_by_label("Unit of time").select_option("h")
    await at.page.get_by_role("button", name="Set", exact=True).click()
    await expect(at.page.locator("#facts")).to_contain_text("one picture every 1.5 h")
    await at.page.get_by_label("Last frame", exact=True).fill("30")
    await at.page.get_by_label("Last frame", exact=True).press("Enter")
    await expect(at.page.locator("#basis")).to_contain_text("of 31 frames")
    handle = at.page.get_by_role("slider", name="Last frame of the trim")
    await handle.press("ArrowLeft")
    await handle.press("PageDown")
    await expect(at.page.get_by_label("Frame number")).to_have_value("19")
    await expect(at.page.locator("#basis")).to_contain_text("of 20 frames")
    await expect(at.page.get_by_label("Last frame", exact=True)).to_have_value("19")
    await at.page.get_by_label("First frame", exact=True).fill("35")
    await at.page.get_by_label("First frame", exact=True).press("Enter")
    await expect(at.page.locator("#settings-problem")).not_to_be_empty()
    await expect(at.page.get_by_label("First frame", exact=True)).to_have_value("0")
    at.watch.expected.append("400 (Bad Request)")
