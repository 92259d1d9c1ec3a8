"""Everything that a person or a worker does to a movie, each as one deed that can be tried while replies get lost.

A deed is made ready through the lab's own door, done through the proxy, and judged by looking at every row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from service.domain.failures import Failure
from service.domain.movie import Movie
from service.store.queue import JobMessage
from service.store.schema import MOVIES
from service.store.stores import Stores
from service.usecases import edit_movie, manage_movie
from service.usecases.analysis_lease import acquire, heartbeat, release
from service.usecases.cancel_trace import cancel
from service.usecases.job_lease import claim
from service.usecases.rotate_movie import rotate
from service.usecases.submit_trace import TraceOrder, submit
from service.usecases.sweep import sweep
from service.usecases.upload_movie import new_movie, process_upload
from tests.support.engines import ScriptedEngine
from tests.support.lab import POINTS
from tests.support.lab_worker import run
from tests.support.scene import (
    MOVED,
    Scene,
    arrived_upload,
    being_edited,
    expired_upload,
    gone_stale,
    gone_stale_too_often,
    inspecting,
    order_of,
    queued,
    ready,
    retracing,
    running,
    unannounced,
    uploaded,
)


@dataclass(frozen=True)
class Deed:
    """`act` returns what `judge` is given."""

    name: str
    prepare: Callable[[Scene], Awaitable[None]]
    act: Callable[[Stores, Scene], Awaitable[Any]]
    judge: Callable[[Scene, Any], Awaitable[None]]

    def __str__(self) -> str:
        return self.name


async def _acquire(stores: Stores, scene: Scene, **more: Any) -> Any:
    return (await acquire(stores, scene.owner, scene.movie_id, **more)).lease


async def _one_lease(scene: Scene, lease: Any) -> None:
    """I1, C08: the winner was told, and his token is the row's."""
    assert lease is not None
    movie = await scene.movie()
    assert movie.analysis
    assert movie.analysis.lease_id == lease.lease_id != scene.page
    assert movie.tracing is None


async def _taken_over(scene: Scene, lease: Any) -> None:
    await _one_lease(scene, lease)
    assert await scene.events() == {"movie.lease.taken-over": 1}


async def _replaced(scene: Scene, lease: Any) -> None:
    """I7: the stale job was ended, once, in the same write."""
    await _one_lease(scene, lease)
    await _failed_once(scene, "worker_lost")


async def _failed_once(scene: Scene, code: str) -> None:
    row = (await scene.movie()).row
    assert (row["status"], row["failure_code"]) == ("tracing failed", code)
    assert "trace_job_id" not in row
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert (receipt["state"], receipt["failure_code"]) == ("failed", code)
    assert await scene.events() == {"movie.tracing.started": 1, "movie.tracing.failed": 1}


async def _still_held(scene: Scene, beat: Any) -> None:
    assert beat.active
    movie = await scene.movie()
    assert movie.analysis
    assert movie.analysis.expires_at == beat.expires_at == scene.faulty.clock.now() + 900


async def _free(scene: Scene, _: Any) -> None:
    assert (await scene.movie()).analysis is None


async def _edited_once(scene: Scene, movie: Movie) -> None:
    """I12: made once, whole, and told so."""
    row = (await scene.movie()).row
    assert row["edit_seq"] == movie.edit_seq == 1
    assert row["analysis_lease_id"] == scene.page
    frames = await scene.frames()
    assert [(p["x"], p["y"]) for p in frames[3]["trackpoints"]] == [(p["x"], p["y"]) for p in POINTS]


async def _reset_once(scene: Scene, movie: Movie) -> None:
    row = (await scene.movie()).row
    assert row["edit_seq"] == movie.edit_seq == 1
    assert (row["hidden_from"], row["hidden_to"]) == (0, 29)


async def _titled(scene: Scene, movie: Movie) -> None:
    assert (await scene.movie()).row["title"] == movie.row["title"] == "Pea"


async def _deleted(scene: Scene, movie: Movie) -> None:
    assert movie.deleted
    assert (await scene.movie()).deleted


async def _make_movie(stores: Stores, scene: Scene) -> Any:
    scene.notes["before"] = {row["movie_id"] for row in await scene.faulty.lab.rows(MOVIES)}
    return await new_movie(stores, scene.owner, order_of(f"upload-{stores.ids.token()}"))


async def _one_movie(scene: Scene, made: Any) -> None:
    scene.movie_id = made.movie_id
    rows = {row["movie_id"] for row in await scene.faulty.lab.rows(MOVIES)}
    assert rows - scene.notes["before"] == {made.movie_id}
    (receipt,) = await scene.faulty.lab.receipts(made.movie_id)
    assert (receipt["state"], made.replayed) == ("accepted", False)


