"""From a file on a person's computer to an inspection that waits: new-movie, the signed form, process-upload."""

from __future__ import annotations

import hashlib
from typing import Any

import httpx
import pytest

from service.usecases.sweep import sweep
from tests.support.service import Lab, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEW = "/api/new-movie"
DONE = "/resize-api/v1/process-upload"
MOVIE = b"not really a movie, but the store does not look"


def announcement(**changed: Any) -> dict[str, Any]:
    told = {
        "title": "Bohne 3 🌱",
        "description": "gravitropism",
        "movie_data_sha256": hashlib.sha256(MOVIE).hexdigest(),
        "movie_data_length": str(len(MOVIE)),
        "research_use": "1",
        "fpm": "0.5",
        **changed,
    }
    return {name: value for name, value in told.items() if value is not None}


async def announce(lab: Lab, person: Person | None = None, **changed: Any) -> httpx.Response:
    return await lab.post(NEW, person or lab.people.ada, **announcement(**changed))


async def upload(form: dict[str, Any], data: bytes) -> int:
    async with httpx.AsyncClient() as store:
        answer = await store.post(form["url"], data=form["fields"], files={"file": ("movie", data)})
    return answer.status_code


async def test_a_file_goes_to_the_store_by_the_signed_form_and_its_inspection_is_admitted(lab: Lab) -> None:
    announced = await announce(lab)
    told = announced.json()
    movie_id = told["movie_id"]
    assert (announced.status_code, told["upload_completion_mode"]) == (200, "process-upload")
    early = await lab.post(DONE, lab.people.ada, movie_id=movie_id)
    assert (early.status_code, early.json()["code"]) == (409, "upload_missing")
    assert await upload(told["presigned_post"], MOVIE) in (200, 204)

    admitted = await lab.post(DONE, lab.people.ada, movie_id=movie_id)
    assert (admitted.status_code, admitted.json()["status"]) == (202, "processing")
    row = await lab.row(movie_id)
    assert {name: row[name] for name in ("status", "trace_job_kind", "title", "fpm", "research_use")} == {
        "status": "processing",
        "trace_job_kind": "inspect",
        "title": "Bohne 3 🌱",
        "fpm": "0.5",
        "research_use": 1,
    }
    metadata = (await lab.get("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id)).json()["metadata"]
    assert metadata["status"] == "processing"
    assert metadata["tracking_lock"]["kind"] == "inspect"

    again = await lab.post(DONE, lab.people.ada, movie_id=movie_id)
    assert again.status_code == 202
    assert (await lab.row(movie_id))["trace_job_id"] == row["trace_job_id"]


async def test_the_form_takes_exactly_the_announced_length(lab: Lab) -> None:
    form = (await announce(lab)).json()["presigned_post"]
    assert await upload(form, MOVIE + b"!") >= 400
    assert await upload(form, MOVIE[:-1]) >= 400
    assert await upload(form, MOVIE) in (200, 204)


async def test_the_same_key_gets_the_same_movie_and_a_fresh_form(lab: Lab) -> None:
    first = await announce(lab, request_key="upload-1")
    again = await announce(lab, request_key="upload-1")
    other = await announce(lab, lab.people.ben, request_key="upload-1")
    reused = await announce(lab, request_key="upload-1", title="Another")
    assert first.json()["movie_id"] == again.json()["movie_id"] != other.json()["movie_id"]
    assert "idempotent-replay" not in first.headers
    assert (again.headers["idempotent-replay"], again.json()["replayed"]) == ("true", True)
    assert (reused.status_code, reused.json()["code"]) == (422, "request_key_reused")


async def test_a_key_that_was_retired_long_ago_makes_a_new_movie_and_says_so(lab: Lab) -> None:
    first = await announce(lab, request_key="upload-old")
    lab.clock.ahead += 2 * 86_400
    await sweep(lab.runtime.stores)  # the upload never came: its receipt is terminal now
    assert (await lab.row(first.json()["movie_id"]))["status"] == "unusable"
    lab.clock.ahead += 31 * 86_400
    anew = await announce(lab, request_key="upload-old")
    assert (first.json()["retired"], anew.json()["retired"]) == (False, True)
    assert anew.json()["movie_id"] != first.json()["movie_id"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("movie_data_sha256", None), ("movie_data_sha256", ""), ("movie_data_sha256", "g" * 64),
        ("movie_data_sha256", "A" * 64), ("movie_data_sha256", "0" * 65), ("movie_data_length", None),
        ("movie_data_length", ""), ("movie_data_length", "0"), ("movie_data_length", "-1"),
        ("movie_data_length", "12.5"), ("movie_data_length", "NaN"), ("movie_data_length", "1e3"),
        ("movie_data_length", "0x10"), ("movie_data_length", "٣"), ("movie_data_length", str(2**40)),
        ("movie_data_length", str(268_435_457)), ("title", "x" * 201), ("title", "bell\x07"), ("title", "nul\x00"),
        ("description", "x" * 4001), ("research_use", "maybe"), ("research_use", "2"), ("fpm", "0"), ("fpm", "inf"),
        ("fpm", "6001"), ("fpm", "1_0"), ("attribution_name", "x" * 201), ("request_key", ""),
        ("request_key", "two words"), ("request_key", "x" * 201), ("request_key", "ключ"),
    ],
)  # fmt: skip
async def test_an_announcement_that_makes_no_sense_is_refused_by_the_parameters_name(
    lab: Lab, name: str, value: str | None
) -> None:
    answer = await announce(lab, lab.people.auditor, **{name: value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")
    assert answer.json()["message"].startswith(f"{name}: "), answer.text
    assert not [row async for row in lab.runtime.stores.movies.of_user(lab.people.auditor.user_id)]


async def test_json_numbers_and_form_text_say_the_same(lab: Lab) -> None:
    told = announcement(movie_data_length=len(MOVIE), research_use=True, fpm=0.5)
    answer = await lab.http.post(NEW, json=told, headers=lab.people.ada.headers)
    row = await lab.row(answer.json()["movie_id"])
    assert (row["movie_data_length"], row["research_use"], row["fpm"]) == (len(MOVIE), 1, "0.5")


@pytest.mark.parametrize("length", [True, 12.5, "12 34", [12], {"n": 12}, None])
async def test_a_length_of_another_kind_is_refused(lab: Lab, length: Any) -> None:
    told = {**announcement(), "movie_data_length": length}
    answer = await lab.http.post(NEW, json=told, headers=lab.people.ada.headers)
    assert (answer.status_code, answer.json()["message"][:18]) == (400, "movie_data_length:")


async def test_a_finished_movie_is_left_alone_by_a_late_repetition(lab: Lab) -> None:
    movie_id = await lab.movie()
    answer = await lab.post(DONE, lab.people.ada, movie_id=movie_id)
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert "trace_job_id" not in await lab.row(movie_id)


async def test_an_inspection_that_failed_through_no_fault_of_the_file_is_tried_again_where_the_file_now_lies(
    lab: Lab,
) -> None:
    movie_id = await lab.movie(
        status="unusable", failure_code="storage_unavailable", movie_data_length=4, movie_data_sha256="0" * 64
    )
    await lab.runtime.stores.objects.put(f"movies/{movie_id}/movie", b"file", "video/mp4")
    answer = await lab.post(DONE, lab.people.ada, movie_id=movie_id)
    assert (answer.status_code, answer.json()["status"]) == (202, "processing")
    receipt = await lab.runtime.stores.receipts.get((await lab.row(movie_id))["trace_receipt_id"])
    assert receipt is not None
    assert receipt.inputs["source"]["key"] == f"movies/{movie_id}/movie"
    spoilt = await lab.movie(status="unusable", failure_code="movie_no_picture")
    assert (await lab.post(DONE, lab.people.ada, movie_id=spoilt)).json()["status"] == "unusable"
