"""A page that got no answer sends its edit again, under the same request key: it is done once (C08, C12, A23)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import httpx
import pytest

from tests.contract.test_editing import EDITS, FPM, RENAME
from tests.contract.test_rotation import MOVIE, ROTATE
from tests.contract.test_trace_route import CANCEL, trace
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(("path", "fields"), EDITS, ids=[path.rpartition("/")[2] for path, _ in EDITS])
async def test_an_edit_is_made_once_however_often_it_arrives(lab: Lab, path: str, fields: dict[str, Any]) -> None:
    movie_id, lease_id = await lab.marked_movie()
    wish = {"movie_id": movie_id, "analysis_lease_id": lease_id, "request_key": f"edit-{movie_id}", **fields}
    first = await lab.post(path, lab.people.ada, **wish)
    assert first.status_code == 200, first.text
    after = await lab.row(movie_id)
    for again in await asyncio.gather(*(lab.post(path, lab.people.ada, **wish) for _ in range(3))):
        assert again.status_code == 200, again.text
    assert await lab.row(movie_id) == after
    await lab.post("/api/release-movie-analysis-lease", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    await lab.lease(movie_id, lab.people.teacher)
    late = await lab.post(path, lab.people.ada, **wish)  # it was made: a lease that is gone since does not unmake it
    assert late.status_code == 200, late.text
    assert (await lab.row(movie_id))["edit_seq"] == after["edit_seq"]
    assert f"edit-{movie_id}" not in late.text
    assert after["edit_id"] not in late.text


async def test_a_first_copy_that_comes_after_later_edits_undoes_none_of_them(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    wish = {"movie_id": movie_id, "analysis_lease_id": lease_id}
    for number in range(1, 10):
        sent = await lab.post(FPM, lab.people.ada, **wish, request_key=f"edit-{number}", fpm=str(number))
        assert sent.status_code == 200
    await lab.post(FPM, lab.people.ada, **wish, fpm="10")
    before = await lab.row(movie_id)
    for number in range(2, 10):
        late = await lab.post(FPM, lab.people.ada, **wish, request_key=f"edit-{number}", fpm=str(number))
        assert late.status_code == 200
        assert before["former_edit_ids"][0] not in late.text
        other = await lab.post(FPM, lab.people.ada, **wish, request_key=f"edit-{number}", fpm="50")
        assert other.json()["code"] == "request_key_reused"
    assert await lab.row(movie_id) == before
    forgotten = await lab.post(FPM, lab.people.ada, **wish, request_key="edit-1", fpm="1")
    assert (forgotten.status_code, (await lab.row(movie_id))["edit_seq"]) == (200, before["edit_seq"] + 1)


async def test_two_arrivals_at_one_instant_make_one_edit(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    before = (await lab.row(movie_id))["edit_seq"]
    wish = {"movie_id": movie_id, "analysis_lease_id": lease_id, "request_key": "both", "old_label": "Apex"}
    answers = await asyncio.gather(*(lab.post(RENAME, lab.people.ada, **wish, new_label="Tip") for _ in range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert (await lab.row(movie_id))["edit_seq"] == before + 1


async def test_a_key_that_stood_for_another_edit_is_refused_and_nothing_is_written(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    wish = {"movie_id": movie_id, "analysis_lease_id": lease_id, "request_key": "same"}
    assert (await lab.post(FPM, lab.people.ada, **wish, fpm="2")).status_code == 200
    before = await lab.row(movie_id)
    other = await lab.post(FPM, lab.people.ada, **wish, fpm="3")
    assert (other.status_code, other.json()["code"]) == (422, "request_key_reused")
    assert await lab.row(movie_id) == before


@pytest.mark.parametrize("key", ["", "x" * 10_000, "Schlüssel", "two words"])
async def test_a_malformed_key_is_refused_by_name(lab: Lab, key: str) -> None:
    movie_id, lease_id = await lab.marked_movie()
    answer = await lab.post(
        FPM, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, fpm="2", request_key=key
    )
    assert answer.status_code == 400
    assert "request_key" in answer.json()["message"]


async def test_a_double_click_on_rotate_turns_once_a23(lab: Lab) -> None:
    movie_id, lease_id = await _uploaded(lab)
    wish = {"movie_id": movie_id, "analysis_lease_id": lease_id, "rotation": 90, "request_key": f"turn-{movie_id}"}
    answers = await asyncio.gather(*(lab.post(ROTATE, lab.people.ada, **wish) for _ in range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4, [answer.text for answer in answers]
    again = await lab.post(ROTATE, lab.people.ada, **wish)
    assert again.json()["metadata"]["status"] == "processing"
    other = await lab.post(ROTATE, lab.people.ada, **{**wish, "rotation": 180})
    assert (other.status_code, other.json()["code"]) == (422, "request_key_reused")
    events = [event["event_type"] async for event in lab.runtime.stores.audit.of("movie_id", movie_id)]
    assert events == ["movie.inspection.started"]
    row = await lab.row(movie_id)
    receipt = await lab.get("/api/get-receipt", lab.people.ada, request_key=wish["request_key"])
    assert (receipt.json()["kind"], receipt.json()["job_id"]) == ("inspect", row["trace_job_id"])
    assert row["rotation"] == 90


async def test_a_cancel_that_comes_late_does_not_stop_the_next_trace(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    first = (await trace(lab, f"first-{movie_id}", movie_id=movie_id, analysis_lease_id=lease_id)).json()["job_id"]
    assert (await _cancel(lab, movie_id, first)).json()["job_id"] == first
    second = (await trace(lab, f"second-{movie_id}", movie_id=movie_id)).json()["job_id"]
    late = await _cancel(lab, movie_id, first)
    assert (late.status_code, late.json()["code"]) == (409, "nothing_to_cancel")
    assert (await lab.row(movie_id))["trace_job_id"] == second
    assert (await _cancel(lab, movie_id, second)).status_code == 200


async def _cancel(lab: Lab, movie_id: str, job_id: str) -> httpx.Response:
    return await lab.post(CANCEL, lab.people.ada, movie_id=movie_id, job_id=job_id)


async def _uploaded(lab: Lab) -> tuple[str, str]:
    """A ready movie whose file can be read again, and Ada's lease on it."""
    movie_id = await lab.movie(movie_data_sha256=hashlib.sha256(MOVIE).hexdigest(), movie_data_length=len(MOVIE))
    await lab.runtime.stores.objects.put(f"movies/{movie_id}/movie", MOVIE, "video/mp4")
    return movie_id, await lab.lease(movie_id)
