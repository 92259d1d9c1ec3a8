"""`tiptrace demo`: the main job on one machine, from a movie to its results, through the real service."""

from __future__ import annotations

import asyncio
import csv
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from service.cli.manners import data_option, ends_plainly, read_settings
from service.cli.web_server import WebServer, listening
from service.local.datadir import DataDirInUse, find_running
from service.local.demo import Compared, DemoFailed, Placed, Student, compared
from service.runtime import Runtime
from service.settings import Settings
from service.usecases import people
from service.web.people import sign_in_link

_COURSE, _EMAIL = "demo", "demo@tiptrace.example"
_FRAMES, _SEED = 300, 7
Truth = Mapping[tuple[int, str], tuple[float, float]]


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port to listen on.")
@click.option("--movie", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Trace this movie instead.")
@click.option("--once", is_flag=True, help="Stop after the result.")
@data_option
@ends_plainly
async def demo(port: int, movie: Path | None, once: bool, data: Path | None) -> int:
    """Upload, inspect and trace a sample movie, print its results, then go on serving."""
    settings = read_settings(data=data, log_level="warning")
    if settings.backend == "embedded" and (running := find_running(settings.data)):
        raise DataDirInUse(settings.data, running)
    console = Console()
    # With --once nobody needs to know the port: any free one will do.
    with listening("127.0.0.1", 0 if once else port) as opened:
        return await _shown(console, settings, opened, movie, once)


async def _shown(console: Console, settings: Settings, opened: socket.socket, movie: Path | None, once: bool) -> int:
    server = WebServer(settings)
    async with _served(server, opened) as (runtime, closed):
        user_id, api_key = await _demo_user(runtime)
        address = server.address
        try:
            await _walk(console, settings.data, address, api_key, movie)
        except DemoFailed as fault:
            raise click.ClickException(str(fault)) from None
        if once:
            return 0
        link = await sign_in_link(runtime, user_id, address)
        console.print(f"\nOpen this link to sign in; it works once:\n{link}", soft_wrap=True, highlight=False)
        console.print("Stop with Ctrl-C.")
        await closed
    return 0


@asynccontextmanager
async def _served(server: WebServer, opened: socket.socket) -> AsyncIterator[tuple[Runtime, asyncio.Task[None]]]:
    """What a server that is up holds open, and the task that ends with it."""
    serving = asyncio.create_task(server.serve(sockets=[opened]))
    try:
        if not await server.is_up(serving):
            raise click.ClickException(server.failure)
        yield server.service.runtime, serving
    finally:
        server.should_exit = True
        await serving


async def _demo_user(runtime: Runtime) -> tuple[str, str]:
    """The demonstration's only person, made at the first start; every start gives him a new key."""
    stores = runtime.stores
    await people.add_course(stores, _COURSE, "Demonstration")
    user = await stores.people.user_of_email(_EMAIL)
    if user is None:
        added = await people.add_user(stores, _EMAIL, "Demo student", _COURSE, course_admin=True)
        return added.user_id, added.api_key
    return user["user_id"], await people.add_key(stores, user["user_id"])


async def _walk(console: Console, folder: Path, address: str, api_key: str, movie: Path | None) -> None:
    """The student's way, with a progress bar, and the result."""
    truth: Truth | None = None
    markers: Sequence[Placed] = ()
    path, title = movie, movie.stem if movie else "Sample plant, circumnutation"
    if path is None:
        path = folder / "sample" / "circumnutation.mp4"
        with console.status("Filming a sample plant"):
            markers, truth = await asyncio.to_thread(_sample, path)
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    async with Student(address, api_key) as student:
        with Progress(*columns, console=console) as progress:
            bars: dict[str, Any] = {}

            def told(word: str, done: int, total: int) -> None:
                if word not in bars:
                    bars[word] = progress.add_task(word, total=None)
                progress.update(bars[word], completed=done, total=total or None)

            ready = await student.upload(path, title, told)
            if not markers:
                markers = await asyncio.to_thread(_good_places, await student.first_frame(ready["movie_id"]))
            lease = await student.place(ready["movie_id"], markers, ready["frame_height"])
            traced = await student.trace(ready["movie_id"], lease, told)
        document = await student.results(traced["movie_id"])
    for warning in (ready.get("inspection") or {}).get("warnings", ()):
        console.print(f"Note: {warning}", markup=False, highlight=False)
    _print_results(console, document, compared(document, truth) if truth else None)


def _sample(path: Path) -> tuple[list[Placed], Truth]:
    """Film the sample plant once; its markers and its exact truth."""
    from tracer import synthetic

    scene = synthetic.scene("circumnutation", seed=_SEED, frames=_FRAMES)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part.mp4")
        synthetic.write(scene, half)
        half.rename(path)
        with path.with_suffix(".truth.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("frame_number", "label", "x", "y", "visible"))
            rows.writerows((row.frame_number, row.label, row.x, row.y, int(row.visible)) for row in scene.truth)
    markers = [Placed(marker.label, round(marker.x, 1), round(marker.y, 1)) for marker in scene.markers]
    return markers, {(row.frame_number, row.label): (row.x, row.y) for row in scene.truth}


def _good_places(jpeg: bytes) -> list[Placed]:
    """Three places of a picture that a tracer can hold on to, for a movie whose markers nobody has placed."""
    import cv2
    import numpy as np

    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
    if picture is None:
        raise DemoFailed("The first frame cannot be shown.")
    inside = np.zeros_like(picture)
    inside[24:-24, 24:-24] = 255
    corners = cv2.goodFeaturesToTrack(picture, 3, 0.05, 60, mask=inside, blockSize=9)
    if corners is None:
        raise DemoFailed("The first frame is too plain to place a marker on by itself.")
    return [Placed(f"Point {n}", float(x), float(y)) for n, ((x, y),) in enumerate(corners, start=1)]


def _print_results(console: Console, document: Mapping[str, Any], against: Compared | None) -> None:
    points, results = document["trackpoint_dicts"], document["results"]
    frames = {point["frame_number"] for point in points}
    table = Table(title=f"Traced frames {min(frames)} to {max(frames)}")
    table.add_column("marker")
    for name in ("seen", "lost", *(("mean error", "largest error") if against else ())):
        table.add_column(name, justify="right")
    for label in sorted({point["label"] for point in points}):
        own = [point["status"] for point in points if point["label"] == label]
        row = [label, str(sum(own)), str(len(own) - sum(own))]
        if against:
            row += [f"{against.mean_error[label]:.2f} px", f"{against.largest_error[label]:.2f} px"]
        table.add_row(*row)
    console.print(table)
    _print_measures(console, results)
    if against:
        (traced, true), (far, truly) = against.amplitude, against.distance
        console.print(
            f"known truth: amplitude {traced:.1f} px of {true:.1f} px, distance {far:.1f} px of {truly:.1f} px",
            highlight=False,
        )


def _print_measures(console: Console, results: Mapping[str, Any]) -> None:
    unit, time = results["unit"], results["time_unit"]
    console.print(results["scale"], markup=False, highlight=False)
    for name, amount in (("gravitropism", "distance"), ("circumnutation", "amplitude")):
        if name in results:
            rate = results[name]["rate"]
            told = "" if rate is None else f", rate {rate:.4f} {unit} per {time}"
            console.print(f"{amount} of {results['tip']}: {results[name][amount]:.3f} {unit}{told}", highlight=False)
