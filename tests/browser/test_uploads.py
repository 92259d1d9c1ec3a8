"""Movies on their way in: several at once, over a line that breaks, lying on their side."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from tests.browser.conftest import Opens
from tests.browser.site import HEIGHT, WIDTH, Filmed, Person, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_several_files_go_one_after_the_other_and_what_is_no_movie_stays_behind(
    site: Site, film: Filmed, visit: Opens, tmp_path: Path
) -> None:
    """Each has a title of its own; the interval goes for all."""
    at = await visit(site.person("Gia Sedge"))
    page = at.page
    for name in ("root_one.mp4", "root_two.mp4"):
        shutil.copy(film.path, tmp_path / name)
    (tmp_path / "notes.txt").write_text("water the beans")
    await at.open("/upload")
    await page.set_input_files("#file", [tmp_path / name for name in ("root_one.mp4", "notes.txt", "root_two.mp4")])
    await expect(page.locator("#form-problem")).to_have_text("notes.txt is not a movie. Choose the movie itself.")
    await expect(page.get_by_label("Title of")).to_have_count(2)
    await expect(page.locator("#drop-text")).to_have_text("2 files")
    await page.get_by_label("Title of root_two.mp4").fill("The second root")
    await page.get_by_label("Time between two pictures").fill("2")
    await at.shoot("upload-chosen-1280-light")
    await page.get_by_role("button", name="Upload").click()
    cards = page.locator(".transfer")
    await expect(cards.locator("h2")).to_have_text(["root one", "The second root"])
    await expect(page.get_by_role("link", name="Analyze it")).to_have_count(2, timeout=30_000)
    await expect(cards.locator(".said")).to_have_text(2 * ["It has 40 frames and is ready."])
    await at.shoot("upload-ready-1280-light", full=True)
    await at.open("/")
    for title in ("root one", "The second root"):
        await expect(page.get_by_role("link", name=f"Analyze: {title}")).to_have_count(1)


async def test_a_line_that_breaks_costs_the_bytes_and_makes_no_second_movie_c30(
    site: Site, film: Filmed, visit: Opens
) -> None:
    """A lost answer to the announcement and a form that got nowhere: both are asked for again under one request key."""
    at = await visit(site.person("Hal Rush"))
    page = at.page
    at.watch.expected.append("net::ERR_")
    broken: list[str] = []

    async def breaks_once(route: Route) -> None:
        what = "announced" if "new-movie" in route.request.url else "sent"  # a form's address is another each time
        if what in broken:
            await route.continue_()
            return
        broken.append(what)
        if what == "announced":
            await route.fetch()  # it was done; its answer gets lost
        await route.abort("connectionreset")

    await page.route("**/api/new-movie", breaks_once)
    await page.route("**/storage/**", breaks_once)
    await at.open("/upload")
    await page.set_input_files("#file", film.path)
    await page.get_by_role("button", name="Upload").click()
    await expect(page.get_by_role("link", name="Analyze it")).to_be_visible(timeout=30_000)
    assert broken == ["announced", "sent"]
    await at.open("/")
    await expect(page.get_by_role("link", name="Analyze: bean in blue light")).to_have_count(1)


async def test_two_tabs_send_at_once_and_each_tells_of_its_own(site: Site, film: Filmed, visit: Opens) -> None:
    """The same bytes twice: two wishes, so two movies."""
    at = await visit(site.person("Kim Rush"))
    tabs = [at.page, await at.context.new_page()]
    for tab, title in zip(tabs, ("Left tab", "Right tab"), strict=True):
        await tab.goto(f"{site.url}/upload")
        await tab.set_input_files("#file", film.path)
        await tab.get_by_role("textbox", name="Title").fill(title)
    await asyncio.gather(*(tab.get_by_role("button", name="Upload").click() for tab in tabs))
    for tab, title in zip(tabs, ("Left tab", "Right tab"), strict=True):
        await expect(tab.locator(".transfer h2")).to_have_text([title])
        await expect(tab.locator(".transfer .said")).to_have_text("It has 40 frames and is ready.", timeout=30_000)
    links = [await tab.get_by_role("link", name="Analyze it").get_attribute("href") for tab in tabs]
    assert len(set(links)) == 2
    await at.open("/")
    for title in ("Left tab", "Right tab"):
        await expect(at.page.get_by_role("link", name=f"Analyze: {title}")).to_have_count(1)


@pytest.mark.long  # test_player turns one on Analyze
async def test_a_movie_that_lies_on_its_side_is_turned_where_it_was_sent_a22(
    site: Site, film: Filmed, visit: Opens
) -> None:
    """Twice by a quarter: the picture stands, then lies again; the last turn is left to itself."""
    at = await visit(site.person("Ike Thorn"))
    page = at.page
    await at.open("/upload")
    await page.set_input_files("#file", film.path)
    await page.get_by_role("button", name="Upload").click()
    lying, standing = f"{WIDTH} x {HEIGHT}", f"{HEIGHT} x {WIDTH}"
    shown = """size => { const picture = document.querySelector('.first-picture');
        return picture.complete && `${picture.naturalWidth} x ${picture.naturalHeight}` === size; }"""
    for size in (lying, standing, lying):
        await expect(page.get_by_role("link", name="Analyze it")).to_be_visible(timeout=30_000)
        await page.wait_for_function(shown, arg=size)
        await page.get_by_role("button", name="Rotate by 90°").dblclick()  # a double click is one wish (A23)
        await expect(page.get_by_role("link", name="Analyze it")).to_be_hidden()


async def test_a_file_that_is_longer_than_the_service_takes_is_refused_before_it_is_read(
    ada: Person, film: Filmed, visit: Opens
) -> None:
    """The limit is the operator's, not the page's."""
    at = await visit(ada)

    async def with_a_low_limit(route: Route) -> None:
        answer = await route.fetch()
        told = await answer.json()
        assert told["user"]["max_upload_bytes"] == 268_435_456
        told["user"]["max_upload_bytes"] = 3000
        await route.fulfill(response=answer, json=told)

    await at.page.route("**/api/check-api_key", with_a_low_limit)
    await at.open("/upload")
    await expect(at.page.locator("#drop-facts")).to_contain_text("others, up to 3 kB each")
    await at.page.set_input_files("#file", film.path)
    await expect(at.page.locator("#form-problem")).to_contain_text("up to 3 kB can be taken")
    await expect(at.page.get_by_role("button", name="Upload")).to_be_disabled()
    await expect(at.page.get_by_label("Title")).to_have_count(0)


@pytest.mark.long
async def test_whoever_has_no_movie_tries_the_sample(site: Site, visit: Opens) -> None:
    at = await visit(site.person("Joy Reed"))
    await at.open("/")
    await at.page.get_by_role("link", name="Try the sample movie").click()
    await expect(at.page.get_by_text("A plant that never lived is being filmed for you.")).to_be_visible()
    await at.shoot("upload-sample-1280-light")
    await expect(at.page.get_by_role("link", name="Analyze it")).to_be_visible(timeout=60_000)
    assert at.page.url.endswith("/upload"), "loaded again, the page takes no second sample"
    await at.page.get_by_role("link", name="Analyze it").click()
    await expect(at.page.locator("#movie-title")).to_have_text("Sample: a bean that nods")
    await at.editable()
