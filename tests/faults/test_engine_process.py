"""The real engine's child process, driven directly: stops, aborts, bad checkpoints, limits."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import signal
import subprocess
import sys
from contextlib import aclosing
from dataclasses import astuple, replace
from pathlib import Path

import av
import pytest

from service.domain.job import STRATEGIES, Chunk, Done, InspectTask, KnownFrame, Output, Point, Stopped, TraceTask
from service.usecases.workplace import JobFailed
from service.worker import engine as engine_module
from service.worker.bare_spawn import NEEDED, NEEDED_KINDS
from service.worker.engine import Engine
from service.worker.engine_child import _lacks_memory
from tests.support import uploads
from tracer.media import open_movie
from tracer.model import Marker, TraceRequest
from tracer.retrace import Retrace

FRAMES = 120


def task(folder: Path, **changed: object) -> TraceTask:
    source = folder / "movie"
    source.write_bytes(uploads.mp4(FRAMES))
    given = {
        "source": source,
        "folder": folder,
        "rotation": 0,
        "max_pixels": 16_000_000,
        "max_frames": 1000,
        "frame_start": 0,
        "frame_end": FRAMES - 1,
        "markers": (Point("a", "Apex", "#0072B2", 43.0, 65.0),),
        **changed,
    }
    return TraceTask(**given)  # type: ignore[arg-type]


async def outputs(engine: Engine, given: TraceTask, stop: asyncio.Event | None = None) -> list[Output]:
    async with aclosing(engine.trace(given, stop or asyncio.Event())) as stream:
        return [output async for output in stream]


def numbers(found: list[Output]) -> list[int]:
    return [frame.number for output in found if isinstance(output, Chunk) for frame in output.frames]


async def test_a_checkpoint_of_another_version_starts_the_attempt_over(tmp_path: Path) -> None:
    async with Engine() as engine:
        found = await outputs(engine, task(tmp_path, checkpoint=b"of long ago", resume_after=50))
    assert numbers(found) == list(range(FRAMES))
    assert isinstance(found[-1], Done)


async def test_a_stop_hands_over_what_there_is_with_a_checkpoint_from_which_the_rest_follows(tmp_path: Path) -> None:
    stop = asyncio.Event()
    stop.set()
    async with Engine() as engine:
        before = await outputs(engine, task(tmp_path), stop)
        assert isinstance(before[-1], Stopped)
        done = numbers(before)
        checkpoint = before[-2].checkpoint if len(before) > 1 and isinstance(before[-2], Chunk) else None
        rest = await outputs(engine, task(tmp_path, checkpoint=checkpoint, resume_after=done[-1] if done else None))
    assert done + numbers(rest) == list(range(FRAMES))
    assert isinstance(rest[-1], Done)


async def test_a_trace_that_goes_on_from_a_checkpoint_tells_of_all_its_frames(tmp_path: Path) -> None:
    whole = task(tmp_path)
    ((marker_id, label, _, x, y),) = [astuple(point) for point in whole.markers]
    follower = Retrace(TraceRequest((Marker(marker_id, label, x, y),), 0, FRAMES - 1, 0))
    with open_movie(whole.source) as movie:
        for frame in movie.frames():
            follower.step(frame)
            if frame.number == 49:
                break
    known = tuple(KnownFrame(n, {"a": (x, y, int(n != 7))}) for n in range(50))
    async with Engine() as engine:
        found = await outputs(engine, replace(whole, checkpoint=follower.save(), resume_after=49, known=known))
    assert numbers(found) == list(range(50, FRAMES))
    assert isinstance(found[-1], Done)
    assert (found[-1].result["frames"], found[-1].result["lost"]) == (FRAMES, 1)


async def test_a_reader_that_leaves_in_mid_trace_frees_the_engine_for_the_next_task(tmp_path: Path) -> None:
    async with Engine() as engine:
        async with aclosing(engine.trace(task(tmp_path), asyncio.Event())) as stream:
            await anext(stream)
        found = await outputs(engine, task(tmp_path))
    assert numbers(found) == list(range(FRAMES))


async def test_a_task_that_takes_too_long_is_ended_with_its_reason(tmp_path: Path) -> None:
    async with Engine(seconds=0.01) as engine:
        with pytest.raises(JobFailed) as failed:
            await outputs(engine, task(tmp_path))
    assert failed.value.failure.code == "took_too_long"


async def test_a_movie_shorter_than_promised_fails_with_its_last_frame(tmp_path: Path) -> None:
    """B01: never completed with fewer frames than were asked for."""
    async with Engine() as engine:
        with pytest.raises(JobFailed) as failed:
            await outputs(engine, task(tmp_path, frame_end=FRAMES + 30))
    assert failed.value.failure.code == "movie_cut_off"
    assert f"frame {FRAMES - 1} of {FRAMES + 31}" in failed.value.failure.summary


async def test_the_child_holds_no_secrets_and_still_finds_its_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {"TIPTRACE_SECRET_KEY": "s1", "TIPTRACE_SMTP_URL": "smtp://u:p@h", "AWS_SECRET_ACCESS_KEY": "s2"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    async with Engine() as engine:
        assert numbers(await outputs(engine, task(tmp_path, frame_end=3))) == [0, 1, 2, 3]
        held = Path(f"/proc/{engine.pid}/environ").read_text().rstrip("\0").split("\0")
    names = {entry.partition("=")[0] for entry in held}
    assert "PATH" in names
    assert [name for name in names if name not in NEEDED and not name.startswith(NEEDED_KINDS)] == []


HOSTILE = {
    "memory": (uploads.greedy, Engine(megabytes=280), "out_of_memory"),
    "time": (uploads.slow, Engine(seconds=1.5), "took_too_long"),
}


@pytest.mark.parametrize("of", HOSTILE)
async def test_a_hostile_file_meets_the_childs_limits_in_an_inspection_and_in_a_trace(of: str, tmp_path: Path) -> None:
    """A25, B32: its header tells nothing of what it costs. A decoder without memory is no damaged movie, and what was
    decoded until then is no shorter one.
    """
    body, limited, code = HOSTILE[of]
    traced = task(tmp_path, frame_end=10, max_frames=3000, markers=(Point("a", "Apex", "#0072B2", 300.0, 200.0),))
    traced.source.write_bytes(body())
    inspected = InspectTask(traced.source, tmp_path, rotation=0, max_pixels=16_000_000, max_frames=3000)
    async with limited as engine:
        for stream in (engine.inspect(inspected, asyncio.Event()), engine.trace(traced, asyncio.Event())):
            with pytest.raises(JobFailed) as failed:
                async with aclosing(stream):
                    assert not [output async for output in stream if isinstance(output, Done)]
            assert failed.value.failure.code == code


_NO_THREAD = """
import resource, threading, cv2
from service.worker.engine_child import _lacks_memory

