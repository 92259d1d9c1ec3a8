"""The teachers' page, and what happened in words: for those whom it concerns, and nobody else."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import COURSE, Person, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

LIST = "Mira Fern <mira@class.example>\nCy Moss cy@class\n7b;Łukasz;Reed;lukasz@class.example"


@pytest.fixture(scope="package")
def root(site: Site) -> Person:
    return site.person("Root Stone", super_role="superadmin")


async def test_a_teacher_registers_a_list_of_which_one_line_is_wrong(
    site: Site, teacher: Person, ada: Person, visit: Opens
) -> None:
    assert ada, "who is in the course too"
    at = await visit(teacher)
    page = at.page
    await at.open("/")
    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Course").click()
    await expect(page.get_by_role("heading", name="Bio 101")).to_be_visible()
    await expect(page.locator("#people")).to_contain_text("ada.green@school.test")
    await page.get_by_label("Names and addresses").fill(LIST)
    await expect(page.locator("#preview-said")).to_have_text("2 people can be registered, 1 line cannot.")
    await expect(page.locator("#preview-lines li").nth(1)).to_contain_text("“cy@class” is not complete")
    await page.get_by_role("button", name="Register 2 people").click()
    await expect(page.locator("#registered-said")).to_have_text("2 people came into the course, 1 line did not.")
    await expect(page.locator("#registered-lines li")).to_contain_text(
        ["Registered; a sign-in link is on its way.", "Not sent.", "Registered; a sign-in link is on its way."]
    )
    await expect(page.get_by_label("Names and addresses")).to_have_value("Cy Moss cy@class")
    await expect(page.locator("#people")).to_contain_text("Łukasz Reed")
    assert site.run(site.app.runtime.stores.people.user_of_email("mira@class.example"))
    await at.shoot("course-1280-light")

    await page.get_by_label("Find a person").fill("mira class")
    await expect(page.locator("#people-count")).to_contain_text("1 of ")
    await page.get_by_role("button", name="New link for Mira Fern").click()
    await expect(page.locator("#people-said")).to_contain_text("If mira@class.example has an account")

    await page.get_by_role("button", name="Show the key").click()
    key = site.run(site.app.runtime.stores.people.course(COURSE))["course_key"]
    await expect(page.get_by_label("Course key")).to_have_value(key)
    await expect(page.get_by_label("Address that has it")).to_have_value(f"{site.url}/signin#course_key={key}")


@pytest.mark.long  # roster.test.mjs has the rule
async def test_a_list_comes_from_a_file_of_an_older_spreadsheet_too(teacher: Person, visit: Opens) -> None:
    at = await visit(teacher)
    await at.open("/course")
    table = "Nachname;Vorname;E-Mail\r\nGroß;Käthe;kaethe@class.example\r\n".encode("windows-1252")
    await at.page.set_input_files("#roster-file", {"name": "class.csv", "mimeType": "text/csv", "buffer": table})
    await expect(at.page.locator("#preview-lines")).to_contain_text("Käthe Groß · kaethe@class.example")
    picture = {"name": "class.xlsx", "mimeType": "application/zip", "buffer": b"PK\0\0\xff\xff"}
    await at.page.set_input_files("#roster-file", picture)
    await expect(at.page.get_by_role("alert")).to_contain_text("Save the table as CSV")


async def test_a_teacher_sees_who_is_editing_now_and_it_keeps_itself_up_to_date(
    site: Site, teacher: Person, ada: Person, new_movie: Makes, visit: Opens
) -> None:
    """The page polls while it is seen, and not otherwise; here the test shows it again instead of waiting."""
    movie_id = new_movie("Under the lamp")
    at = await visit(teacher, width=390)
    await at.open("/course")
    now = at.page.locator("#now")
    await expect(at.page.locator("#people")).to_contain_text("Ada Green")
    await expect(now).not_to_contain_text("Under the lamp")
    shown = "document.dispatchEvent(new Event('visibilitychange'))"
    site.hold(ada, movie_id)
    await at.page.evaluate(shown)
    await expect(now.locator("li", has_text="Under the lamp")).to_contain_text("Ada Green is editing")
    await expect(now.locator("li", has_text="Under the lamp")).to_contain_text("since ")
    assert await at.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    await at.shoot("course-390-light", full=True)
    await now.get_by_role("link", name="Under the lamp").click()
    await expect(at.page.locator("#banner")).to_contain_text("Ada Green has been editing this movie since")
    await at.open("/course")
    await expect(now).to_contain_text("Under the lamp")
    site.free(movie_id)
    await at.page.evaluate(shown)
    await expect(now).not_to_contain_text("Under the lamp")


@pytest.mark.long  # the routes have tests of their own
async def test_a_superadmin_makes_an_administrator_takes_it_back_and_makes_a_course(
    root: Person, ada: Person, visit: Opens
) -> None:
    at = await visit(root, color_scheme="dark")
    page = at.page
    await at.open("/course")
    line = page.locator("#people > li", has_text=ada.name)
    await page.get_by_role("button", name=f"Make administrator: {ada.name}").click()
    await expect(page.locator("#people-said")).to_have_text("Ada Green administers the course now.")
    await expect(line.locator(".role")).to_have_text("administrator")
    await at.shoot("course-1280-dark")
    await page.get_by_role("button", name=f"Remove administrator: {ada.name}").click()
    await expect(page.locator("#people-said")).to_have_text("Ada Green administers the course no more.")
    await expect(line.locator(".role")).to_have_text("")

    await page.get_by_text("New course").click()
    await page.get_by_role("textbox", name="Name", exact=True).fill("Plants 7/8")
    await expect(page.get_by_label("Short name")).to_have_value("plants-7-8")
    await page.get_by_label("Most people").fill("30")
    await page.get_by_role("button", name="Make the course").click()
    await expect(page.get_by_role("heading", name="Plants 7/8")).to_be_visible()
    await expect(page.locator("#places")).to_have_text("0 of 30 places taken")
    await expect(page.get_by_role("combobox", name="Course")).to_have_value("plants-7-8")
    await expect(page.locator("#no-people")).to_have_text(
        "Nobody is in this course yet. Register a list, or give students the key."
    )


async def test_a_teacher_reads_what_happened_in_words(
    site: Site, teacher: Person, ada: Person, new_movie: Makes, visit: Opens
) -> None:
    movie_id = new_movie("Told of")
    site.tell("movie.tracing.started", ada, movie_id, 60, frames=40)
    site.tell("movie.lease.taken-over", teacher, movie_id)
    at = await visit(teacher)
    page = at.page
    await at.open("/activity")
    events = page.get_by_role("region", name="Events")
    await expect(events).to_contain_text("Bo Field took over editing “Told of”.")
    await expect(events.get_by_role("heading", name="Today")).to_be_visible()
    await at.shoot("activity-1280-light")

    await page.get_by_label("Movie").select_option("Told of")
    await expect(events.get_by_role("listitem")).to_have_count(50)
    await page.get_by_role("button", name="Show older").click()
    await expect(events.get_by_role("listitem")).to_have_count(61)
    await expect(page.get_by_role("button", name="Show older")).to_be_hidden()
    await page.get_by_label("Person").select_option(teacher.name)
    await expect(events.get_by_role("listitem")).to_have_count(1)
    await page.reload()
    await expect(events.get_by_role("listitem")).to_have_count(1)
    assert re.search(r"GMT|UTC|[A-Z]{2,4}\b", await events.locator("time").get_attribute("title") or ""), "the zone"
    await page.get_by_role("textbox", name="To").fill("2020-01-31")
    await expect(events).to_contain_text("Nothing of this kind has happened.")
    await page.get_by_role("button", name="Show all").click()
    await expect(events.get_by_role("listitem")).to_have_count(50)
    await events.get_by_role("link", name="Told of").first.click()
    await expect(page.locator("#movie-title")).to_have_text("Told of")


async def test_the_history_of_a_movie_is_read_when_it_is_opened_and_not_before(
    site: Site, ada: Person, new_movie: Makes, visit: Opens
) -> None:
    movie_id = new_movie("With a past")
    site.tell("movie.tracing.failed", ada, movie_id, error_summary="The movie ends after frame 7 of 40.")
    at = await visit(ada)
    asked: list[str] = []
    at.page.on("request", lambda request: asked.append(request.url))
    await at.analyze(movie_id)
    await at.editable()
    assert not any("get-logs" in url for url in asked)
    await at.page.get_by_text("History", exact=True).click()
    await expect(at.page.locator("#history")).to_contain_text(
        "The trace of “With a past” ended without a result: The movie ends after frame 7 of 40."
    )
    assert any("get-logs" in url for url in asked)
    await at.shoot("analyze-history-1280-light", full=True)


async def test_a_student_is_told_that_the_page_is_for_teachers_and_gets_no_data(
    site: Site, ada: Person, teacher: Person, new_movie: Makes, visit: Opens
) -> None:
    hidden = new_movie("Hidden from others")
    site.tell("movie.lease.taken-over", teacher, hidden)
    student = site.person("Di Sedge")
    at = await visit(student)
    at.watch.expected.append("the server responded with a status of 403")
    await at.open("/course")
    await expect(at.page.get_by_role("heading", name="This page is for teachers")).to_be_visible()
    await expect(at.page.get_by_role("navigation", name="Pages").get_by_role("link")).to_have_text(
        ["Movies", "Activity"]
    )
    await expect(at.page.locator("#page")).to_be_hidden()
    refused = await at.page.evaluate(
        """async (course) => {
            const answer = await fetch(`api/list-users?course_id=${course}`);
            return [answer.status, (await answer.json()).message];
        }""",
        COURSE,
    )
    assert refused == [403, "You do not have the right to see the members of this course."]
    await at.page.get_by_role("main").get_by_role("link", name="Activity").click()
    await expect(at.page.get_by_role("heading", name="Activity")).to_be_visible()
    await expect(at.page.locator(".trail")).to_have_attribute("aria-busy", "false")
    await expect(at.page.get_by_role("region", name="Events")).not_to_contain_text("Hidden from others")


async def test_a_teacher_whose_right_is_taken_away_meanwhile_is_told_so_on_the_open_pages(
    site: Site, root: Person, new_movie: Makes, visit: Opens
) -> None:
    """What was changed is not thrown away, and nothing of the course is shown any longer."""
    helper = site.person("Ida Fern", admin=True)
    at = await visit(helper)
    at.watch.expected.append("the server responded with a status of 403")
    course = await at.context.new_page()
    await course.goto(f"{site.url}/course")
    await expect(course.locator("#people")).to_contain_text("Ida Fern")
    movie_id = new_movie("Once in Ida's care")
    site.change(movie_id, published=True)
    await at.analyze(movie_id)
    await at.editable()
    taken = await at.context.request.delete(
        f"{site.url}/api/admin/courses/{COURSE}/administrators/{helper.user_id}", headers={"x-api-key": root.api_key}
    )
    assert taken.ok

    await at.page.locator(".marker-main").first.press("ArrowRight")
    await expect(at.page.locator("#banner-text")).to_have_text(
        "You do not have the right to change this movie. Your changes to frame 0 are kept here, not saved yet."
    )
    await expect(at.page.locator("#saving")).to_have_text("kept here, not saved")
    for name in ("Add marker", "Trace movie"):
        await expect(at.page.get_by_role("button", name=name)).to_be_disabled()
    await at.page.get_by_role("button", name="Discard my changes").click()
    await expect(at.page.locator("#banner-text")).not_to_contain_text("kept here")
    await expect(at.page.locator("#saving")).not_to_have_text("kept here, not saved")
    await course.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # as one who looks again
    await expect(course.get_by_role("heading", name="This page is for teachers")).to_be_visible()
    await expect(course.locator("#people")).to_be_hidden()
