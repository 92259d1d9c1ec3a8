"""`tiptrace bench trace`: what each stage of a trace costs, as multiples of decoding."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from service.bench import machine
from service.bench.stages import STAGES, Cost, Place, measure
from service.cli.manners import json_option
from tracer import synthetic
from tracer.errors import MovieError

_SCENE, _SEED = "circumnutation", 7


@click.command("trace")
@click.option("--movie", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Measure on this movie.")
@click.option("--frames", type=click.IntRange(2, 10_000), default=300, show_default=True, help="Of the procedural one.")
@click.option("--size", default="640x480", show_default=True, metavar="WxH", help="Of the procedural one.")
@click.option("--points", type=click.IntRange(1, 50), default=4, show_default=True, help="Markers on a given movie.")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Medians of so many.")
@json_option
def trace(movie: Path | None, frames: int, size: str, points: int, rounds: int, as_json: bool) -> None:
    """What each stage of a trace costs beside decoding alone."""
    with filmed(movie, frames, size) as (path, places):
        try:
            cost = measure(path, places, points, rounds)
        except MovieError as fault:
            raise click.ClickException(fault.sentence()) from fault
    report = _report(movie.name if movie else f"procedural {_SCENE}", cost, rounds)
    if as_json:
        click.echo(json.dumps(report))
    else:
        _print(report)


@contextmanager
def filmed(movie: Path | None, frames: int, size: str) -> Iterator[tuple[Path, Sequence[Place]]]:
    """The given movie without markers, or a procedural one that exists as long as this, with its own."""
    if movie is not None:
        yield movie, ()
        return
    width, _, height = size.lower().partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise click.BadParameter(f"{size!r} is not WxH", param_hint="--size")
    try:
        scene = synthetic.scene(_SCENE, _SEED, frames, int(width), int(height))
    except ValueError as fault:
        raise click.BadParameter(str(fault), param_hint="--size") from fault
    with tempfile.TemporaryDirectory(prefix="tiptrace-bench-") as folder:
        path = Path(folder) / "plant.mp4"
        synthetic.write(scene, path)
        yield path, [(marker.label, marker.x, marker.y) for marker in scene.markers]


def _report(name: str, cost: Cost, rounds: int) -> dict[str, Any]:
    """Plain JSON values."""
    decoding, whole = cost.seconds["decode"], sum(cost.seconds.values())
    return {
        "movie": {
            "name": name,
            "frames": cost.frames,
            "width": cost.width,
            "height": cost.height,
            "codec": cost.codec,
        },
        "markers": cost.markers,
        "rounds": rounds,
        "stages": [
            {
                "stage": stage,
                "seconds": round(seconds, 4),
                "frames_per_second": round(cost.frames / max(seconds, 1e-9), 1),
                "times_decoding": round(seconds / max(decoding, 1e-9), 3),
            }
            for stage, seconds in [*((stage, cost.seconds[stage]) for stage in STAGES), ("all", whole)]
        ],
        "peak_megabytes": cost.peak_megabytes,
        "machine": machine.description(),
    }


def _print(report: dict[str, Any]) -> None:
    console, movie = Console(), report["movie"]
    table = Table(
        title=f"{movie['name']}: {movie['frames']} frames, {movie['width']} x {movie['height']}, {movie['codec']},"
        f" {report['markers']} markers"
    )
    for name in ("stage", "seconds", "frames per second", "times decoding"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for row in report["stages"]:
        if row["stage"] == "all":
            table.add_section()
        table.add_row(
            row["stage"], f"{row['seconds']:.3f}", f"{row['frames_per_second']:.0f}", f"{row['times_decoding']:.2f}"
        )
    console.print(table)
    peak = report["peak_megabytes"]
    console.print(
        "Processor time on one core; a worker draws and archives beside the tracing."
        + ("" if peak is None else f" Peak memory {peak:.0f} MB."),
        highlight=False,
    )
    console.print(machine.in_words(report["machine"]), highlight=False, markup=False, style="dim")
