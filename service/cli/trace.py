"""The tracer alone, without any service: `tiptrace trace` and `tiptrace demo-movie`."""

from __future__ import annotations

import csv
import errno
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import cv2
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from service.cli.trace_report import write_report
from service.cli.trace_run import Run
from service.usecases.export_trackpoints import csv_lines, json_document, xlsx_file
from service.usecases.trackpoint_sheet import sheet_of
from tracer import synthetic
from tracer.errors import MovieError
from tracer.geometry import LONG_SIDE, to_source
from tracer.model import Marker, Status
from tracer.report import ContactSheet

_OUTPUT = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.command("trace")
@click.argument("movie", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--marker", "markers", multiple=True, required=True, metavar="LABEL=X,Y", help="Place on the source frame."
)
@click.option("--start", type=click.IntRange(min=0), default=0, show_default=True, help="The source frame.")
@click.option("--end", type=click.IntRange(min=0), help="The last frame to trace. Default: the last that can be read.")
@click.option(
    "--rotation", type=click.Choice(["0", "90", "180", "270"]), default="0", help="Clockwise, on top of the file's."
)
@click.option(
    "--fpm", type=click.FloatRange(0, 6000, min_open=True), help="Pictures taken per minute: rates per minute."
)
@click.option("--csv", "csv_path", type=_OUTPUT)
@click.option("--xlsx", "xlsx_path", type=_OUTPUT)
@click.option("--json", "json_path", type=_OUTPUT)
@click.option("--mp4", "mp4_path", type=_OUTPUT)
@click.option("--report", "report_path", type=_OUTPUT, help="One HTML page to look at.")
def trace(
    movie: Path,
    markers: tuple[str, ...],
    start: int,
    end: int | None,
    rotation: str,
    fpm: float | None,
    csv_path: Path | None,
    xlsx_path: Path | None,
    json_path: Path | None,
    mp4_path: Path | None,
    report_path: Path | None,
) -> None:
    """Follow markers through MOVIE and write where they went.

    A marker is LABEL=X,Y in pixels of the upright source frame, from its upper left corner.
    """
    placed = [_parsed(text) for text in markers]
    if len({label for label, _, _ in placed}) < len(placed):
        raise click.BadParameter("two markers have the same label", param_hint="--marker")
    if end is not None and end < start:
        raise click.BadParameter("the last frame lies before the first", param_hint="--end")
    if fpm is not None and not math.isfinite(fpm):
        raise click.BadParameter("a number, please", param_hint="--fpm")
    outputs = [path for path in (csv_path, xlsx_path, json_path, mp4_path, report_path) if path is not None]
    _check_outputs(movie, outputs)
    cv2.setNumThreads(1)
    with _plain_faults():
        for path in outputs:
            if not path.parent.is_dir():  # said before the work, not after it
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        run = Run(movie, placed, start, end, int(rotation))
        sheet = ContactSheet() if report_path else None
        run.follow(mp4_path, sheet)
        told = {**run.told, "fpm": fpm}
        table = sheet_of(told, run.rows)
        document = json_document(told, table)
        if csv_path:
            with csv_path.open("w", encoding="utf-8", newline="") as out:
                out.writelines(csv_lines(table))
        if xlsx_path:
            with xlsx_path.open("wb") as out_bytes:
                xlsx_file(told, table, out_bytes)
        if json_path:
            json_path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
        if report_path and sheet:
            write_report(report_path, run, sheet, document["results"], fpm)
    _summary(run, document["results"])


@click.command("demo-movie")
@click.argument("out", type=_OUTPUT)
@click.option("--scene", "name", type=click.Choice(synthetic.SCENES), default="circumnutation", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--frames", type=click.IntRange(1, 10_000), default=120, show_default=True)
@click.option("--size", default="640x480", show_default=True, metavar="WxH")
@click.option("--truth", type=_OUTPUT, help="Where every marker truly is, as CSV.")
def demo_movie(out: Path, name: str, seed: int, frames: int, size: str, truth: Path | None) -> None:
    """Film a procedural plant to OUT (MP4), with exactly known truth."""
    width, height = _size(size)
    try:
        scene = synthetic.scene(name, seed, frames, width, height)
    except ValueError as fault:
        raise click.BadParameter(str(fault), param_hint="--size") from fault
    with _plain_faults():
        synthetic.write(scene, out)
        if truth:
            write_truth(scene, truth)
    click.echo(f"{out}: {frames} frames of {name}, {width}x{height}")
    click.echo(
        f"true amplitude {scene.amplitude:.2f} px, distance {scene.distance:.2f} px, {scene.mm_per_px:.5f} mm/px"
    )
    click.echo(
        "markers on frame 0: " + " ".join(f"--marker '{m.label}={m.x:.2f},{m.y:.2f}'" for m in source_markers(scene))
    )


def write_truth(scene: synthetic.Scene, path: Path) -> None:
    """One row per frame and marker, analysis pixels, origin upper left."""
    with path.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["frame_number", "label", "x", "y", "visible"])
        for row in scene.truth:
            rows.writerow([row.frame_number, row.label, f"{row.x:.4f}", f"{row.y:.4f}", int(row.visible)])


