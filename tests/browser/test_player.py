"""The film itself: which picture stands on the screen, by which keys it runs, and where the pictures come from."""

from __future__ import annotations

import asyncio
import base64
import time
from typing import Any

import av
import cv2
import numpy as np
import pytest
from playwright.async_api import Request, Route, expect

from tests.browser.conftest import Opens
from tests.browser.site import Filmed, Person, Site
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")

WATCH = """() => {
    const frame = document.querySelector('#frame');
    window.painted = [];
    new MutationObserver(() => window.painted.push(Number(frame.dataset.frame)))
        .observe(frame, {attributeFilter: ['data-frame']});
}"""


async def _shown(at: Visitor, frame: int) -> None:
    """The picture of this frame is on the screen, and the number beside it says so."""
    await expect(at.page.locator("#frame")).to_have_attribute("data-frame", str(frame))
    await expect(at.page.get_by_label("Frame number")).to_have_value(str(frame))


async def test_the_film_runs_both_ways_without_leaving_a_frame_out_from_few_requests(
    ada: Person, film: Filmed, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    page, last = at.page, film.scene.frames - 1
    asked: list[str] = []

    def note(request: Request) -> None:
        if "/storage/" in request.url or "/frame?" in request.url:
            asked.append(request.url)

    page.on("request", note)
    await at.analyze(traced_movie)
    await _shown(at, 0)
    await page.get_by_label("Speed of playing").select_option("30")
    await page.get_by_label("Speed of playing").evaluate("select => select.blur()")
    await page.evaluate(WATCH)
    await page.keyboard.press("Space")
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    await _shown(at, last)
    await expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert await page.evaluate("painted") == list(range(1, last + 1))
    await page.evaluate("painted = []")
    await page.get_by_role("button", name="Play backwards").click()
    await _shown(at, 0)
    assert await page.evaluate("painted") == list(range(last - 1, -1, -1))
    assert len(asked) <= 8, "the first picture, the directory, and the rest in a few pieces"
    assert await page.evaluate("localStorage.getItem('tiptrace.rate')") == "30"


async def test_an_archive_whose_address_has_run_out_is_found_again_without_a_word(
    ada: Person, traced_movie: str, visit: Opens
) -> None:
    """A signed address ends while the page stands open: the page asks for a new one, and frames go on coming."""
    at = await visit(ada)
    page = at.page
    at.watch.expected.append("the server responded with a status of 403")
    served: set[str] = set()
    over: set[str] = set()
    refused: list[str] = []

    async def store(route: Route) -> None:
        if route.request.url in over:
            refused.append(route.request.url)
            await route.fulfill(status=403, body="<Error><Code>AccessDenied</Code></Error>")
            return
        served.add(route.request.url)
        await route.continue_()

    await page.route("**/storage/**", store)
    await at.analyze(traced_movie)
    await at.editable()
    await page.keyboard.press(".")
    await _shown(at, 1)
    async with asyncio.timeout(15):
        while not served:  # noqa: ASYNC110  the page reads ahead when it has time
            await asyncio.sleep(0.05)
    over |= served
    before, second = len(served), int(time.time())
    while int(time.time()) == second:  # noqa: ASYNC110  of one second all addresses are the same
        await asyncio.sleep(0.05)
    for frame in ("39", "20"):
        await page.get_by_label("Frame number").fill(frame)
        await page.get_by_label("Frame number").press("Enter")
        await _shown(at, int(frame))
        await expect(page.locator("#picture-problem")).to_be_hidden()
    assert refused
    assert len(served) > before, "and came from a fresh address"
    assert not await page.locator("#banner").is_visible()


async def test_keys_step_through_the_film_unless_a_control_uses_them(
    ada: Person, film: Filmed, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    page, last = at.page, film.scene.frames - 1
    await at.analyze(traced_movie)
    await at.editable()
    for key, frame in (
        ("End", last), ("ArrowLeft", last - 1), ("Shift+ArrowLeft", last - 11), ("Home", 0), ("ArrowRight", 1),
        ("Shift+ArrowRight", 11),
    ):  # fmt: skip
        await page.keyboard.press(key)
        await _shown(at, frame)
    x, y = await at.position("Apex")
    await page.locator(".marker-main", has_text="Apex").press("ArrowRight")
    await expect(page.get_by_label("Frame number")).to_have_value("11")
    assert await at.position("Apex") == (x + 1, y), "an arrow key on a marker moves the marker"
    await page.get_by_role("button", name="Undo").press("Space")
    assert await at.position("Apex") == (x, y), "the space bar on a button presses it"
    await expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    await at.saved()


async def test_frame_n_of_the_film_is_frame_n_that_was_traced_b08(
    ada: Person, film: Filmed, traced_movie: str, visit: Opens
) -> None:
    at = await visit(ada)
    await at.analyze(traced_movie)
    shown = await at.page.evaluate(
        """async (frames) => {
            const { FrameArchive } = await import(new URL('static/js/archive.js', document.baseURI));
            const { movieMetadata } = await import(new URL('static/js/api.js', document.baseURI));
            const { metadata } = await movieMetadata(new URLSearchParams(location.search).get('movie_id'));
            const address = async () => metadata.movie_zipfile_url;
            const archive = new FrameArchive({ address, total: metadata.total_frames });
            const found = await archive.read(frames);
            return Promise.all(frames.map(async (frame) =>
                btoa(String.fromCharCode(...new Uint8Array(await found.get(frame).arrayBuffer())))));
        }""",
        [0, 17, film.scene.frames - 1],
    )
    with av.open(str(film.path)) as container:
        decoded = [frame.to_ndarray(format="bgr24").astype(np.int16) for frame in container.decode(video=0)]
    nearest = []
    for text in shown:
        picture = cv2.imdecode(np.frombuffer(base64.b64decode(text), np.uint8), cv2.IMREAD_COLOR).astype(np.int16)
        nearest.append(int(np.argmin([np.abs(picture - other).mean() for other in decoded])))
    assert nearest == [0, 17, film.scene.frames - 1]


async def test_without_an_archive_pictures_come_one_by_one(ada: Person, traced_movie: str, visit: Opens) -> None:
    at = await visit(ada)
    at.watch.expected.append("404 (Not Found)")
    await at.page.route("**/storage/**/frames.zip", lambda route: route.fulfill(status=404, body=""))
    await at.analyze(traced_movie)
    for key, frame in (("ArrowRight", 1), ("Shift+ArrowRight", 11), ("ArrowLeft", 10)):
        await at.page.keyboard.press(key)
        await _shown(at, frame)


async def test_a_movie_is_turned_once_however_often_one_clicks_and_says_what_is_lost_a22_a23(
    site: Site, ada: Person, film: Filmed, visit: Opens
) -> None:
    movie_id = site.upload(ada, film, "Lies on its side")
    at = await visit(ada)
    page = at.page
    await at.analyze(movie_id)
    await at.editable()
    await _shown(at, 0)
    await at.drag((50, 50), (300, 200))
    await at.saved()
    turned: list[Any] = []
    page.on("request", lambda request: turned.append(request.post_data) if "rotate-movie" in request.url else None)
    rotate = page.get_by_role("button", name="Rotate by 90°")
    await rotate.click()
    dialog = page.get_by_role("dialog", name="Rotate by 90°?")
    await expect(dialog).to_contain_text("The markers of this movie will be removed. This cannot be undone.")
    await dialog.get_by_role("button", name="Keep it as it is").click()
    await expect(dialog).to_be_hidden()
    assert turned == []
    await rotate.click()
    await dialog.get_by_role("button", name="Rotate", exact=True).dblclick()
    await expect(page.locator("#banner")).to_contain_text("being checked")
    await expect(page.get_by_role("button", name="Being checked…")).to_be_disabled()
    await expect(page.locator("#facts")).to_contain_text("ready", timeout=30_000)
    await at.editable()
    assert len(turned) == 1
    assert "rotation=90&" in turned[0]
    await _shown(at, 0)
    size = await page.evaluate("getComputedStyle(document.querySelector('#stage')).getPropertyValue('--ratio')")
    assert size == "480 / 640"
    assert await at.position("Apex") == (50, 640 - 50), "a turned movie starts with fresh markers"
    await expect(page.get_by_role("button", name="Undo")).to_be_disabled()
