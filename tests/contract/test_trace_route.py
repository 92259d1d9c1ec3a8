"""Asking for a trace over HTTP: once, again, under another key, without the right to."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from service import metrics
from service.store.schema import RECEIPTS
from tests.support.messages import next_message
from tests.support.service import ORIGIN, Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

TRACE = "/resize-api/v1/trace-movie"
CANCEL = "/resize-api/v1/cancel-trace"


async def trace(
    lab: Lab, key: str | None = None, headers: dict[str, str] | None = None, **fields: Any
) -> httpx.Response:
    told = {**fields, **({"request_key": key} if key is not None else {})}
    return await lab.http.post(TRACE, json=told, headers={**lab.people.ada.headers, **(headers or {})})


async def receipts(lab: Lab, movie_id: str) -> list[dict[str, Any]]:
    found = [row async for row in lab.runtime.stores.database.scan(RECEIPTS)]
    return [row for row in found if row.get("movie_id") == movie_id]


async def test_an_accepted_trace_answers_202_and_takes_the_lease_over(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    answer = await trace(lab, "intent-1", movie_id=movie_id, analysis_lease_id=lease_id, frame_start=0, keep_placed=1)
    told, row = answer.json(), await lab.row(movie_id)
    assert answer.status_code == 202
    assert "idempotent-replay" not in answer.headers
    assert told == {
        "error": False,
        "message": {"movie_id": movie_id, "frame_start": 0, "frame_end": 9, "job_id": row["trace_job_id"]},
        "request_key": "intent-1",
        "job_id": row["trace_job_id"],
        "state": "accepted",
        "replayed": False,
        "retired": False,
    }
    assert row["status"] == "tracing"
    assert "analysis_lease_id" not in row
    metadata = (await lab.get("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id)).json()["metadata"]
    assert metadata["status"] == "tracing"
    assert metadata["tracking_lock"]["job_id"] == row["trace_job_id"]


async def test_the_same_request_again_is_answered_200_by_the_same_job(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    fields = {"movie_id": movie_id, "analysis_lease_id": lease_id, "frame_end": 5}
    first = await trace(lab, "intent-2", **fields)
    again = await trace(lab, "intent-2", **fields)
    without_lease = await trace(lab, headers={"idempotency-key": "intent-2"}, movie_id=movie_id, frame_end=5)
    assert first.status_code == 202
    for replay in (again, without_lease):
        assert (replay.status_code, replay.headers["idempotent-replay"]) == (200, "true")
        assert replay.json() == {**first.json(), "replayed": True}
    assert len(await receipts(lab, movie_id)) == 1


async def test_a_key_that_stood_for_something_else_is_422_and_changes_nothing(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    other_id, _ = await lab.marked_movie()
    await trace(lab, "intent-3", movie_id=movie_id, analysis_lease_id=lease_id, frame_end=5)
    before = await lab.row(movie_id), await lab.row(other_id)
    for changed in (
        {"movie_id": movie_id},
        {"movie_id": movie_id, "frame_end": 6},
        {"movie_id": other_id, "frame_end": 5},
    ):
        answer = await trace(lab, "intent-3", **changed)
        assert (answer.status_code, answer.json()["code"]) == (422, "request_key_reused")
    assert (await lab.row(movie_id), await lab.row(other_id)) == before


async def test_equal_keys_of_two_people_are_two_intents(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await trace(lab, "intent-4", movie_id=movie_id, analysis_lease_id=lease_id)
    answer = await lab.post(TRACE, lab.people.teacher, movie_id=movie_id, request_key="intent-4")
    assert (answer.status_code, answer.json()["code"]) == (409, "being_traced")


async def test_ten_arrivals_of_one_request_at_once_start_one_job(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    answers = await asyncio.gather(
        *(trace(lab, "intent-5", movie_id=movie_id, analysis_lease_id=lease_id) for _ in range(10))
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [202]
    assert len({answer.json()["job_id"] for answer in answers}) == 1


async def test_without_a_key_the_server_makes_one_and_tells_it(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    told = (await trace(lab, movie_id=movie_id, analysis_lease_id=lease_id)).json()
    assert len(told["request_key"]) == 32
    receipt = await lab.get("/api/get-receipt", lab.people.ada, request_key=told["request_key"])
    assert receipt.json()["job_id"] == told["job_id"]


@pytest.mark.parametrize("key", ["", " ", "two words", "é", "x" * 201, "tab\t"])
async def test_a_malformed_key_is_refused_in_the_field_and_in_the_header(
    lab: Lab, marked: tuple[str, str], key: str
) -> None:
    movie_id, lease_id = marked
    fields = {"movie_id": movie_id, "analysis_lease_id": lease_id}
    in_field = await trace(lab, key, **fields)
    assert (in_field.status_code, in_field.json()["message"][:13]) == (400, "request_key: ")
    if key.strip() == key and key.isascii():
        in_header = await trace(lab, headers={"idempotency-key": key}, **fields)
        assert (in_header.status_code, in_header.json()["message"][:13]) == (400, "request_key: ")
    assert await receipts(lab, movie_id) == []


async def test_two_keys_that_differ_are_refused_and_two_that_agree_are_one(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    fields = {"movie_id": movie_id, "analysis_lease_id": lease_id}
    assert (await trace(lab, "a", {"idempotency-key": "b"}, **fields)).status_code == 400
    assert (await trace(lab, "agreed", {"idempotency-key": "agreed"}, **fields)).status_code == 202


@pytest.mark.parametrize("lease_id", ["0" * 32, "garbage", "é" * 300, "x" * 100_000])
async def test_a_lease_that_is_not_the_live_one_is_409_whatever_it_looks_like(
    lab: Lab, marked: tuple[str, str], lease_id: str
) -> None:
    movie_id, own = marked
    answer = await trace(lab, movie_id=movie_id, analysis_lease_id=lease_id)
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost")
    assert await receipts(lab, movie_id) == []
    assert (await lab.row(movie_id))["analysis_lease_id"] == own


async def test_a_lease_that_has_run_out_is_409(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    lab.clock.ahead += 901
    answer = await trace(lab, movie_id=movie_id, analysis_lease_id=lease_id)
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost")


@pytest.mark.parametrize("lease_id", [None, ""])
async def test_without_a_lease_a_trace_starts_only_while_nobody_edits(lab: Lab, lease_id: str | None) -> None:
    movie_id, own = await lab.marked_movie()
    fields = {"movie_id": movie_id, **({} if lease_id is None else {"analysis_lease_id": lease_id})}
    busy = await trace(lab, **fields)
    await lab.post("/api/release-movie-analysis-lease", lab.people.ada, movie_id=movie_id, analysis_lease_id=own)
    free = await trace(lab, **fields)
    assert (busy.status_code, busy.json()["code"], free.status_code) == (409, "being_edited", 202)


async def test_a_frame_without_markers_cannot_be_traced_from(lab: Lab, marked: tuple[str, str]) -> None:
    movie_id, lease_id = marked
    answer = await trace(lab, movie_id=movie_id, analysis_lease_id=lease_id, frame_start=3)
    assert (answer.status_code, answer.json()["code"]) == (400, "no_markers")
    assert "frame 3" in answer.json()["message"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frame_start", -1), ("frame_start", 10), ("frame_start", 1.5), ("frame_start", "NaN"), ("frame_start", ""),
        ("frame_start", True), ("frame_start", [0]), ("frame_start", 2**40), ("frame_end", 10), ("frame_end", -1),
        ("frame_end", "x"), ("frame_end", ""), ("keep_placed", "perhaps"), ("keep_placed", 2), ("options", [1]),
        ("options", "nonsense"), ("options", {"a": {"b": 1}}), ("options", {"a": "x" * 5000}),
        ("options", {"quality": 3}), ("options", {"strategy": "magic"}), ("options", {"strategy": 1}),
        ("request_key", 12),
        ("analysis_lease_id", 12), ("analysis_lease_id", {"a": 1}), ("course_id", 5), ("course_id", "x" * 201),
    ],
)  # fmt: skip
async def test_a_parameter_that_makes_no_sense_is_refused_by_its_name(
    lab: Lab, marked: tuple[str, str], name: str, value: Any
) -> None:
    movie_id, lease_id = marked
    answer = await trace(lab, **{"movie_id": movie_id, "analysis_lease_id": lease_id, name: value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter"), answer.text
    assert answer.json()["message"].startswith(f"{name}: ")
    assert await receipts(lab, movie_id) == []


async def test_a_form_may_ask_for_a_trace_too(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    fields = {"movie_id": movie_id, "analysis_lease_id": lease_id, "frame_start": "0", "frame_end": "4"}
    answer = await lab.http.post(TRACE, data=fields, headers=lab.people.ada.headers)
    assert (answer.status_code, answer.json()["message"]["frame_end"]) == (202, 4)


async def test_what_names_the_job_is_no_authority(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    job_id = (await trace(lab, movie_id=movie_id, analysis_lease_id=lease_id)).json()["job_id"]
    for path in ("/api/heartbeat-movie-analysis-lease", "/api/release-movie-analysis-lease"):
        told = (await lab.post(path, lab.people.ada, movie_id=movie_id, analysis_lease_id=job_id)).json()
        assert not told.get("active")
        assert not told.get("released")
    edit = await lab.post(
        "/api/set-movie-fpm", lab.people.ada, movie_id=movie_id, analysis_lease_id=job_id, job_id=job_id, fpm=2
    )
    assert edit.status_code == 409


async def test_a_trace_can_be_stopped_by_its_owner_or_an_administrator(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    started = (await trace(lab, "stopped", movie_id=movie_id, analysis_lease_id=lease_id)).json()
    refused = await lab.post(CANCEL, lab.people.eve, movie_id=movie_id)
    stopped = await lab.post(CANCEL, lab.people.teacher, movie_id=movie_id)
    again = await lab.post(CANCEL, lab.people.ada, movie_id=movie_id)
    assert refused.status_code == 403
    assert stopped.json() == {"error": False, "movie_id": movie_id, "job_id": started["job_id"], "cancelled": True}
    assert (again.status_code, again.json()["cancelled"]) == (200, True)  # its first answer may have been lost
    metadata = (await lab.get("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id)).json()["metadata"]
    assert (metadata["status"], metadata["failure_code"]) == ("tracing failed", "cancelled")
    receipt = (await lab.get("/api/get-receipt", lab.people.ada, request_key="stopped")).json()
    assert (receipt["state"], receipt["failure"]["code"]) == ("failed", "cancelled")


async def test_a_receipt_is_its_senders_alone(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    started = (await trace(lab, "mine", movie_id=movie_id, analysis_lease_id=lease_id)).json()
    own = await lab.get("/api/get-receipt", lab.people.ada, request_key="mine")
    assert own.json() | {"created_at": 0, "updated_at": 0} == {
        "error": False, "request_key": "mine", "kind": "trace", "job_id": started["job_id"], "state": "accepted",
        "movie_id": movie_id, "created_at": 0, "updated_at": 0, "attempts": 0,
    }  # fmt: skip
    other = await lab.get("/api/get-receipt", lab.people.teacher, request_key="mine")
    assert (other.status_code, other.json()["code"]) == (404, "receipt_not_found")
    assert (await lab.get("/api/get-receipt", lab.people.ada)).status_code == 400
    assert (await lab.get("/api/get-receipt", lab.people.ada, request_key="a b")).status_code == 400


async def test_a_receipt_that_has_been_retired_no_longer_answers(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    first = await trace(lab, "long ago", movie_id=movie_id, analysis_lease_id=lease_id)
    assert first.status_code == 400, "a key has no blanks"
    first = await trace(lab, "long-ago", movie_id=movie_id, analysis_lease_id=lease_id)
    await lab.post(CANCEL, lab.people.ada, movie_id=movie_id)
    lab.clock.ahead += 31 * 86_400
    gone = await lab.get("/api/get-receipt", lab.people.ada, request_key="long-ago")
    anew = await trace(lab, "long-ago", movie_id=movie_id)
    assert gone.status_code == 404
    assert (anew.status_code, anew.json()["retired"]) == (202, True)
    assert anew.json()["job_id"] != first.json()["job_id"]


async def test_what_the_client_says_of_itself_goes_into_the_receipt_from_a_bounded_set(lab: Lab) -> None:
    for said, kept in (("page-1", "page-1"), ("<script>", "other"), (None, "none")):
        movie_id, lease_id = await lab.marked_movie()
        headers = {} if said is None else {"x-client-version": said, "x-retry-reason": "network"}
        await trace(lab, headers=headers, movie_id=movie_id, analysis_lease_id=lease_id)
        assert [row["client_version"] for row in await receipts(lab, movie_id)] == [kept]


async def test_a_watcher_learns_which_frames_a_trace_is_about(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await trace(lab, movie_id=movie_id, analysis_lease_id=lease_id, frame_end=6)
    told = (await lab.get("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id)).json()["metadata"]
    assert (told["tracking_lock"]["frame_start"], told["tracking_lock"]["frame_end"]) == (0, 6)


async def test_nothing_is_left_to_be_done_after_the_reply_c21(lab: Lab) -> None:
    """What an answer tells of is stored, audited and sent: a process that dies right after it breaks no promise."""
    movie_id, lease_id = await lab.marked_movie()
    before = asyncio.all_tasks()
    answer = await trace(lab, f"whole-{movie_id}", movie_id=movie_id, analysis_lease_id=lease_id)
    assert asyncio.all_tasks() == before
    job_id = answer.json()["job_id"]
    stores = lab.runtime.stores
    assert (await lab.row(movie_id))["trace_job_id"] == job_id
    events = [event async for event in stores.audit.of("movie_id", movie_id)]
    assert [(event["event_type"], event["trace_job_id"]) for event in events] == [("movie.tracing.started", job_id)]
    waiting = []
    while (delivery := await next_message(stores.queue)) is not None:
        waiting.append(delivery.message().job_id)
        await stores.queue.delete(delivery)
    assert waiting.count(job_id) == 1


async def test_our_own_page_asks_with_its_cookie(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    headers = {"cookie": f"api_key={lab.people.ada.api_key}", "origin": ORIGIN}
    answer = await lab.http.post(TRACE, json={"movie_id": movie_id, "analysis_lease_id": lease_id}, headers=headers)
    assert answer.status_code == 202


async def test_requests_are_counted_by_what_became_of_them_and_by_client(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    headers = {"x-client-version": "page-1", "x-retry-reason": "network"}
    client = metrics.caller("page-1", "network")

    def counts() -> list[float]:
        counters = (
            metrics.REQUESTS_ACCEPTED.labels(kind="trace", **client),
            metrics.JOBS_CREATED.labels(kind="trace", **client),
            metrics.DUPLICATE_ARRIVALS.labels(**client),
            metrics.KEY_REUSE_REFUSED.labels(**client),
        )
        return [counter._value.get() for counter in counters]

    before = counts()
    for end in (5, 5, 5, 6):
        await trace(lab, "counted", headers, movie_id=movie_id, analysis_lease_id=lease_id, frame_end=end)
    assert [after - former for after, former in zip(counts(), before, strict=True)] == [1, 1, 2, 1]