def source_markers(scene: synthetic.Scene) -> list[Marker]:
    """The scene's markers in pixels of its own frames, as `tiptrace trace` wants them."""
    scale = LONG_SIDE / max(scene.width, scene.height)
    return [Marker(m.marker_id, m.label, to_source(m.x, scale), to_source(m.y, scale)) for m in scene.markers]


def _check_outputs(movie: Path, outputs: list[Path]) -> None:
    """No output may be the movie itself, nor another output."""
    taken = {movie.resolve()}
    for path in outputs:
        if path.resolve() in taken:
            raise click.BadParameter(f"{path.name} is the movie itself or named twice", param_hint="output")
        taken.add(path.resolve())


@contextmanager
def _plain_faults() -> Iterator[None]:
    """What may go wrong becomes one line on stderr and exit code 1."""
    try:
        yield
    except MovieError as fault:
        raise click.ClickException(fault.sentence()) from fault
    except MemoryError as fault:
        told = "This movie needs more memory than there is. Export it with smaller frames."
        raise click.ClickException(told) from fault
    except OSError as fault:
        name = Path(str(fault.filename)).name if fault.filename else "the output"
        raise click.ClickException(
            f"{name} cannot be written: {fault.strerror or 'input or output failed'}."
        ) from fault


def _summary(run: Run, results: dict[str, Any]) -> None:
    console = Console()
    table = Table(title=f"{escape(run.path.name)}: frames {run.start} to {run.told['trim_end_frame']}")
    for name in ("marker", "seen", "lost", "last x", "last y"):
        table.add_column(name, justify="left" if name == "marker" else "right")
    for label, _, _ in run.placed:
        rows = [row for row in run.rows if row["label"] == label]
        seen = sum(row["status"] == Status.SEEN for row in rows)
        table.add_row(escape(label), str(seen), str(len(rows) - seen), f"{rows[-1]['x']:.1f}", f"{rows[-1]['y']:.1f}")
    console.print(table)
    console.print(results["scale"], markup=False, highlight=False)
    unit, time = results["unit"], results["time_unit"]
    if "gravitropism" in results:
        bend, swing = results["gravitropism"], results["circumnutation"]
        angle = "" if bend["angle"] is None else f", angle {bend['angle']:.1f} degrees"
        console.print(
            f"distance {bend['distance']:.3f} {unit}, rate {_rate(bend['rate'], unit, time)}{angle}", highlight=False
        )
        console.print(
            f"amplitude {swing['amplitude']:.3f} {unit}, rate {_rate(swing['rate'], unit, time)}", highlight=False
        )
    for warning in (*run.warnings, *results["warnings"]):
        console.print(f"Note: {warning}", markup=False, highlight=False)


def _rate(rate: float | None, unit: str, time: str) -> str:
    return "none" if rate is None else f"{rate:.4f} {unit} per {time}"


def _parsed(text: str) -> tuple[str, float, float]:
    """ "Apex=278,166" as label, x, y; the label may itself hold an equals sign."""
    label, equals, place = text.rpartition("=")
    try:
        x, y = (float(part) for part in place.split(","))
    except ValueError:
        equals = ""
        x = y = 0.0
    label = label.strip()
    if not equals or not 1 <= len(label) <= 100 or not (math.isfinite(x) and math.isfinite(y)):
        raise click.BadParameter(f"{text!r} is not LABEL=X,Y", param_hint="--marker")
    return label, x, y


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit()) or max(int(width), int(height)) > 7680:
        raise click.BadParameter(f"{text!r} is not WxH", param_hint="--size")
    return int(width), int(height)
