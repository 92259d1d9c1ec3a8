"""Every page, in the states that people meet, by the rules of axe-core in both colour schemes: no violation."""

from __future__ import annotations

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page, expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import Person, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")

RUN = """async (rules) => {
    const options = { resultTypes: ['violations'], ...(rules ? { runOnly: { type: 'rule', values: rules } } : {}) };
    const { violations } = await axe.run(document, options);
    return violations.flatMap(({ id, nodes }) => nodes.map((node) =>
        `${id}: ${node.target.join(' ')}: ${node.html.slice(0, 160)}: ${node.failureSummary}`));
}"""


async def violations(page: Page) -> list[str]:
    """By all rules in light; what a colour scheme changes, the contrast, in dark as well."""
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    await page.evaluate(AXE_SCRIPT)
    found: list[str] = await page.evaluate(RUN, None)
    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    dark: list[str] = await page.evaluate(RUN, ["color-contrast"])
    return found + [f"dark: {one}" for one in dark]


@pytest.mark.long  # ten seconds; the other two of this file run each time
async def test_the_pages_before_and_after_the_door_break_no_rule_of_axe(
    site: Site, ada: Person, bean: str, visit: Opens
) -> None:
    assert bean, "for the list of movies"
    stranger = await visit()
    for path, field in (
        ("/signin", "E-mail"),
        ("/signin#register", "Course key"),
        ("/signin?problem=bad_link", "E-mail"),
    ):
        await stranger.open(path)
        await stranger.page.reload()  # what stands behind the # alone loads nothing
        await expect(stranger.page.get_by_role("textbox", name=field)).to_be_visible()
        assert await violations(stranger.page) == [], path

    new = await visit(site.person("Eli Rush"))
    await new.open("/")
    await expect(new.page.get_by_role("heading", name="Three steps")).to_be_visible()
    assert await violations(new.page) == [], "no movies"

    at = await visit(ada)
    for path, there in (
        ("/", ".movie"),
        ("/upload", "#upload-form"),
        ("/activity", ".trail li"),
        ("/course", "#not-yours"),
        ("/no/such/page", "main h1"),
    ):
        at.watch.expected.append("the server responded with a status of 404")
        await at.open(path)
        await expect(at.page.locator(there).first).to_be_visible()
        assert await violations(at.page) == [], path


async def test_the_teachers_page_breaks_no_rule_of_axe(
    site: Site, teacher: Person, ada: Person, new_movie: Makes, visit: Opens
) -> None:
    site.hold(ada, new_movie("Watched over"))
    at = await visit(teacher)
    await at.open("/course")
    await expect(at.page.locator("#now")).to_contain_text("Watched over")
    await at.page.get_by_label("Names and addresses").fill("Ada ada@school.example\nnobody")
    await at.page.get_by_role("button", name="Show the key").click()
    assert await violations(at.page) == []


@pytest.mark.long  # twelve seconds
async def test_analyze_breaks_no_rule_of_axe_in_any_of_its_states(
    site: Site, ada: Person, teacher: Person, traced_movie: str, new_movie: Makes, visit: Opens
) -> None:
    failed, watched = new_movie("Failed"), new_movie("Watched")
    site.change(failed, status="tracing failed", tracing_failure_summary="It looks cut off.", failure_code="cut_off")
    site.hold(teacher, watched)
    at = await visit(ada)
    for state, movie_id in (("untouched", new_movie("Untouched")), ("failed", failed), ("view-only", watched),
                            ("traced", traced_movie)):  # fmt: skip
        await at.analyze(movie_id)
        if state == "view-only":
            await expect(at.page.locator("#banner")).to_contain_text("Bo Field has been editing")
        else:
            await at.editable()
        if state == "traced":
            await expect(at.page.locator("#measures")).to_contain_text("Amplitude")
            await at.page.locator("#history summary").click()
            await expect(at.page.locator("#history .trail li").first).to_be_visible()
        assert await violations(at.page) == [], state
    await at.page.get_by_role("button", name="Keyboard shortcuts").click()
    assert await violations(at.page) == [], "the list of keys"


@pytest.mark.long  # a page of a thousand rows: axe takes most of a minute
async def test_the_list_of_routes_breaks_no_rule_of_axe(visit: Opens) -> None:
    """All entries are made alike, and axe takes half a minute for all of them: here one of each of a few parts."""
    at = await visit()
    await at.open("/docs")
    await at.page.evaluate(
        """for (const rest of ['section:nth-of-type(n+4):not(:last-of-type)', 'article:nth-of-type(n+2)'])
            for (const one of document.querySelectorAll(rest)) one.remove()"""
    )
    await expect(at.page.locator("article")).to_have_count(4)
    assert await violations(at.page) == []


@pytest.mark.long
async def test_the_whole_list_of_routes_breaks_no_rule_of_axe(visit: Opens) -> None:
    at = await visit()
    await at.open("/docs")
    assert await violations(at.page) == []
