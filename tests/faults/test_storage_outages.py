"""The storage breaks off, is replaced under a reader's hands, or is gone for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.store.objects import ObjectMissing
from service.usecases.sweep import sweep
from service.usecases.upload_movie import upload_key
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import Fault, Request
from tests.support.lab_worker import claimed, run
from tests.support.scene import BYTES, Scene, inspecting, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Owner")


@pytest_asyncio.fixture(loop_scope="module")
async def scene(faulty: FaultLab, owner: Actor) -> AsyncIterator[Scene]:
    made = Scene(faulty, owner)
    yield made
    await made.remove()


async def test_a_job_that_has_published_is_not_called_lost_while_it_tidies_up(scene: Scene) -> None:
    await running(scene)
    assert scene.lease

    async def slow(_: Request) -> None:
        scene.faulty.clock.advance(400)
        assert scene.lease
        await scene.lease.renew()

    with scene.faulty.proxy.fault("s3:ListObjects", hook=slow) as plan:
        assert await run(scene.faulty.stores, scene.lease) == "completed"
    assert len(plan.hits) == 1
    assert not scene.lease.lost


async def test_a_short_outage_of_the_storage_does_not_use_up_every_attempt_at_once(scene: Scene) -> None:
    await running(scene)
    assert scene.lease
    with scene.faulty.proxy.fault("s3:*", Fault.RESET_BEFORE):
        assert await run(scene.faulty.stores, scene.lease) == "handed back"
        await sweep(scene.faulty.stores)
    assert await scene.messages() == []  # at once would have met the same outage
    scene.faulty.clock.advance(30)
    await sweep(scene.direct)
    (message,) = set(await scene.messages())
    assert message.attempt == 2
    assert await run(scene.direct, await claimed(scene.direct, message)) == "completed"


async def test_a_download_that_breaks_off_goes_on_where_it_was(scene: Scene, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096
    await scene.direct.objects.put("big", data, "video/mp4")
    objects = scene.faulty.stores.objects
    with scene.faulty.proxy.fault("s3:GetObject", Fault.CUT_REPLY, times=5) as plan:
        assert b"".join([piece async for piece in objects.download("big")]) == data
    assert len(plan.hits) == 5
    with scene.faulty.proxy.fault("s3:GetObject", Fault.CUT_REPLY, times=1):
        assert await objects.get("big") == data
    with scene.faulty.proxy.fault("s3:GetObject", Fault.CUT_REPLY, times=1):
        assert await objects.read("big", 10, 999_999) == data[10:1_000_000]


async def test_a_download_never_joins_two_objects(scene: Scene) -> None:
    await scene.direct.objects.put("swapped", b"a" * 100_000, "video/mp4")

    async def swap(_: Request) -> None:
        await scene.direct.objects.put("swapped", b"b" * 100_000, "video/mp4")

    with scene.faulty.proxy.fault("s3:GetObject", Fault.CUT_REPLY, times=1, hook=swap), pytest.raises(ObjectMissing):
        async for _ in scene.faulty.stores.objects.download("swapped"):
            pass


@pytest.mark.parametrize("when", ["s3:GetObject", "s3:CopyObject"])
async def test_a_file_that_is_replaced_while_it_is_inspected_is_not_taken_over(scene: Scene, when: str) -> None:
    """The form of an upload is good for an hour: its person may send another file of that length at any moment."""
    await inspecting(scene)
    assert scene.lease

    async def swap(_: Request) -> None:
        await scene.direct.objects.put(upload_key(scene.movie_id), BYTES[::-1], "application/octet-stream")

    with scene.faulty.proxy.fault(when, times=1, gate=swap) as plan:
        await run(scene.faulty.stores, scene.lease)
    assert len(plan.hits) == 1
    movie = await scene.movie()
    assert "movie_data_urn" not in movie.row
    for key in await scene.direct.objects.keys(f"movies/{scene.movie_id}/"):
        assert await scene.direct.objects.get(key) != BYTES[::-1]