async def _one_inspection(scene: Scene, movie: Movie) -> None:
    row = (await scene.movie()).row
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert (row["status"], row["trace_job_id"]) == ("processing", receipt["job_id"])
    assert movie.tracing
    assert movie.tracing.job_id == receipt["job_id"]
    assert await scene.events() == {"movie.upload.completed": 1}
    assert {m.job_id for m in await scene.messages()} == {receipt["job_id"]}


async def _turned_once(scene: Scene, movie: Movie) -> None:
    row = (await scene.movie()).row
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert (row["status"], row["rotation"], row["trace_job_id"]) == ("processing", 90, receipt["job_id"])
    assert row["edit_seq"] == movie.edit_seq == 1
    assert "analysis_lease_id" not in row
    assert await scene.events() == {"movie.inspection.started": 1}
    assert {m.job_id for m in await scene.messages()} == {receipt["job_id"]}


async def _submit(stores: Stores, scene: Scene) -> Any:
    order = TraceOrder(
        scene.movie_id, f"k-{scene.movie_id}", {"movie_id": scene.movie_id}, analysis_lease_id=scene.page
    )
    return await submit(stores, scene.owner, order)


async def _one_job(scene: Scene, submitted: Any) -> None:
    """I3, I9, I10: one receipt, one job, one event, one message at least, and the starter was told it is new."""
    assert not submitted.replayed
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    row = (await scene.movie()).row
    assert receipt["job_id"] == row["trace_job_id"] == submitted.receipt.job_id
    assert "analysis_lease_id" not in row
    assert await scene.events() == {"movie.tracing.started": 1}
    assert {m.job_id for m in await scene.messages()} == {submitted.receipt.job_id}


async def _claim(stores: Stores, scene: Scene) -> Any:
    assert scene.message
    return await claim(stores, scene.message)


async def _claimed_once(scene: Scene, lease: Any) -> None:
    """I4: the winner knows it, and nobody else can win."""
    assert lease is not None
    movie = await scene.movie()
    assert movie.tracing
    assert movie.tracing.claim_id == lease.fence.claim_id
    assert scene.message
    assert await claim(scene.direct, scene.message) is None


async def _run(_: Stores, scene: Scene) -> Any:
    assert scene.lease
    return await run(scene.faulty.stores, scene.lease, ScriptedEngine(chunk=7))


async def _retraced(scene: Scene, outcome: Any) -> None:
    """I5, I6, I10: hidden frames cleaned, every frame there, published once, only the former artifact gone."""
    assert outcome == "completed"
    row = (await scene.movie()).row
    assert (row["status"], row["results_job_id"], row["last_frame_tracked"]) == ("tracing completed", scene.job_id, 24)
    assert not [name for name in row if name.startswith("hidden_") or name in ("trace_job_id", "sweep_shard")]
    frames = await scene.frames()
    jobs = {n: item.get("job_id") for n, item in frames.items()}
    first = scene.notes["first_job"]
    assert jobs == {**dict.fromkeys((*range(5), *range(25, 30)), first), **dict.fromkeys(range(5, 25), scene.job_id)}
    assert frames[20]["trackpoints"][0]["x"] == MOVED[0]["x"]
    assert await scene.keys() == ["movies/*/" + scene.job_id + "/traced.mp4", "movies/*/movie"]
    assert await scene.events() == {"movie.tracing.started": 2, "movie.tracing.completed": 2}
    assert {r["state"] for r in await scene.faulty.lab.receipts(scene.movie_id)} == {"done"}


async def _inspected(scene: Scene, outcome: Any) -> None:
    assert outcome == "completed"
    row = (await scene.movie()).row
    assert (row["status"], row["total_frames"]) == ("ready", 30)
    folder = f"movies/*/{scene.job_id}"
    assert await scene.keys() == [f"{folder}/first.jpeg", f"{folder}/frames.zip", f"{folder}/movie"]
    assert await scene.events() == {"movie.upload.completed": 1, "movie.inspection.completed": 1}
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert receipt["state"] == "done"


async def _run_badly(_: Stores, scene: Scene) -> Any:
    assert scene.lease
    failure = Failure("movie_cut_off", {"last": 9, "promised": 30})
    return await run(scene.faulty.stores, scene.lease, ScriptedEngine(fail_with=failure))


async def _failed_as_told(scene: Scene, outcome: Any) -> None:
    assert outcome == "failed"
    await _failed_once(scene, "movie_cut_off")


async def _hand_back(_: Stores, scene: Scene) -> Any:
    assert scene.lease
    stop = asyncio.Event()
    stop.set()
    return await run(scene.faulty.stores, scene.lease, ScriptedEngine(), stop)


async def _handed_back(scene: Scene, outcome: Any) -> None:
    assert outcome == "handed back"
    await _waits_again(scene, failures=0)
    assert (await scene.movie()).row["tracing_checkpoint_frame"] == 9


