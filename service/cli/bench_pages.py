"""`tiptrace bench pages`: a thousand Analyze pages at their real pace, beside workers that trace."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from service.bench import machine
from service.bench.apart import LoadFailed, put_on
from service.bench.crowd import add_copies, add_movies, add_people
from service.bench.jobs import Bench, JobDidNotEnd
from service.bench.meters import Meter, Target, TargetFailed, spent
from service.bench.pages import Class
from service.bench.stages import Place
from service.cli.bench_report import histogram_option, latencies, print_operations, print_verdict
from service.cli.bench_target import target
from service.cli.bench_trace import filmed
from service.cli.manners import ends_plainly, joined, json_option

_PAGES_PER_LOOK = 10
_COUNT = click.IntRange(0, 5000)


@click.command("pages")
@click.option("--editing", type=_COUNT, default=700, show_default=True, help="Pages that edit, a movie each.")
@click.option("--viewing", type=_COUNT, default=200, show_default=True, help="Pages that look on, ten to a movie.")
@click.option("--waiting", type=_COUNT, default=100, show_default=True, help="Pages that wait for a trace each.")
@click.option("--workers", type=click.IntRange(0, 64), default=2, show_default=True, help="Jobs at once.")
@click.option("--frames", type=click.IntRange(2, 10_000), default=300, show_default=True, help="Of the traced movies.")
@click.option("--seconds", type=click.FloatRange(5, 3600), default=180.0, show_default=True, help="To measure.")
@click.option("--ramp", type=click.FloatRange(1, 600), default=60.0, show_default=True, help="Before that, uncounted.")
@click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="Of the service.")
@json_option
@histogram_option
@ends_plainly
async def pages(
    editing: int,
    viewing: int,
    waiting: int,
    workers: int,
    frames: int,
    seconds: float,
    ramp: float,
    processes: int,
    as_json: bool,
    histogram: Path | None,
) -> int:
    """Analyze pages as real ones behave, on a service of our own that traces meanwhile.

    Editing pages renew their lease each minute, those that look on read every ten seconds, those that wait for a trace
    every second. Exits with 1 if a lease was lost, a promise of the protocol broken, or a request failed.
    """
    if not editing + viewing + waiting:
        raise click.UsageError("There must be a page.")
    try:
        with filmed(None, frames, "640x480") as (path, places):
            async with target(None, None, workers=workers, processes=processes) as measured:
                whole = await _prepared(measured, (editing, viewing, waiting), path, list(places), seconds, ramp)
                found, before, after = await put_on("service.bench.pages", whole, measured)
    except (TargetFailed, LoadFailed, JobDidNotEnd) as fault:
        raise click.ClickException(str(fault)) from None
    report = _report(whole, found, latencies(found, seconds, histogram), before, after)
    if as_json:
        click.echo(json.dumps(report))
    else:
        _print(report)
    return 1 if report["broken"] or report["leases_lost"] or report["errors"] else 0


async def _prepared(
    measured: Target, counts: tuple[int, int, int], path: Path, places: list[Place], seconds: float, ramp: float
) -> Class:
    """People, their movies, and one file that all traced movies share, uploaded and inspected."""
    editing, viewing, waiting = counts
    async with joined(measured.data) as runtime:
        stores = runtime.stores
        people = await add_people(stores, sum(counts))
        keys = [person.api_key for person in people]
        owners = [person.user_id for person in people]
        edited = [movie for owner in owners[:editing] for movie in await add_movies(stores, owner, 1)]
        looked_at = edited or await add_movies(stores, owners[0], 1 + viewing // _PAGES_PER_LOOK)
        traced: list[str] = []
        if waiting:
            async with asyncio.timeout(120):
                (movie,), _ = await (await Bench.open(stores, stores)).inspected(path, 1)
            traced = await add_copies(stores, movie, owners[editing + viewing :], places)
    views = [looked_at[n // _PAGES_PER_LOOK % len(looked_at)] for n in range(viewing)]
    return Class(
        measured.url,
        editing=list(zip(keys[:editing], edited, strict=True)),
        viewing=list(zip(keys[editing : editing + viewing], views, strict=True)),
        waiting=list(zip(keys[editing + viewing :], traced, strict=True)),
        seconds=seconds,
        ramp=ramp,
    )


def _report(whole: Class, found: dict[str, Any], took: dict[str, Any], before: Meter, after: Meter) -> dict[str, Any]:
    spending = spent(before, after, frozenset(after.answers))
    used = {role: spending.seconds(role) for role in ("web", "emulator", "worker", "engine")}
    used["load"] = found["processor_seconds"]
    return {
        "editing": len(whole.editing),
        "viewing": len(whole.viewing),
        "waiting": len(whole.waiting),
        "seconds": whole.seconds,
        **took,
        "traced": found["traced"],
        "leases_lost": found["leases_lost"],
        "errors": found["errors"],
        "broken": found["broken"],
        "violations": found["violations"],
        "cores_used": {role: round(seconds / whole.seconds, 3) for role, seconds in used.items()},
        "calls_per_operation": dict(spending.calls_per_answer),
        "machine": machine.description(),
    }


def _print(report: dict[str, Any]) -> None:
    console = Console(highlight=False)
    title = "{editing} pages edit, {viewing} look on, {waiting} wait for a trace, {seconds:g} s".format(**report)
    print_operations(console, title, report)
    cores = ", ".join(f"{role} {share}" for role, share in report["cores_used"].items())
    console.print(f"{report['traced']} traces ended, {report['leases_lost']} leases lost; cores used: {cores}")
    for error, count in report["errors"].items():
        console.print(f"error: {error} ({count} times)", markup=False)
    print_verdict(console, report, "no promise of the protocol broken")
