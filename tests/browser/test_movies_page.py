"""The list of movies: played, taken home, brought back, and quiet while nothing moves."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, Request, expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import HEIGHT, WIDTH, Person, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def _open_menu(card: Locator) -> None:
    if await card.locator(".menu").get_attribute("open") is None:
        await card.locator("summary").click()


async def test_a_traced_movie_is_played_and_taken_home_from_the_list(
    new_traced_movie: Makes, ada: Person, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    page = at.page
    await at.open("/")
    card = page.locator(f'.movie[data-key="{traced_movie}"]')
    await _open_menu(card)
    await card.get_by_role("button", name="Play with its trace").click()
    await page.wait_for_function("() => document.querySelector('#video').readyState >= 2")
    size = await page.evaluate(
        "[document.querySelector('#video').videoWidth, document.querySelector('#video').videoHeight]"
    )
    assert size == [WIDTH, HEIGHT]
    await at.shoot("movies-playing-1280-light")
    await page.get_by_role("button", name="Close").click()
    await _open_menu(card)
    async with page.expect_download() as arriving:
        await card.get_by_role("link", name="Download Excel").click()
    assert (await arriving.value).suggested_filename.endswith(".xlsx")
    await _open_menu(card)
    async with page.expect_download() as arriving:
        await card.get_by_role("button", name="Download traced movie").click()
    assert (await arriving.value).suggested_filename == "Bean in blue light traced.mp4"


async def test_what_was_deleted_long_ago_is_found_and_brought_back(new_movie: Makes, ada: Person, visit: Opens) -> None:
    """Without the toast, which is gone after a while."""
    movie_id = new_movie("Old cress")
    at = await visit(ada)
    page = at.page
    await at.open("/")
    card = page.locator(f'.movie[data-key="{movie_id}"]')
    await _open_menu(card)
    await card.get_by_role("button", name="Delete").click()
    await expect(card).to_have_count(0)
    await page.reload()
    await page.get_by_label("Deleted (").check()
    await expect(card).to_contain_text("Deleted; it can be brought back.")
    await at.shoot("movies-deleted-1280-light")
    await card.get_by_role("button", name="Bring back").click()
    await expect(page.get_by_role("button", name="Bring back: Old cress")).to_have_count(0)
    await at.open("/")
    await expect(card.get_by_role("link", name="Analyze: Old cress")).to_be_visible()


async def test_nothing_is_asked_while_nothing_moves(site: Site, visit: Opens) -> None:
    """Coming back to the page reads the list again."""
    person = site.person("Kim Quill")
    site.shelve(person, "A quiet movie")
    at = await visit(person, fresh=True)
    page = at.page
    asked: list[str] = []

    def note(request: Request) -> None:
        if "list-movies" in request.url:
            asked.append(request.url)

    page.on("request", note)
    await page.clock.install()
    await at.open("/")
    await expect(page.locator(".movie", has_text="A quiet movie")).to_be_visible()
    assert len(asked) == 1
    await page.clock.run_for(600_000)
    assert len(asked) == 1
    async with page.expect_request("**/api/list-movies"):
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


async def test_what_another_tab_deleted_goes_away_when_it_is_touched_and_the_reason_stays(
    site: Site, new_movie: Makes, ada: Person, visit: Opens
) -> None:
    """Also while something else in the list moves, so that it is read again every few seconds."""
    movie_id = new_movie("Gone elsewhere")
    at = await visit(ada)
    at.watch.expected.append("409")
    page = at.page
    await at.open("/")
    card = page.locator(f'.movie[data-key="{movie_id}"]')
    await card.locator("summary").click()
    site.change(movie_id, deleted=True)
    await card.get_by_role("button", name="Rename").click()
    await card.get_by_label("New title").fill("Another name")
    await page.keyboard.press("Enter")
    await expect(card).to_have_count(0)
    said = page.locator("#problem")
    await expect(said).to_contain_text("deleted")
    async with page.expect_response("**/api/list-movies"):
        await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await expect(said).to_contain_text("deleted")
