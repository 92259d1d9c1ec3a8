"""From a sign-in link to numbers in a file, as a student walks it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import av
import numpy as np
import openpyxl
import pytest
from playwright.async_api import expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import HEIGHT, Filmed, Person, Site

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_student_goes_from_a_sign_in_link_to_a_traced_movie_and_its_tables(
    site: Site, film: Filmed, visit: Opens
) -> None:
    """A15, A16: progress, results and downloads appear without a reload, and no download before there are data."""
    student = site.person("Cy Moss")
    at = await visit()
    page = at.page
    await page.goto(site.link_for(student))
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Three steps from a movie to numbers")).to_be_visible()
    await expect(page.locator("#user-name")).to_have_text("Cy Moss")

    await page.get_by_role("link", name="Upload your first movie").click()
    await page.set_input_files("#file", film.path)
    await expect(page.get_by_label("Title")).to_have_value("bean in blue light")
    await page.get_by_label("Time between two pictures").fill("30")
    await page.get_by_label("Unit of time").select_option("s")
    await page.get_by_role("button", name="Upload").click()
    await page.get_by_role("link", name="Analyze it").click(timeout=30_000)

    await at.editable()
    assert await at.position("Apex") == (50, HEIGHT - 50), "the defaults are where the contract says"
    await expect(page.locator("#download-csv")).to_have_attribute("aria-disabled", "true")
    await at.drag_default_markers_to(film.markers)
    for marker in film.markers:
        x, y = await at.position(marker.label)
        assert x == pytest.approx(marker.x, abs=0.8)
        assert y == pytest.approx(HEIGHT - marker.y, abs=0.8)
    await at.saved()
    await expect(page.locator("#calibration")).to_have_text("1 mm = 5.5 px")

    await page.get_by_role("button", name="Trace movie").click()
    await expect(page.locator("#tracing")).to_be_visible()
    await expect(page.locator("#tracing")).to_contain_text("It is safe to leave this page")
    await expect(page.locator("#measures")).to_contain_text("Amplitude", timeout=60_000)
    await expect(page.locator("#chart .plot-cursor:visible")).to_have_count(2)
    await expect(page.locator("#facts")).to_contain_text("traced · 40 frames · one picture every 30 s")
    await expect(page.locator("#download-movie")).to_have_attribute(
        "href", re.compile(r"^http://127\.0\.0\.1:\d+/.*traced\.mp4")
    )
    await at.editable()
    await at.shoot("analyze-traced-1280-light", full=True)

    async with page.expect_download() as arriving:
        await page.get_by_role("link", name="CSV").click()
    download = await arriving.value
    assert download.suggested_filename.endswith(".csv")
    rows = list(csv.DictReader(io.StringIO(Path(await download.path()).read_text())))
    assert len(rows) == film.scene.frames
    x_mm = np.array([float(row["Apex x (mm)"]) for row in rows])
    truth = film.scene.amplitude * film.scene.mm_per_px
    assert (x_mm.max() - x_mm.min()) / 2 == pytest.approx(truth, rel=0.05)

    async with page.expect_download() as arriving:
        await page.get_by_role("link", name="Excel").click()
    book = openpyxl.load_workbook(io.BytesIO((await (await arriving.value).path()).read_bytes()), read_only=True)
    assert book.sheetnames == ["Trackpoints", "Metadata", "Markers", "Chart Data", "Charts"]


async def test_whoever_is_not_signed_in_comes_to_the_door_and_a_used_link_opens_it_no_more(
    site: Site, visit: Opens
) -> None:
    at = await visit()
    at.watch.expected.append("403 (Forbidden)")
    await at.open("/")
    await expect(at.page.get_by_role("heading", name="Sign in")).to_be_visible()
    link = site.link_for(site.person("Di Reed"))
    await at.page.goto(link)
    await at.page.get_by_role("button", name="Sign in").click()
    await expect(at.page.locator("#user-name")).to_have_text("Di Reed")
    await at.page.get_by_role("button", name="Sign out").click()
    await expect(at.page.get_by_role("heading", name="Sign in")).to_be_visible()
    await at.page.goto(link)
    await at.page.get_by_role("button", name="Sign in").click()
    await expect(at.page.get_by_role("alert")).to_contain_text("not valid")


async def test_a_movie_dropped_on_the_page_is_taken(ada: Person, film: Filmed, visit: Opens) -> None:
    at = await visit(ada)
    await at.open("/upload")
    data = await at.page.evaluate_handle(
        """bytes => {
            const carried = new DataTransfer();
            carried.items.add(new File([new Uint8Array(bytes)], 'root_tip.mp4', {type: 'video/mp4'}));
            return carried;
        }""",
        list(film.path.read_bytes()),
    )
    await at.page.dispatch_event("#drop", "drop", {"dataTransfer": data})
    await expect(at.page.locator("#drop-text")).to_have_text("root_tip.mp4")
    await expect(at.page.get_by_label("Title")).to_have_value("root tip")


async def test_a_file_without_a_picture_is_refused_in_words(ada: Person, visit: Opens, tmp_path: Path) -> None:
    memo = tmp_path / "voice memo.mp4"
    _write_sound(memo)
    at = await visit(ada)
    await at.open("/upload")
    await at.page.set_input_files("#file", memo)
    await at.page.get_by_role("button", name="Upload").click()
    said = at.page.locator(".transfer .said")
    await expect(said).to_have_text("This file has sound but no picture. Choose the movie itself.", timeout=30_000)
    await expect(
        at.page.get_by_role("button", name="Try again")
    ).to_be_hidden()  # the same bytes would be refused again
    await expect(at.page.locator("#drop-text")).to_have_text("Drop another movie here, or choose files")
    await at.open("/")
    card = at.page.locator(".movie", has_text="voice memo")
    await expect(card).to_contain_text("not usable")
    await expect(card).to_contain_text("sound but no picture")


async def test_a_text_file_is_refused_before_anything_is_sent(ada: Person, visit: Opens, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("water the beans")
    at = await visit(ada)
    await at.open("/upload")
    await at.page.set_input_files("#file", notes)
    await expect(at.page.locator("#form-problem")).to_have_text("notes.txt is not a movie. Choose the movie itself.")
    await expect(at.page.get_by_role("button", name="Upload")).to_be_disabled()


async def test_a_deleted_movie_can_be_brought_back_and_a_title_changed(
    new_movie: Makes, ada: Person, film: Filmed, visit: Opens
) -> None:
    new_movie("Maize, wrong title")
    at = await visit(ada)
    await at.open("/")
    card = at.page.locator(".movie", has_text="Maize")
    await card.get_by_label("More for").click()
    await card.get_by_role("button", name="Rename").click()
    await card.get_by_label("New title").fill("Maize coleoptile")
    await card.get_by_role("button", name="Rename").first.click()
    await expect(card.locator("h2")).to_have_text("Maize coleoptile")
    await card.get_by_label("More for").click()
    await card.get_by_role("button", name="Delete").click()
    await expect(card).to_have_count(0)
    await at.page.get_by_role("button", name="Undo").click()
    await expect(card).to_be_visible()


async def test_a_teacher_finds_a_movie_among_many_and_shows_it_to_the_course(
    site: Site, teacher: Person, visit: Opens
) -> None:
    student, other = site.person("Eli Fern"), site.person("Flo Lark")
    site.shelve(student, "Radish, red light", *(f"Radish {number}" for number in range(7)))
    theirs = await visit(other)
    await theirs.open("/")
    await expect(theirs.page.get_by_role("heading", name="Three steps")).to_be_visible()

    at = await visit(teacher)
    await at.open("/")
    await at.page.get_by_placeholder("Find").fill("eli red")
    cards = at.page.locator(".movie")
    await expect(cards).to_have_count(1)
    await expect(cards).to_contain_text("Eli Fern")
    await cards.get_by_label("More for").click()
    await cards.get_by_role("button", name="Show to the course").click()
    await expect(cards).to_contain_text("shown to the course")
    await at.page.get_by_placeholder("Find").fill("no such thing")
    await expect(at.page.locator("#none-found")).to_be_visible()
    await theirs.page.reload()
    await expect(theirs.page.locator(".movie h2")).to_have_text("Radish, red light")
    await expect(theirs.page.locator(".movie .go")).to_be_visible()
    await expect(theirs.page.locator(".movie summary")).to_be_hidden()  # they may do nothing else with it


def _write_sound(path: Path) -> None:
    """Half a second of silence in an MP4."""
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=44_100)
        for start in range(0, 22_050, 1024):
            samples = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            samples.sample_rate, samples.pts = 44_100, start
            container.mux(stream.encode(samples))
        container.mux(stream.encode(None))
