"""Turning a movie: from the page's lease to an inspection and back, with a real movie and a real engine."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from typing import Any

import av
import httpx
import pytest

from service.worker.delivery import handle
from service.worker.engine import Engine
from tests.support.messages import next_message
from tests.support.service import Lab
from tests.support.uploads import mp4

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROTATE = "/api/rotate-movie"
MOVIE = mp4(frames=6, width=160, height=120)


async def do_the_job(lab: Lab, engine: Engine) -> str:
    """Take the one message that waits, as a worker does."""
    delivery = await next_message(lab.runtime.stores.queue, 5)
    assert delivery is not None
    return await handle(lab.runtime.stores, delivery, engine, asyncio.Event(), "ultrafast")


async def metadata(lab: Lab, movie_id: str, **query: Any) -> dict[str, Any]:
    answer = await lab.get("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id, **query)
    told: dict[str, Any] = answer.json()
    return told


async def picture_size(lab: Lab, movie_id: str) -> tuple[int, int]:
    answer = await lab.get("/resize-api/v1/first-frame", lab.people.ada, movie_id=movie_id)
    with av.open(io.BytesIO(answer.content)) as container:
        stream = container.streams.video[0]
        return stream.width, stream.height


async def test_a_turned_movie_is_inspected_again_and_starts_with_fresh_markers(lab: Lab) -> None:
    ada = lab.people.ada
    announced = await lab.post(
        "/api/new-movie", ada, title="Bean", movie_data_sha256=hashlib.sha256(MOVIE).hexdigest(),
        movie_data_length=len(MOVIE),
    )  # fmt: skip
    movie_id, form = announced.json()["movie_id"], announced.json()["presigned_post"]
    async with httpx.AsyncClient() as store:
        await store.post(form["url"], data=form["fields"], files={"file": MOVIE})
    await lab.post("/resize-api/v1/process-upload", ada, movie_id=movie_id)
    async with Engine(megabytes=1024, seconds=60) as engine:
        assert await do_the_job(lab, engine) == "completed"
        upright = (await metadata(lab, movie_id))["metadata"]
        assert (upright["status"], upright["width"], upright["height"]) == ("ready", 160, 120)
        wide = await picture_size(lab, movie_id)
        lease_id = await lab.lease(movie_id)
        await lab.post(
            "/api/put-frame-trackpoints", ada, movie_id=movie_id, analysis_lease_id=lease_id, frame_number=0,
            trackpoints=json.dumps([{"label": "Mine", "x": 1, "y": 1}]),
        )  # fmt: skip

        turned = await lab.post(ROTATE, ada, movie_id=movie_id, analysis_lease_id=lease_id, rotation=90)
        assert (turned.status_code, turned.json()["metadata"]["status"]) == (200, "processing")
        busy = await lab.post("/api/acquire-movie-analysis-lease", ada, movie_id=movie_id)
        assert (busy.status_code, busy.json()["code"]) == (409, "not_ready")
        assert await do_the_job(lab, engine) == "completed"

    told = await metadata(lab, movie_id, frame_start=0, frame_count=6)
    now = told["metadata"]
    assert (now["status"], now["rotation"], now["width"], now["height"]) == ("ready", 90, 120, 160)
    assert await picture_size(lab, movie_id) == wide[::-1]
    assert [p["label"] for p in told["frames"]["0"]["markers"]] == ["Apex", "Ruler 0mm", "Ruler 10mm"]
    events = [event["event_type"] async for event in lab.runtime.stores.audit.of("movie_id", movie_id)]
    assert sorted(events) == [
        "movie.inspection.completed", "movie.inspection.completed", "movie.inspection.started",
        "movie.upload.completed",
    ]  # fmt: skip
    again = await lab.lease(movie_id)
    placed = await lab.post(
        "/api/put-frame-trackpoints", ada, movie_id=movie_id, analysis_lease_id=again, frame_number=0,
        trackpoints=json.dumps([{"label": "Apex", "x": 5, "y": 6}]),
    )  # fmt: skip
    assert placed.status_code == 200
    told = await metadata(lab, movie_id, frame_start=0, frame_count=6)
    assert [p["x"] for p in told["frames"]["0"]["markers"]] == [5.0]


async def movie_with_a_file(lab: Lab) -> tuple[str, str]:
    movie_id, lease_id = await lab.marked_movie(movie_data_sha256="0" * 64, movie_data_length=4)
    await lab.runtime.stores.objects.put(f"movies/{movie_id}/movie", b"file", "video/mp4")
    return movie_id, lease_id


async def test_a_movie_that_lies_that_way_already_is_left_alone(lab: Lab) -> None:
    movie_id, lease_id = await movie_with_a_file(lab)
    answer = await lab.post(ROTATE, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, rotation=0)
    row = await lab.row(movie_id)
    assert (answer.status_code, row["analysis_lease_id"]) == (200, lease_id)
    assert "trace_job_id" not in row


@pytest.mark.parametrize("rotation", [None, "", "45", "-90", "360", "90.0", "NaN", "left"])
async def test_another_angle_is_refused_a22(lab: Lab, marked: tuple[str, str], rotation: str | None) -> None:
    movie_id, lease_id = marked
    answer = await lab.post(ROTATE, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, rotation=rotation)
    assert (answer.status_code, answer.json()["message"][:10]) == (400, "rotation: ")


async def test_turning_needs_the_live_lease_and_writes_nothing_without(lab: Lab) -> None:
    movie_id, lease_id = await movie_with_a_file(lab)
    before = await lab.row(movie_id)
    for shown, code in ((None, "lease_required"), ("0" * 32, "lease_lost"), ("é", "lease_lost")):
        answer = await lab.post(ROTATE, lab.people.ada, movie_id=movie_id, analysis_lease_id=shown, rotation=90)
        assert (answer.status_code, answer.json()["code"]) == (409, code)
    lab.clock.ahead += 901
    late = await lab.post(ROTATE, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, rotation=90)
    assert (late.status_code, late.json()["code"]) == (409, "lease_lost")
    assert await lab.row(movie_id) == before


async def test_five_pages_that_turn_at_once_with_one_lease_start_one_inspection(lab: Lab) -> None:
    movie_id, lease_id = await movie_with_a_file(lab)
    answers = await asyncio.gather(
        *(lab.post(ROTATE, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, rotation=n)
          for n in (90, 180, 270, 90, 180))
    )  # fmt: skip
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    row = await lab.row(movie_id)
    assert (row["status"], row["trace_job_kind"], row["edit_seq"]) == ("processing", "inspect", 2)
    assert "analysis_lease_id" not in row
    events = [event["event_type"] async for event in lab.runtime.stores.audit.of("movie_id", movie_id)]
    assert events == ["movie.inspection.started"]


async def test_a_movie_whose_file_cannot_be_verified_is_not_risked(lab: Lab) -> None:
    without_checksum, lease = await lab.marked_movie()
    await lab.runtime.stores.objects.put(f"movies/{without_checksum}/movie", b"file", "video/mp4")
    gone, gone_lease = await lab.marked_movie(movie_data_sha256="0" * 64)
    for movie_id, lease_id in ((without_checksum, lease), (gone, gone_lease)):
        answer = await lab.post(ROTATE, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, rotation=90)
        assert (answer.status_code, answer.json()["code"]) == (409, "source_missing")
        assert (await lab.row(movie_id))["status"] == "ready"
