"""Retracing between frames on which a person placed a marker, through the real engine and the real job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from service.domain.job import Chunk, Done, Output, Point, Stopped, TracedFrame, TraceTask
from service.local.emulator import Emulator
from service.usecases.edit_movie import put_frame_trackpoints
from service.worker.engine import Engine
from tests.support import uploads
from tests.support.workshop import Workshop, open_workshop

pytestmark = pytest.mark.asyncio(loop_scope="module")
FRAMES = 60
BODY = uploads.mp4(FRAMES)
PER_FRAME = 4.0  # analysis pixels by which the square of `uploads.mp4` moves
SQUARE, GROUND = (86.0, 126.0), (400.0, 300.0)  # a place on it in frame 0, and one that stands still


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workshop(emulator: Emulator) -> AsyncIterator[Workshop]:
    async with open_workshop(emulator.endpoint) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[Engine]:
    async with Engine() as opened:
        yield opened


def task(folder: Path) -> TraceTask:
    """The square is followed from frame 0; on frame 40 a person says that the marker is on the ground."""
    source = folder / "movie"
    source.write_bytes(BODY)
    return TraceTask(
        source=source,
        folder=folder,
        rotation=0,
        max_pixels=16_000_000,
        max_frames=1000,
        frame_start=0,
        frame_end=FRAMES - 1,
        markers=(Point("a", "Apex", "#0072B2", *SQUARE),),
        anchors={40: (Point("a", "Apex", "#0072B2", *GROUND),)},
    )


async def outputs(engine: Engine, given: TraceTask, stop: asyncio.Event | None = None) -> list[Output]:
    async with aclosing(engine.trace(given, stop or asyncio.Event())) as stream:
        return [output async for output in stream]


def frames(found: list[Output]) -> dict[int, TracedFrame]:
    return {frame.number: frame for output in found if isinstance(output, Chunk) for frame in output.frames}


async def test_the_engine_looks_back_before_it_writes_and_ends_on_the_persons_word(
    engine: Engine, tmp_path: Path
) -> None:
    found = await outputs(engine, task(tmp_path))
    assert isinstance(found[-1], Done)
    traced = frames(found)
    assert list(traced) == list(range(FRAMES))
    assert traced[5].points[0][0] == pytest.approx(SQUARE[0] + 5 * PER_FRAME, abs=1)
    assert traced[5].points[0][3] > 50  # the pass backwards was elsewhere: the person should look
    for number in (39, 40, 41, 59):
        assert traced[number].points[0][:2] == pytest.approx(GROUND, abs=1)


async def test_a_stop_in_the_pass_backwards_hands_back_nothing_and_the_next_attempt_does_it_all(
    engine: Engine, tmp_path: Path
) -> None:
    stop = asyncio.Event()
    stop.set()
    before = await outputs(engine, task(tmp_path), stop)
    assert isinstance(before[-1], Stopped)
    rest = await outputs(engine, task(tmp_path))
    assert list(frames(before) | frames(rest)) == list(range(FRAMES))
    assert isinstance(rest[-1], Done)


async def test_a_job_between_two_placed_frames_fuses_both_ways_and_leaves_earlier_frames_alone(
    workshop: Workshop,
) -> None:
    """A retrace from frame 20 with a word on frame 40: before 20 nothing changes, at 39 the later word counts already,
    behind 40 it goes on from there.
    """
    movie = await workshop.upload(BODY)
    height = movie.frame_height
    square = {"label": "Apex", "x": SQUARE[0], "y": height - SQUARE[1]}
    lease = await workshop.place(movie, [square])
    await workshop.submit(movie, lease)
    assert (await workshop.settled(movie.movie_id)).status == "tracing completed"
    before = await stored(workshop, movie.movie_id)

    lease = await workshop.place(movie, [square])  # the same place: only the editing right is taken
    ground = {"label": "Apex", "x": GROUND[0], "y": height - GROUND[1]}
    await put_frame_trackpoints(workshop.stores, workshop.student, movie.movie_id, lease, 40, [ground])
    await workshop.submit(movie, lease, frame_start=20, keep_placed=True)
    traced = await workshop.settled(movie.movie_id)
    assert traced.status == "tracing completed", traced.row.get("tracing_failure_summary")
    assert "tracing_backward_frame" not in traced.row
    after = await stored(workshop, movie.movie_id)

    assert list(after) == list(range(FRAMES))
    assert [after[n] for n in range(20)] == [before[n] for n in range(20)]
    x, y = SQUARE[0] + 22 * PER_FRAME, height - SQUARE[1]
    assert (float(after[22]["x"]), float(after[22]["y"])) == pytest.approx((x, y), abs=1.5)
    assert float(after[22]["err"]) > 50
    for number in (39, 40, 41, 59):
        assert (float(after[number]["x"]), float(after[number]["y"])) == pytest.approx(
            (GROUND[0], height - GROUND[1]), abs=1
        )
    assert [after[n]["placed"] for n in (39, 40, 41)] == ["trace", "user", "trace"]


async def stored(workshop: Workshop, movie_id: str) -> dict[int, dict[str, object]]:
    return {
        item["frame_number"]: item["trackpoints"][0]
        async for item in workshop.stores.frames.span(movie_id, 0, FRAMES - 1, consistent=True)
    }


async def test_a_trace_from_the_last_frame_is_done_with_that_frame(workshop: Workshop) -> None:
    """Nothing follows it, so nothing is hidden; what was traced before it stays."""
    movie = await workshop.upload(BODY)
    lease = await workshop.place(movie)
    await workshop.submit(movie, lease)
    assert (await workshop.settled(movie.movie_id)).status == "tracing completed"
    before = await stored(workshop, movie.movie_id)
    lease = await workshop.place(movie)
    await workshop.submit(movie, lease, frame_start=FRAMES - 1, keep_placed=True)
    traced = await workshop.settled(movie.movie_id)
    assert traced.status == "tracing completed", traced.row.get("tracing_failure_summary")
    assert traced.row["last_frame_tracked"] == FRAMES - 1
    after = await stored(workshop, movie.movie_id)
    assert sorted(after) == list(range(FRAMES))
    assert [after[n] for n in range(FRAMES - 1)] == [before[n] for n in range(FRAMES - 1)]


async def test_a_movie_of_one_frame_is_traced(workshop: Workshop) -> None:
    movie = await workshop.upload(uploads.mp4(1))
    assert movie.status == "ready"
    await workshop.submit(movie, await workshop.place(movie))
    traced = await workshop.settled(movie.movie_id)
    assert traced.status == "tracing completed", traced.row.get("tracing_failure_summary")