async def _waits_again(scene: Scene, failures: int) -> None:
    job = (await scene.movie()).tracing
    assert job
    assert (job.state, job.attempt, job.failures, job.claim_id) == ("queued", 2, failures, None)
    assert set(await scene.messages()) == {JobMessage(scene.movie_id, scene.job_id, 2)}


async def _renew(_: Stores, scene: Scene) -> Any:
    """As the keeper beside the job does: what is not known is tried again."""
    assert scene.lease
    scene.faulty.clock.advance(30)
    for _attempt in range(3):
        try:
            return await scene.lease.renew()
        except Exception as error:
            scene.notes["late"] = error
    raise scene.notes["late"]


async def _renewed(scene: Scene, _: Any) -> None:
    movie = await scene.movie()
    assert movie.tracing
    assert scene.lease
    assert movie.tracing.expires_at == scene.faulty.clock.now() + 900
    assert not scene.lease.lost


async def _cancelled(scene: Scene, _: Any) -> None:
    await _failed_once(scene, "cancelled")


async def _sweep(stores: Stores, scene: Scene) -> Any:
    """Two passes: what is not known after one is left to the next."""
    await sweep(stores)
    await sweep(stores)


async def _announced(scene: Scene, _: Any) -> None:
    movie = await scene.movie()
    assert movie.tracing
    assert movie.tracing.announced_at == scene.faulty.clock.now()
    assert set(await scene.messages()) == {JobMessage(scene.movie_id, scene.job_id, 1)}


async def _resumed(scene: Scene, _: Any) -> None:
    """One attempt more, one failure more, and a message at the latest when the next announcement is due."""
    job = (await scene.movie()).tracing
    assert job
    assert (job.state, job.attempt, job.failures, job.claim_id) == ("queued", 2, 1, None)
    if not await scene.messages():
        scene.faulty.clock.advance(30)
        await sweep(scene.direct)
        assert await scene.messages()


async def _lost_for_good(scene: Scene, _: Any) -> None:
    await _failed_once(scene, "worker_lost")


async def _expired(scene: Scene, _: Any) -> None:
    row = (await scene.movie()).row
    assert (row["status"], row["failure_code"]) == ("unusable", "upload_expired")
    (receipt,) = await scene.faulty.lab.receipts(scene.movie_id)
    assert receipt["state"] == "failed"


async def _nothing(_: Scene) -> None:
    return None


DEEDS = (
    Deed("acquire", ready, _acquire, _one_lease),
    Deed("acquire-with-key", ready, lambda s, c: _acquire(s, c, request_key="load-1"), _one_lease),
    Deed("acquire-again", being_edited, lambda s, c: _acquire(s, c, former_lease_id=c.page), _one_lease),
    Deed("take-over", being_edited, lambda s, c: _acquire(s, c, take_over=True), _taken_over),
    Deed("acquire-over-a-stale-trace", gone_stale, _acquire, _replaced),
    Deed("heartbeat", being_edited, lambda s, c: heartbeat(s, c.owner, c.movie_id, c.page), _still_held),
    Deed("release", being_edited, lambda s, c: release(s, c.owner, c.movie_id, c.page), _free),
    Deed(
        "edit",
        being_edited,
        lambda s, c: edit_movie.put_frame_trackpoints(s, c.owner, c.movie_id, c.page, 3, POINTS),
        _edited_once,
    ),
    Deed("reset", being_edited, lambda s, c: edit_movie.reset_tracing(s, c.owner, c.movie_id, c.page), _reset_once),
    Deed("title", ready, lambda s, c: manage_movie.set_property(s, c.owner, c.movie_id, "title", "Pea"), _titled),
    Deed("delete", ready, lambda s, c: manage_movie.delete_movie(s, c.owner, c.movie_id, deleted=True), _deleted),
    Deed("new-movie", _nothing, _make_movie, _one_movie),
    Deed("process-upload", arrived_upload, lambda s, c: process_upload(s, c.owner, c.movie_id), _one_inspection),
    Deed("rotate", uploaded, lambda s, c: rotate(s, c.owner, c.movie_id, c.page, 90), _turned_once),
    Deed("submit", being_edited, _submit, _one_job),
    Deed("claim", queued, _claim, _claimed_once),
    Deed("retrace", retracing, _run, _retraced),
    Deed("inspect", inspecting, _run, _inspected),
    Deed("fail", running, _run_badly, _failed_as_told),
    Deed("hand-back", running, _hand_back, _handed_back),
    Deed("renew", running, _renew, _renewed),
    Deed("cancel", running, lambda s, c: cancel(s, c.owner, c.movie_id), _cancelled),
    Deed("sweep-announce", unannounced, _sweep, _announced),
    Deed("sweep-resume", gone_stale, _sweep, _resumed),
    Deed("sweep-fail", gone_stale_too_often, _sweep, _lost_for_good),
    Deed("sweep-upload", expired_upload, _sweep, _expired),
)
