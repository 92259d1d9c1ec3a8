"""`tiptrace bench job`: whole jobs through the embedded default, in a data folder that is gone afterwards."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from service.bench import machine
from service.bench.jobs import Bench, JobDidNotEnd, Spent
from service.bench.stages import Place, good_places
from service.cli.bench_trace import filmed
from service.cli.manners import ends_plainly, json_option, read_settings
from service.local.connection import endpoint_of
from service.runtime import open_runtime
from service.worker.pool import Pool
from tracer.errors import MovieError
from tracer.media import open_movie

MOST_CALLS_PER_FRAME = 0.05
MOST_REQUESTS_PER_FILE = 3
_FEWEST_FRAMES = 300  # a job of fewer costs as many calls as one of so many


@click.command("job")
@click.option("--movie", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Measure on this movie.")
@click.option("--frames", type=click.IntRange(2, 10_000), default=300, show_default=True, help="Of the procedural one.")
@click.option("--size", default="640x480", show_default=True, metavar="WxH", help="Of the procedural one.")
@click.option("--points", type=click.IntRange(1, 50), default=4, show_default=True, help="Markers on a given movie.")
@click.option("--movies", type=click.IntRange(1, 64), default=1, show_default=True, help="Jobs at once.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Slots that work on them.")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Medians of so many.")
@json_option
@ends_plainly
async def job(
    movie: Path | None, frames: int, size: str, points: int, movies: int, workers: int, rounds: int, as_json: bool
) -> int:
    """What whole jobs cost beside decoding alone: from the upload to the published result, database and storage too."""
    try:
        with filmed(movie, frames, size) as (path, places):
            decoding, chosen = await asyncio.to_thread(_decoded_alone, path, places, points)
            measured = await _measured(path, chosen, movies, workers, rounds)
    except MovieError as fault:
        raise click.ClickException(fault.sentence()) from fault
    except JobDidNotEnd as fault:
        raise click.ClickException(str(fault)) from fault
    told = report(movie.name if movie else "procedural", movies, workers, decoding, measured)
    if as_json:
        click.echo(json.dumps(told))
    else:
        _print(told)
    return 1 if told["violations"] else 0


def _decoded_alone(path: Path, places: Sequence[Place], points: int) -> tuple[float, Sequence[Place]]:
    """Seconds to merely decode the movie on one thread, the middle of three, and the places of its markers."""
    took = []
    for _ in range(3):
        started = time.perf_counter()
        with open_movie(path) as opened:
            for frame in opened.frames():
                if frame.number == 0 and not places:
                    places = good_places(frame.bgr(), points)
        took.append(time.perf_counter() - started)
    return median(took), places


async def _measured(path: Path, places: Sequence[Place], movies: int, workers: int, rounds: int) -> dict[str, Any]:
    """The inspection of all movies, `rounds` traces of all of them after one to warm up, and the memory."""
    with tempfile.TemporaryDirectory(prefix="tiptrace-bench-") as folder:
        async with working(Path(folder), workers) as (bench, pool):
            ready, inspected = await bench.inspected(path, movies)
            await bench.traced(ready, places)
            traces = [await bench.traced(ready, places) for _ in range(rounds)]
            peaks = [machine.peak_megabytes(engine.pid) for engine in pool.engines if engine.pid]
    return {
        "inspection": inspected,
        "trace": sorted(traces, key=lambda spent: spent.seconds)[rounds // 2],
        "engine_megabytes": max((peak for peak in peaks if peak), default=None),
        "service_megabytes": machine.peak_megabytes(),
    }


@asynccontextmanager
async def working(folder: Path, workers: int) -> AsyncIterator[tuple[Bench, Pool]]:
    """The embedded default with its workers. Its sweeper sleeps: what is counted is the jobs' own."""
    settings = read_settings(
        backend="embedded", data=folder, sweep_seconds=3600.0, grace_seconds=0.0, log_level="error"
    )
    async with (
        endpoint_of(settings, own=True) as endpoint,
        open_runtime(settings, endpoint=endpoint) as mine,
        open_runtime(settings, endpoint=endpoint) as theirs,
    ):
        pool = Pool(theirs.stores, settings, workers)
        running = asyncio.create_task(pool.run())
        try:
            yield await Bench.open(mine.stores, theirs.stores), pool
        finally:
            pool.stop()
            await running


