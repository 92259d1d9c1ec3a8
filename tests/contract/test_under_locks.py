"""Watching, playing and downloading go on whoever edits or traces the movie."""

from __future__ import annotations

from typing import Any

import pytest

from service.store.expressions import Update
from service.store.queue import JobMessage
from service.store.schema import MOVIES
from service.store.table import Change
from service.usecases.job_lease import claim
from tests.contract.test_media import jpeg
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

READS: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("/api/get-movie-metadata", {"frame_start": 0, "frame_count": 1}, 200),
    ("/api/get-movie-trackpoints", {"format": "csv"}, 200),
    ("/api/get-movie-trackpoints", {"format": "xlsx"}, 200),
    ("/api/get-movie-trackpoints", {"format": "json"}, 200),
    ("/resize-api/v1/first-frame", {}, 200),
    ("/resize-api/v1/frame", {"frame_number": 2}, 200),
    ("/resize-api/v1/movie-data", {"format": "json"}, 200),
    ("/resize-api/v1/movie-data", {"format": "redirect"}, 302),
    ("/resize-api/v1/movie-data", {"format": "zip"}, 302),
)


@pytest.mark.parametrize("lock", ["none", "edited", "queued", "running", "stale"])
async def test_viewing_playing_and_downloading_work_under_every_lock(lab: Lab, lock: str) -> None:
    movie_id, lease_id = await lab.marked_movie(published=True)
    archive = await lab.archive(movie_id, {n: jpeg(n) for n in range(10)})
    shown = Change(MOVIES, {"movie_id": movie_id}, Update(set={"movie_zipfile_urn": archive}))
    await lab.runtime.stores.database.write(shown)
    if lock == "none":
        await lab.post(
            "/api/release-movie-analysis-lease", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id
        )
    elif lock != "edited":
        started = await lab.post(
            "/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id
        )
        if lock != "queued":
            job = JobMessage(movie_id, started.json()["job_id"], 1)
            assert await claim(lab.runtime.stores, job)
    if lock == "stale":
        lab.clock.ahead += 901
    row = await lab.row(movie_id)
    for person in (lab.people.ada, lab.people.teacher, lab.people.ben):
        for path, query, status in READS:
            answer = await lab.get(path, person, movie_id=movie_id, **query)
            assert answer.status_code == status, (lock, person.name, path, query, answer.text[:200])
            assert lease_id not in answer.text
    assert await lab.row(movie_id) == row
