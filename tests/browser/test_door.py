"""The door: ask for a link, register with a course key, and be told what is wrong with a link."""

from __future__ import annotations

from email import message_from_bytes
from email.policy import default

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Opens
from tests.browser.site import COURSE, Person, Site
from tests.browser.test_everyone import CONTRAST
from tests.support.mailroom import link_in

pytestmark = pytest.mark.asyncio(loop_scope="session")


def newest_link(site: Site, recipient: str) -> str:
    """Out of the folder in which the embedded default keeps its letters."""
    folder = site.app.settings.data / "outbox"
    letters = [message_from_bytes(path.read_bytes(), policy=default) for path in sorted(folder.glob("*.eml"))]
    return link_in(next(letter for letter in reversed(letters) if letter["To"] == recipient))  # type: ignore[arg-type]


async def test_a_new_student_registers_with_the_course_key_and_walks_in_by_the_link(
    site: Site, ada: Person, visit: Opens
) -> None:
    assert ada, "whose course it is"
    key = site.run(site.app.runtime.stores.people.course(COURSE))["course_key"]
    at = await visit()
    page = at.page
    at.watch.expected.append("the server responded with a status of 403")
    await at.open("/signin")
    await page.get_by_role("textbox", name="E-mail").fill("New@Student.example")
    await page.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("heading", name="Register")).to_be_visible()
    await expect(page.get_by_role("textbox", name="E-mail")).to_have_value("New@Student.example")
    await page.get_by_role("textbox", name="Course key").fill("wrong")
    await page.get_by_role("textbox", name="Your name").fill("Mira Fern")
    await page.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("alert")).to_have_text("No course has this key. Ask your teacher for it.")
    await page.get_by_role("textbox", name="Course key").fill(f" {key} ")
    await page.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("status")).to_contain_text("A sign-in link is on its way to this address.")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await at.shoot("registered-1280-light")
    link = newest_link(site, "new@student.example")
    await page.goto(link)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator("#user-name")).to_have_text("Mira Fern")


async def test_a_link_that_is_used_up_says_so_and_a_new_one_is_asked_for_there(
    site: Site, ada: Person, visit: Opens
) -> None:
    at = await visit()
    at.watch.expected.append("the server responded with a status of 403")
    page = at.page
    link = site.link_for(ada)
    await page.goto(link)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.locator("#user-name")).to_have_text("Ada Green")
    await page.goto(link)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("used already")
    await page.get_by_role("textbox", name="E-mail").fill("nobody@school.example")
    await page.get_by_role("button", name="Send me a link").click()
    await expect(page.get_by_role("status")).to_contain_text("If this address has an account")
    await expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
async def test_a_bad_link_is_explained_where_the_server_sends_its_person(visit: Opens, width: int, scheme: str) -> None:
    at = await visit(width=width, color_scheme=scheme)
    await at.open("/signin?problem=bad_link")
    await expect(at.page.get_by_role("alert")).to_contain_text("This sign-in link is not valid")
    await expect(at.page.get_by_role("textbox", name="E-mail")).to_be_visible()
    assert await at.page.evaluate(CONTRAST) == []
    await at.shoot(f"signin-bad-link-{width}-{scheme}")
    await at.open("/signin#course_key=shared-by-a-teacher")
    await at.page.reload()
    await expect(at.page.get_by_role("textbox", name="Course key")).to_have_value("shared-by-a-teacher")
    assert await at.page.evaluate(CONTRAST) == []
    await at.shoot(f"register-{width}-{scheme}")