def report(name: str, movies: int, workers: int, decoding: float, measured: dict[str, Any]) -> dict[str, Any]:
    """Plain JSON values. `violations`: promises about a job's cost that did not hold."""
    trace: Spent = measured["trace"]
    frames = trace.frames // movies
    calls, requests = sum(trace.database.values()) / movies, sum(trace.storage.values()) / movies
    files = 1 + trace.storage["PutObject"] / movies  # the movie, and what is written: labelled movie and checkpoints
    violations = []
    if calls > MOST_CALLS_PER_FRAME * max(frames, _FEWEST_FRAMES):
        violations.append(
            f"{calls:.1f} database calls for {frames} frames are more than {MOST_CALLS_PER_FRAME} a frame"
        )
    if requests > MOST_REQUESTS_PER_FILE * files:
        violations.append(
            f"{requests:.1f} storage requests for {files:.1f} files are more than {MOST_REQUESTS_PER_FILE} each"
        )
    return {
        "movie": {"name": name, "frames": frames},
        "jobs_at_once": movies,
        "workers": workers,
        "decoding_alone_seconds": round(decoding, 4),
        "inspection": _told(measured["inspection"], movies, decoding),
        "trace": _told(trace, movies, decoding)
        | {
            "database_calls": dict(trace.database),
            "database_calls_per_frame": round(calls / frames, 4),
            "storage_requests": dict(trace.storage),
            "storage_requests_per_job": round(requests, 2),
        },
        "engine_peak_megabytes": measured["engine_megabytes"],
        "service_peak_megabytes": measured["service_megabytes"],
        "violations": violations,
        "machine": machine.description(),
    }


def _told(spent: Spent, movies: int, decoding: float) -> dict[str, Any]:
    return {
        "seconds": round(spent.seconds, 3),
        "frames_per_second": round(spent.frames_per_second, 1),
        "times_decoding": round(spent.seconds / (decoding * movies), 2),
        "stage_seconds": {name: round(seconds, 3) for name, seconds in spent.stages.items() if seconds},
    }


def _print(told: dict[str, Any]) -> None:
    console, trace = Console(), told["trace"]
    table = Table(
        title=f"{told['movie']['name']}: {told['movie']['frames']} frames, {told['jobs_at_once']} at once,"
        f" {told['workers']} workers"
    )
    for name in ("stage", "seconds", "frames per second", "times decoding"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for name in ("inspection", "trace"):
        cost = told[name]
        row = (f"{cost['seconds']:.2f}", f"{cost['frames_per_second']:.0f}", f"{cost['times_decoding']:.1f}")
        table.add_row(name, *row, style="bold")
        for stage, seconds in cost["stage_seconds"].items():
            table.add_row(f"  {stage}", f"{seconds:.2f}")
    console.print(table)
    console.print(
        f"decoding alone {told['decoding_alone_seconds']:.2f} s a movie;"
        f" a trace makes {trace['database_calls_per_frame']:.3f} database calls a frame"
        f" and {trace['storage_requests_per_job']:.1f} storage requests",
        highlight=False,
    )
    engine, service = told["engine_peak_megabytes"], told["service_peak_megabytes"]
    if engine is not None:
        console.print(f"peak memory {engine:.0f} MB of a worker's child, {service:.0f} MB beside it", highlight=False)
    console.print(machine.in_words(told["machine"]), highlight=False, markup=False, style="dim")
    for violation in told["violations"]:
        console.print(f"VIOLATION {violation}", highlight=False, markup=False)
