"""What a page must survive: a browser that is killed, a worker that dies, a script that oversteps, very large text."""

from __future__ import annotations

import asyncio
import json

import psutil
import pytest
from playwright.async_api import expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import Filmed, Person, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_browser_that_was_killed_leaves_a_lock_that_its_person_can_take_over_at_once_c24(
    new_movie: Makes, ada: Person, visit: Opens
) -> None:
    """A07: no beacon was sent; nobody waits fifteen minutes for himself."""
    movie_id = new_movie("Poppy, crashed")
    first = await visit(ada, fresh=True)
    await first.analyze(movie_id)
    await first.editable()
    await first.drag((50, 50), (160, 90))
    await first.saved()
    crashed = asyncio.ensure_future(first.page.wait_for_event("crash"))
    tools = await first.context.new_cdp_session(first.page)
    crash = asyncio.ensure_future(tools.send("Page.crash"))
    await crashed
    crash.cancel()

    second = await visit(ada)
    await second.analyze(movie_id)
    await expect(second.page.locator("#banner")).to_contain_text("You are editing this movie in another tab")
    await second.page.get_by_role("button", name="Continue here").click()
    await second.editable()
    assert (await second.position("Apex"))[0] == pytest.approx(160, abs=0.8)


async def test_a_worker_that_dies_in_mid_trace_is_replaced_and_the_page_hears_of_the_result_alone_c15(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    movie_id = new_movie("Vetch, worker killed")
    at = await visit(ada)
    page = at.page
    await at.analyze(movie_id)
    await at.editable()
    await at.drag_default_markers_to(film.markers)
    await at.saved()
    await page.get_by_role("button", name="Trace movie").click()
    await expect(page.locator("#tracing")).to_be_visible()
    tracers = [
        child for child in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(child.cmdline())
    ]
    assert tracers
    for tracer in tracers:
        tracer.kill()
    await expect(page.locator("#measures")).to_contain_text("Amplitude", timeout=60_000)
    await at.editable()


async def test_over_a_lost_trace_that_will_resume_one_may_stop_it_and_edit_at_once(
    site: Site, new_traced_movie: Makes, ada: Person, visit: Opens
) -> None:
    movie_id = new_traced_movie("Thistle, stranded")
    site.strand(ada, movie_id)
    at = await visit(ada)
    await at.analyze(movie_id)
    await expect(at.page.locator("#tracing")).to_be_visible()
    await at.page.get_by_role("button", name="Stop and edit now").click()
    await at.editable()
    await expect(at.page.locator("#banner")).to_contain_text("It was cancelled")


async def test_what_a_view_only_page_writes_by_script_is_refused_by_the_server(
    new_movie: Makes, ada: Person, teacher: Person, visit: Opens
) -> None:
    """The lock is the server's, not the page's: no button, but every request that a button would send."""
    movie_id = new_movie("Lupin, watched")
    owner = await visit(ada)
    await owner.analyze(movie_id)
    await owner.editable()
    before = await owner.position("Apex")
    at = await visit(teacher)
    at.watch.expected += ["409 (Conflict)", "400 (Bad Request)"]
    await at.analyze(movie_id)
    await expect(at.page.locator("#banner")).to_contain_text("Ada Green has been editing this movie since")
    point = json.dumps([{"label": "Apex", "x": 1, "y": 1}])
    writes = {
        "api/put-frame-trackpoints": {"frame_number": 0, "trackpoints": point},
        "api/rename-marker": {"old_label": "Apex", "new_label": "Mine"},
        "api/set-movie-trim": {"trim_start_frame": 3},
        "api/set-movie-fpm": {"fpm": 2},
        "api/rotate-movie": {"rotation": 90},
        "api/reset-movie-tracing": {},
        "resize-api/v1/trace-movie": {"frame_start": 0, "request_key": "by-script-0001"},
        "api/delete-movie": {"delete": 1},
    }
    for lease in ("", "0123456789abcdef0123456789abcdef"):
        for path, fields in writes.items():
            answer = await at.page.evaluate(
                """async ([path, fields]) => {
                    const answer = await fetch(path, {method: 'POST', body: new URLSearchParams(fields)});
                    return [answer.status, await answer.json()];
                }""",
                [path, {"movie_id": movie_id, "analysis_lease_id": lease, **{n: str(v) for n, v in fields.items()}}],
            )
            assert answer[0] in (400, 409), (path, lease, answer)
            assert answer[1]["error"] is True
    await owner.page.reload()
    await owner.editable()
    assert await owner.position("Apex") == before


@pytest.mark.parametrize(
    "path", ["analyze", *(pytest.param(p, marks=pytest.mark.long) for p in ("/", "/upload", "/signin"))]
)
async def test_text_of_twice_the_size_pushes_nothing_off_the_page(
    ada: Person, traced_movie: str, visit: Opens, path: str
) -> None:
    """WCAG 1.4.4: a window of 1280 pixels at 200 %; and 1.4.10: at 400 % it is one column."""
    at = await visit(ada)
    if path == "analyze":
        await at.analyze(traced_movie)
        await at.editable()
    else:
        await at.open(path)
        await expect(at.page.locator("h1:visible").first).to_be_visible()
    for zoom in (2, 4):
        await at.page.set_viewport_size({"width": 1280 // zoom, "height": 1024 // zoom})
        too_wide = await at.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert too_wide <= 0, f"{path} at {zoom}00 %"
        if path == "analyze":
            await expect(at.page.get_by_role("button", name="Trace again")).to_be_visible()
    await at.shoot(f"{path.strip('/') or 'movies'}-at-400-percent")
