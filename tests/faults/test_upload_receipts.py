"""Uploads are intents too: one key, one movie, one inspection, however often and by whomever it is asked (I9, C12)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.domain.errors import KeyReused
from service.domain.policy import DAY
from service.store.queue import JobMessage
from service.store.schema import MOVIES, RECEIPTS
from service.usecases.upload_movie import NewMovie, new_movie, process_upload, upload_key
from tests.support.fault_lab import FaultLab
from tests.support.lab_worker import claimed, run
from tests.support.scene import BYTES, Scene, order_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Owner")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def teacher(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Teacher", admin=True)


@pytest.fixture
def scene(faulty: FaultLab, owner: Actor) -> Scene:
    """Without a movie: each test announces its own."""
    return Scene(faulty, owner)


async def _inspected(scene: Scene, actor: Actor, wanted: NewMovie) -> str:
    made = await new_movie(scene.faulty.stores, actor, wanted)
    await scene.direct.objects.put(upload_key(made.movie_id), BYTES, "application/octet-stream")
    movie = await process_upload(scene.faulty.stores, actor, made.movie_id)
    assert movie.tracing
    lease = await claimed(scene.direct, JobMessage(made.movie_id, movie.tracing.job_id, 1))
    assert await run(scene.direct, lease) == "completed"
    return made.movie_id


async def _movies(scene: Scene) -> set[str]:
    return {row["movie_id"] for row in await scene.faulty.lab.rows(MOVIES)}


async def test_fifty_announcements_of_one_key_are_one_movie(scene: Scene) -> None:
    before, wanted = await _movies(scene), order_of("burst")
    answers = await asyncio.gather(*(new_movie(scene.faulty.stores, scene.owner, wanted) for _ in range(50)))
    assert {a.movie_id for a in answers} == await _movies(scene) - before
    assert sum(not a.replayed for a in answers) == 1
    with pytest.raises(KeyReused):
        await new_movie(scene.faulty.stores, scene.owner, replace(wanted, sent={"title": "Pea"}))
    assert len(await _movies(scene) - before) == 1


async def test_fifty_notes_that_a_file_has_arrived_are_one_inspection(scene: Scene) -> None:
    made = await new_movie(scene.faulty.stores, scene.owner, order_of("arrived"))
    upload = replace(scene, movie_id=made.movie_id)
    await scene.direct.objects.put(upload_key(made.movie_id), BYTES, "application/octet-stream")
    await scene.messages()
    answers = await asyncio.gather(
        *(process_upload(scene.faulty.stores, scene.owner, made.movie_id) for _ in range(50))
    )
    assert len({a.tracing.job_id for a in answers if a.tracing}) == 1
    assert await upload.events() == {"movie.upload.completed": 1}
    assert len(await upload.messages()) == 1
    (receipt,) = await scene.faulty.lab.receipts(made.movie_id)
    assert receipt["job_id"] == (await upload.movie()).row["trace_job_id"]
    await upload.remove()


async def test_two_people_with_the_same_bytes_and_the_same_key_have_two_movies_and_two_of_everything(
    scene: Scene, teacher: Actor
) -> None:
    wanted = order_of("shared")
    ids = [await _inspected(scene, actor, wanted) for actor in (scene.owner, teacher)]
    assert len(set(ids)) == 2
    stages = [replace(scene, movie_id=movie_id) for movie_id in ids]
    receipts = [receipt for one in stages for receipt in await scene.faulty.lab.receipts(one.movie_id)]
    assert len({r["receipt_id"] for r in receipts}) == len({r["job_id"] for r in receipts}) == len(receipts) == 2
    urns = [(await one.movie()).row["movie_data_urn"] for one in stages]
    assert len(set(urns)) == 2
    for one, movie_id in zip(stages, ids, strict=True):
        keys = await scene.direct.objects.keys(f"movies/{movie_id}/")
        assert len(keys) == 3
        assert await one.events() == {"movie.upload.completed": 1, "movie.inspection.completed": 1}
        again = await new_movie(scene.faulty.stores, one.owner if one is stages[0] else teacher, wanted)
        assert (again.movie_id, again.replayed) == (movie_id, True)
        await one.remove()


async def test_a_retired_uploads_key_makes_a_new_movie_and_says_so(scene: Scene) -> None:
    wanted = order_of("old")
    first = await _inspected(scene, scene.owner, wanted)
    scene.faulty.clock.advance(30 * DAY)
    before = await _movies(scene)
    again = await new_movie(scene.faulty.stores, scene.owner, wanted)
    assert (again.replayed, again.retired) == (False, True)
    assert await _movies(scene) - before == {again.movie_id}
    assert again.movie_id != first
    rows = [r for r in await scene.faulty.lab.rows(RECEIPTS) if r["request_key"] == wanted.request_key]
    assert [(r["movie_id"], r["state"]) for r in rows] == [(again.movie_id, "accepted")]
