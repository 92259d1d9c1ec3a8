"""Movies that the older service left: opened by many at once, edited, traced on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from service.store.queue import JobMessage
from service.store.schema import FRAMES
from service.store.table import Put
from tests.support.lab_worker import claimed, run
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

METADATA = "/api/get-movie-metadata"


async def old_movie(lab: Lab) -> str:
    """640 x 480, four frames, one point measured from the upper left corner on each."""
    movie_id = await lab.movie(total_frames=4, frame_width=None, frame_height=None, published=True)
    for number in range(4):
        point = {"label": "Apex", "x": 10, "y": 100 + number}
        item = {"movie_id": movie_id, "frame_number": number, "trackpoints": [point]}
        await lab.runtime.stores.database.write(Put(FRAMES, item))
    return movie_id


LABELS = ("Apex", "Ruler 0mm", "Ruler 10mm")


async def labelled_movie(lab: Lab) -> str:
    """Three frames, each with three points that have a label and no marker id; no marker map."""
    movie_id = await lab.movie(total_frames=3, frame_width=None, frame_height=None, published=True)
    await lab.runtime.stores.objects.put(f"movies/{movie_id}/movie", b"a movie's bytes", "video/mp4")
    for number in range(3):
        points = [{"label": label, "x": 10 * n, "y": 100 + number} for n, label in enumerate(LABELS)]
        item = {"movie_id": movie_id, "frame_number": number, "trackpoints": points}
        await lab.runtime.stores.database.write(Put(FRAMES, item))
    return movie_id


async def names(lab: Lab, movie_id: str) -> list[list[str]]:
    answer = await lab.get(METADATA, lab.people.ada, movie_id=movie_id, frame_start=0, frame_count=3)
    frames = answer.json()["frames"]
    assert len({(m["marker_id"], m["color"]) for f in frames.values() for m in f["markers"]}) == len(LABELS)
    return [[marker["label"] for marker in frames[str(n)]["markers"]] for n in range(3)]


async def traced(lab: Lab, movie_id: str, lease_id: str | None) -> None:
    """Trace the whole movie as its page would, by an engine that moves every marker one pixel to the right."""
    answer = await lab.post(
        "/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, frame_start=0
    )
    assert answer.status_code == 202, answer.text
    stores = lab.runtime.stores
    assert await run(stores, await claimed(stores, JobMessage(movie_id, answer.json()["job_id"], 1))) == "completed"


async def stored(lab: Lab, movie_id: str) -> dict[int, Any]:
    span = lab.runtime.stores.frames.span(movie_id, 0, 9, consistent=True)
    return {item["frame_number"]: item async for item in span}


async def heights(lab: Lab, movie_id: str) -> list[float]:
    answer = await lab.get(METADATA, lab.people.ada, movie_id=movie_id, frame_start=0, frame_count=4)
    return [answer.json()["frames"][str(n)]["markers"][0]["y"] for n in range(4)]


async def test_twenty_first_openings_turn_nothing_twice_a24(lab: Lab) -> None:
    movie_id = await old_movie(lab)
    before = await stored(lab, movie_id)
    row = await lab.row(movie_id)
    seen = await asyncio.gather(*(heights(lab, movie_id) for _ in range(20)))
    assert seen == [[380.0, 379.0, 378.0, 377.0]] * 20
    assert await stored(lab, movie_id) == before
    assert await lab.row(movie_id) == row


async def test_an_old_movie_is_edited_frame_by_frame_without_a_mixed_reading_a24(lab: Lab) -> None:
    movie_id = await old_movie(lab)
    lease_id = await lab.lease(movie_id)
    moved = json.dumps([{"label": "Apex", "x": 12, "y": 300}])
    answer = await lab.post(
        "/api/put-frame-trackpoints", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, frame_number=1,
        trackpoints=moved,
    )  # fmt: skip
    assert answer.status_code == 200, answer.text
    assert await heights(lab, movie_id) == [380.0, 300.0, 378.0, 377.0]
    exported = await lab.get("/api/get-movie-trackpoints", lab.people.ada, movie_id=movie_id, format="json")
    assert [point["y"] for point in exported.json()["trackpoint_dicts"]] == [380.0, 300.0, 378.0, 377.0]


async def test_a_trace_of_an_old_movie_keeps_the_names_of_its_markers(lab: Lab) -> None:
    movie_id = await labelled_movie(lab)
    assert await names(lab, movie_id) == [[*LABELS]] * 3
    await traced(lab, movie_id, None)
    assert await names(lab, movie_id) == [[*LABELS]] * 3
    exported = await lab.get("/api/get-movie-trackpoints", lab.people.ada, movie_id=movie_id, format="json")
    assert {point["label"] for point in exported.json()["trackpoint_dicts"]} == {*LABELS}


async def test_a_marker_of_an_old_movie_can_be_renamed_at_once_and_traced_under_its_new_name(lab: Lab) -> None:
    movie_id = await labelled_movie(lab)
    lease_id = await lab.lease(movie_id)
    asked = {"movie_id": movie_id, "analysis_lease_id": lease_id}
    answer = await lab.post("/api/rename-marker", lab.people.ada, **asked, old_label="Apex", new_label="Tip")
    assert (answer.status_code, answer.json().get("trackpoints_updated")) == (200, 3), answer.text
    now_called = ["Tip", *LABELS[1:]]
    assert await names(lab, movie_id) == [now_called] * 3
    moved = json.dumps([{"label": label, "x": 50, "y": 300} for label in now_called])
    edit = await lab.post("/api/put-frame-trackpoints", lab.people.ada, **asked, frame_number=1, trackpoints=moved)
    assert edit.status_code == 200, edit.text
    assert await names(lab, movie_id) == [now_called] * 3
    await traced(lab, movie_id, lease_id)
    assert await names(lab, movie_id) == [now_called] * 3


@pytest.mark.parametrize(
    ("route", "change"),
    [
        ("/api/reset-movie-tracing", {}),
        ("/api/put-frame-trackpoints", {"frame_number": 2, "trackpoints": '[{"label": "Leaf", "x": 1, "y": 2}]'}),
    ],
)
async def test_the_first_edit_of_an_old_movie_writes_down_what_its_markers_are_called(
    lab: Lab, route: str, change: dict[str, Any]
) -> None:
    movie_id = await labelled_movie(lab)
    lease_id = await lab.lease(movie_id)
    answer = await lab.post(route, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, **change)
    assert answer.status_code == 200, answer.text
    answer = await lab.get(METADATA, lab.people.ada, movie_id=movie_id, frame_start=0, frame_count=1)
    assert [marker["label"] for marker in answer.json()["frames"]["0"]["markers"]] == [*LABELS]
    known = await lab.runtime.stores.frames.markers(movie_id)
    assert {entry["label"] for entry in known.values()} >= {*LABELS}


@pytest.mark.parametrize(
    ("stored", "told"), [("090", 90), ("NaN", 0), ("270", 270), (450, 90), ("undefined", 0), (45, 0)]
)
async def test_a_rotation_that_was_stored_as_text_is_read_as_quarter_turns_a22(
    lab: Lab, stored: Any, told: int
) -> None:
    """Turning "0" by 90 gave "090", and a typing error NaN. Such a movie works like any other."""
    movie_id, lease_id = await lab.marked_movie(rotation=stored)
    answer = await lab.get(METADATA, lab.people.ada, movie_id=movie_id)
    assert answer.json()["metadata"]["rotation"] == told
    asked = {"movie_id": movie_id, "analysis_lease_id": lease_id}
    assert (await lab.post("/api/rotate-movie", lab.people.ada, **asked, rotation=told)).status_code == 200
    traced = await lab.post("/resize-api/v1/trace-movie", lab.people.ada, **asked)
    assert traced.status_code == 202, traced.text