resource.setrlimit(resource.RLIMIT_DATA, (1 << 20, 1 << 20))
try:
    threading.Thread(target=print).start()
except Exception as error:
    print(type(error).__name__, _lacks_memory(error))
"""


def test_a_thread_for_which_there_is_no_memory_is_no_fault_of_ours() -> None:
    """Drawing runs in a thread of its own, which a limit that was just enough for decoding may not allow."""
    told = subprocess.run([sys.executable, "-c", _NO_THREAD], capture_output=True, check=True, text=True, timeout=60)
    assert told.stdout.split() == ["RuntimeError", "True"]
    assert _lacks_memory(av.error.BlockingIOError(errno.EAGAIN, "no thread"))
    assert not _lacks_memory(RuntimeError("something else"))
    assert not _lacks_memory(FileNotFoundError(errno.ENOENT, "gone"))


@pytest.mark.long
async def test_a_decoder_that_hangs_is_killed_and_the_next_task_gets_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped process obeys no order, as one that never leaves the decoder."""
    monkeypatch.setattr(engine_module, "_ABORT_SECONDS", 0.3)
    async with Engine(seconds=15) as engine:
        async with aclosing(engine.trace(task(tmp_path), asyncio.Event())) as stream:
            await anext(stream)
            stuck = engine.pid
            assert stuck
            os.kill(stuck, signal.SIGSTOP)
            with pytest.raises(JobFailed) as failed:
                [output async for output in stream]
        assert failed.value.failure.code == "took_too_long"
        assert numbers(await outputs(engine, task(tmp_path))) == list(range(FRAMES))
        assert engine.pid != stuck


@pytest.mark.long
async def test_eight_giant_rasters_at_once_cost_eight_refusals(tmp_path: Path) -> None:
    """B32: 428 MB a frame if it were decoded; each child stays as small as it started."""
    source = tmp_path / "movie"
    source.write_bytes(uploads.wide(16384, 8704))

    async def refused(n: int) -> float:
        folder = tmp_path / str(n)
        folder.mkdir()
        async with Engine() as engine:
            with pytest.raises(JobFailed) as failed:
                async with aclosing(
                    engine.inspect(InspectTask(source, folder, 0, 16_000_000, 100), asyncio.Event())
                ) as told:
                    [output async for output in told]
            assert failed.value.failure.code == "movie_too_many_pixels"
            peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{engine.pid}/status").read_text())
            assert peak
            return int(peak.group(1)) / 1024

    assert max(await asyncio.gather(*(refused(n) for n in range(8)))) < 160


async def test_the_strategy_that_was_asked_for_follows_the_markers(tmp_path: Path) -> None:
    async with Engine() as engine:
        found = [await outputs(engine, task(tmp_path, strategy=strategy)) for strategy in STRATEGIES]
        usual = await outputs(engine, task(tmp_path))
    ways = [[frame.points for output in way if isinstance(output, Chunk) for frame in output.frames] for way in found]
    assert [frame.points for output in usual if isinstance(output, Chunk) for frame in output.frames] == ways[0]
    assert len({str(way) for way in ways}) == len(STRATEGIES)
