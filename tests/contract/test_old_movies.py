"""Movies that the older service left: opened by many at once, edited, traced on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from service.store.schema import FRAMES
from service.store.table import Put
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
