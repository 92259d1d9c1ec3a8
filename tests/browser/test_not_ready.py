"""Analyze by its address, before there is anything to analyze (A26)."""

from __future__ import annotations

import time

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Makes, Opens
from tests.browser.site import Person, Site
from tests.browser.visitor import Visitor

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def _cannot_edit(at: Visitor, says: str) -> None:
    await expect(at.page.locator("#banner")).to_contain_text(says)
    for name in ("Add marker", "Trace movie"):
        await expect(at.page.get_by_role("button", name=name)).to_be_disabled()


async def test_a_movie_that_is_still_checked_says_so_and_opens_by_itself_a26(
    site: Site, new_movie: Makes, ada: Person, visit: Opens
) -> None:
    """And whoever asks for the right to edit by script is told the reason."""
    movie_id, now = new_movie("Barley, just sent"), int(time.time())
    job = {"trace_job_id": "j", "trace_job_kind": "inspect", "tracing_state": "running", "tracing_claim_id": "c",
           "tracing_attempt": 1, "tracing_started_at": now, "tracing_heartbeat_at": now,
           "tracing_expires_at": now + 900, "tracing_started_by_user_id": ada.user_id,
           "tracing_started_by_user_name": ada.name}  # fmt: skip
    site.change(movie_id, status="processing", **job)
    at = await visit(ada)
    at.watch.expected.append("409 (Conflict)")
    await at.open(f"/analyze?movie_id={movie_id}")
    await _cannot_edit(at, "The movie is being checked. It becomes editable here in a moment.")
    refused = await at.page.evaluate(
        """async movie_id => {
            const body = new URLSearchParams({movie_id, lease_request_key: 'by-script-0001'});
            const answer = await fetch('api/acquire-movie-analysis-lease', {method: 'POST', body});
            return [answer.status, await answer.json()];
        }""",
        movie_id,
    )
    assert refused[0] == 409
    assert refused[1]["code"] == "not_ready"
    site.change(movie_id, status="ready", **dict.fromkeys(job))
    await at.editable()
    await expect(at.page.locator("#banner")).to_be_hidden()


async def test_a_file_that_never_came_and_one_that_cannot_be_used_are_told_apart_a26(
    site: Site, new_movie: Makes, ada: Person, visit: Opens
) -> None:
    movie_id = new_movie("Oat, lost on the way")
    site.change(movie_id, status="uploading", total_frames=0, movie_zipfile_urn=None)
    at = await visit(ada)
    await at.open(f"/analyze?movie_id={movie_id}")
    await _cannot_edit(at, "The file of this movie has not arrived yet.")
    site.change(movie_id, status="unusable", failure_code="movie_no_picture",
               status_reason="This file has sound but no picture. Choose the movie itself.")  # fmt: skip
    await _cannot_edit(at, "This file has sound but no picture. Choose the movie itself.")
    await at.page.get_by_role("button", name="Upload another file").click()
    await expect(at.page.get_by_role("heading", name="Upload movies")).to_be_visible()


async def test_an_address_that_names_no_movie_says_so_and_leads_back(ada: Person, visit: Opens) -> None:
    """A link that was cut off in a mail."""
    at = await visit(ada)
    at.watch.expected.append("400 (Bad Request)")
    await at.open("/analyze?movie_id=m-cut-o")
    await expect(at.page.locator("#banner-text")).to_have_text(
        "This address names no movie. Choose one from the list of movies."
    )
    await at.page.get_by_role("button", name="Back to the movies").click()
    await expect(at.page.get_by_role("heading", name="Movies", exact=True)).to_be_visible()
