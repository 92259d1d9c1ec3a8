"""Who may edit: the lease as a person meets it, in two windows, over a bad line, and across a reload."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Request, Route, expect

from tests.browser.conftest import Opens
from tests.browser.site import Person, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def sunflower(site: Site, seed: str) -> str:
    return site.copy(seed, "Sunflower hypocotyl")


@pytest.fixture
def movie(site: Site, sunflower: str) -> str:
    """One movie for all these tests, held by nobody."""
    site.free(sunflower)
    return sunflower


async def test_a_second_person_watches_and_gets_to_edit_when_the_first_one_leaves_b22(
    ada: Person, teacher: Person, traced_movie: str, visit: Opens
) -> None:
    first = await visit(ada)
    await first.analyze(traced_movie)
    await first.editable()

    second = await visit(teacher)
    await second.analyze(traced_movie)
    banner = second.page.locator("#banner")
    await expect(banner).to_contain_text("Ada Green has been editing this movie since")
    await expect(banner).to_contain_text("You can watch and download.")
    await expect(second.page.get_by_role("button", name="Trace again")).to_be_disabled()
    await expect(second.page.locator("#download-csv")).to_have_attribute("href", re.compile("format=csv"))
    before = await second.position("Apex")
    film_apex = (before[0], 480 - before[1])
    await second.drag(film_apex, (film_apex[0] + 60, film_apex[1]))
    assert await second.position("Apex") == before, "nothing moves for somebody who only watches"
    await second.shoot("analyze-watching-1280-light")

    await second.open("/")
    card = second.page.locator(".movie", has_text="Bean in blue light").first
    await expect(card).to_contain_text("Ada Green is editing since")
    await expect(card.locator(".go")).to_have_text("Watch")
    await second.analyze(traced_movie)
    await expect(banner).to_contain_text("Ada Green has been editing")
    await first.page.close()
    await second.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as one who looks again
    await second.editable()
    await expect(banner).to_be_hidden()


async def test_a_persons_own_other_tab_can_be_continued_and_the_old_tab_keeps_its_edits_b21_c24(
    ada: Person, movie: str, visit: Opens
) -> None:
    first = await visit(ada)
    first.watch.expected.append("409 (Conflict)")
    await first.analyze(movie)
    await first.editable()
    second = await visit(ada)
    await second.analyze(movie)
    await expect(second.page.locator("#banner")).to_contain_text("in another tab or on another computer")
    await second.page.get_by_role("button", name="Continue here").click()
    await second.editable()

    await first.drag((50, 50), (200, 120))
    banner = first.page.locator("#banner")
    await expect(banner).to_contain_text("Editing moved to another page")
    await expect(banner).to_contain_text("Your changes to frame 0 are kept here, not saved yet.")
    assert (await first.position("Apex"))[0] == pytest.approx(200, abs=0.8), "the edit is still on the screen"
    await first.shoot("analyze-lost-1280-light")
    await first.page.get_by_role("button", name="Take it back").click()
    await first.saved()
    await expect(banner).to_be_hidden()

    await second.page.reload()
    await expect(second.page.locator("#banner")).to_contain_text("in another tab")
    assert (await second.position("Apex"))[0] == pytest.approx(200, abs=0.8)


async def test_a_reloaded_page_goes_on_editing_with_what_was_not_saved_a07(
    ada: Person, movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    at.watch.expected.append("ERR_FAILED")
    await at.analyze(movie)
    await at.editable()
    puts = "**/api/put-frame-trackpoints"
    await at.page.route(puts, lambda route: route.abort())
    before = await at.position("Apex")
    await at.page.locator(".marker-main").first.press("Shift+ArrowRight")
    await expect(at.page.locator("#banner")).to_contain_text("Your edits are kept; trying again.", timeout=20_000)
    await at.page.unroute(puts)
    at.page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.accept()))
    await at.page.reload()
    await at.editable()
    await at.saved()
    assert await at.position("Apex") == (before[0] + 10, before[1])


async def test_a_duplicated_tab_is_told_apart_and_takes_nothing_from_the_first_c24(
    ada: Person, movie: str, visit: Opens
) -> None:
    """A duplicate starts with a copy of the tab's own storage, also when the tab has been left for it before."""
    at = await visit(ada)
    await at.analyze(movie)
    await at.editable()
    await at.page.reload()  # which leaves something in that storage, and takes it out again
    await at.editable()
    await at.page.evaluate("sessionStorage.setItem('is-copied', 'yes')")
    async with at.context.expect_page() as opening:
        await at.page.evaluate("void window.open(location.href)")
    double = await opening.value
    assert await double.evaluate("sessionStorage.getItem('is-copied')") == "yes", "as Duplicate tab does"
    await expect(double.locator("#banner")).to_contain_text("You are editing this movie in another tab")
    await expect(double.get_by_role("button", name="Add marker")).to_be_disabled()

    before = await at.position("Apex")
    await at.page.locator(".marker-main").first.press("Shift+ArrowRight")
    await at.saved()
    await double.close()
    await at.page.reload()
    await at.editable()
    assert await at.position("Apex") == (before[0] + 10, before[1]), "the double's leaving released nothing"
    assert await at.page.locator("#banner").is_hidden()


