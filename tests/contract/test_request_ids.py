"""One id leads from a browser's click to the lines that a worker logs about the job that it started."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from service.domain.failures import Failure
from service.worker import delivery
from tests.support.engines import ScriptedEngine
from tests.support.log_lines import logged
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = "3f9c0a1b2d4e5f60"


def named(request_id: str) -> dict[str, str]:
    return {"x-request-id": request_id, "x-page-id": PAGE}


async def test_the_id_of_a_submit_is_in_the_workers_log(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await lab.runtime.stores.objects.put(f"movies/{movie_id}/movie", b"a movie", "video/mp4")
    stores, ada = lab.runtime.stores, lab.people.ada
    fields = {"movie_id": movie_id, "analysis_lease_id": lease_id, "request_key": "one-click"}
    with logged() as lines:
        first = await lab.http.post(
            "/resize-api/v1/trace-movie", json=fields, headers={**ada.headers, **named(f"{PAGE}-7")}
        )
        again = await lab.http.post(
            "/resize-api/v1/trace-movie", json=fields, headers={**ada.headers, **named(f"{PAGE}-8")}
        )
        message = await stores.queue.receive("trace", 1)
        assert message is not None
        engine = ScriptedEngine(fail_with=Failure("movie_cut_off", {"last": 3, "promised": 9}))
        assert await delivery.handle(stores, message, engine, asyncio.Event(), "veryfast") == "failed"
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.headers["x-request-id"] == f"{PAGE}-7"
    job_id = first.json()["job_id"]
    ended = next(line for line in lines if line["event"] == "job.ended")
    assert ended["request_id"] == f"{PAGE}-7", "the request that started the job, not the one that asked again"
    assert (ended["movie_id"], ended["job_id"], ended["attempt"]) == (movie_id, job_id, 1)
    assert ended["request_key"] == "one-click"
    admitted = next(line for line in lines if line["event"] == "job.admitted")
    assert (admitted["request_id"], admitted["page_id"], admitted["job_id"]) == (f"{PAGE}-7", PAGE, job_id)


async def test_the_id_of_the_request_that_admitted_an_inspection_is_in_the_workers_log(lab: Lab) -> None:
    """The receipt is older than that request: it was made when the upload was announced."""
    stores, ada = lab.runtime.stores, lab.people.ada
    told = {"title": "Bean", "movie_data_sha256": hashlib.sha256(b"movie").hexdigest(), "movie_data_length": "5"}
    announced = await lab.http.post("/api/new-movie", data=told, headers={**ada.headers, **named(f"{PAGE}-1")})
    movie_id = announced.json()["movie_id"]
    await stores.objects.put(f"uploads/{movie_id}/movie", b"movie", "video/mp4")
    await lab.http.post(
        "/resize-api/v1/process-upload", json={"movie_id": movie_id}, headers={**ada.headers, **named(f"{PAGE}-2")}
    )
    message = await stores.queue.receive("inspect", 1)
    assert message is not None
    with logged() as lines:
        assert await delivery.handle(stores, message, ScriptedEngine(), asyncio.Event(), "veryfast") == "completed"
    (ended,) = [line for line in lines if line["event"] == "job.ended"]
    assert (ended["request_id"], ended["movie_id"]) == (f"{PAGE}-2", movie_id)


@pytest.mark.parametrize(
    "hostile", ["a b", "short", "x" * 65, "abcdefgh\x0b", "<script>alert(1)</script>", "{jndi:ldap}aa", "ä" * 10]
)
async def test_an_id_that_is_none_is_replaced_and_never_logged(lab: Lab, hostile: str) -> None:
    told = hostile.encode("utf-8")
    with logged() as lines:
        answer = await lab.http.get("/api/ver", headers=[(b"x-request-id", told), (b"x-page-id", told)])
    assert len(answer.headers["x-request-id"]) == 32
    (line,) = [line for line in lines if line["event"] == "request"]
    assert line["request_id"] == answer.headers["x-request-id"]
    assert "page_id" not in line