async def test_a_broken_line_is_told_and_heals_by_itself_a10(ada: Person, movie: str, visit: Opens) -> None:
    at = await visit(ada)
    at.watch.expected += ["503", "Service Unavailable"]
    await at.analyze(movie)
    await at.editable()
    refusals = 0

    async def refuse_twice(route: Route) -> None:
        nonlocal refusals
        refusals += 1
        if refusals > 2:
            await route.continue_()
            return
        body = {"error": True, "message": "The storage is busy.", "code": "unavailable"}
        await route.fulfill(status=503, json=body, headers={"Retry-After": "1"})

    await at.page.route("**/api/put-frame-trackpoints", refuse_twice)
    await at.page.locator(".marker-main").first.press("ArrowLeft")
    await expect(at.page.locator("#banner")).to_have_text("Connection is slow. Your edits are kept; trying again.")
    await at.saved()
    await expect(at.page.locator("#banner")).to_be_hidden()
    assert refusals == 3


async def test_heartbeats_keep_the_right_to_edit_and_tell_when_it_went_to_somebody_else_c26(
    site: Site, ada: Person, teacher: Person, movie: str, visit: Opens
) -> None:
    at = await visit(ada, fresh=True)
    await at.page.clock.install()
    await at.analyze(movie)
    await at.editable()
    async with at.page.expect_response("**/heartbeat-movie-analysis-lease") as first:
        await at.page.clock.fast_forward("01:01")
    assert (await (await first.value).json())["active"] is True

    site.free(movie)  # as when the time ran out while a laptop slept
    other = await visit(teacher)
    await other.analyze(movie)
    await other.editable()
    async with at.page.expect_response("**/heartbeat-movie-analysis-lease") as second:
        await at.page.clock.fast_forward("01:01")
    assert (await (await second.value).json())["active"] is False
    await expect(at.page.locator("#banner")).to_contain_text("Bo Field has been editing this movie since")
    await expect(at.page.get_by_role("button", name="Add marker")).to_be_disabled()


async def test_a_page_that_was_closed_leaves_no_lock_behind(ada: Person, movie: str, visit: Opens) -> None:
    at = await visit(ada)
    await at.analyze(movie)
    await at.editable()
    await at.open("/")
    card = at.page.locator(".movie", has_text="Sunflower hypocotyl")
    await expect(card).to_be_visible()
    await expect(card).not_to_contain_text("editing", timeout=20_000)


async def test_a_forgotten_tab_keeps_its_right_for_a_while_and_then_lets_others_edit_c25(
    ada: Person, teacher: Person, movie: str, visit: Opens
) -> None:
    at = await visit(ada, fresh=True)
    await at.page.clock.install()
    await at.analyze(movie)
    await at.editable()
    beats = 0

    def count(request: Request) -> None:
        nonlocal beats
        beats += "heartbeat" in request.url

    at.page.on("request", count)
    await at.page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    for _ in range(16):  # longer than a lease, in a tab that nobody sees
        async with at.page.expect_response("**/heartbeat-movie-analysis-lease") as reply:
            await at.page.clock.fast_forward("01:00")
        assert (await (await reply.value).json())["active"] is True
    assert beats == 16

    async with at.page.expect_request("**/release-movie-analysis-lease"):
        await at.page.clock.fast_forward("15:00")
    await expect(at.page.locator("#banner")).to_contain_text("Nobody has touched this page since")
    await expect(at.page.get_by_role("button", name="Add marker")).to_be_disabled()
    other = await visit(teacher)
    await other.analyze(movie)
    await other.editable()
    await other.open("/")  # and leaves again

    await at.page.keyboard.press("Shift")
    await at.editable()
    await expect(at.page.locator("#banner")).to_be_hidden()
