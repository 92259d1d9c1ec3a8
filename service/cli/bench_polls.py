"""`tiptrace bench polls`: pages that poll, and what a poll costs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from service.bench import machine
from service.bench.apart import LoadFailed, put_on
from service.bench.crowd import add_movies, add_people
from service.bench.histogram import Histogram
from service.bench.meters import Spending, Target, TargetFailed, spent
from service.bench.polls import ROUTE, Load
from service.cli.bench_report import histogram_option, print_verdict
from service.cli.bench_target import processes_option, target, their_data_option, url_option
from service.cli.manners import ends_plainly, joined, json_option

_ROLES = ("web", "emulator")


@click.command("polls")
@url_option
@their_data_option
@click.option("--clients", type=click.IntRange(1, 5000), default=128, show_default=True, help="Pages.")
@click.option("--movies", type=click.IntRange(1, 5000), default=1, show_default=True, help="That they look at.")
@click.option("--seconds", type=click.FloatRange(1, 3600), default=10.0, show_default=True, help="To measure.")
@click.option("--ramp", type=click.FloatRange(0, 600), default=2.0, show_default=True, help="Before that, uncounted.")
@click.option("--rate", type=click.FloatRange(0.1, 100_000), help="Open loop: polls a second, by a schedule.")
@click.option("--interval", type=click.FloatRange(0.001, 600), help="Closed loop: a page's seconds between polls.")
@click.option("--frames", type=click.IntRange(0, 10_000), default=0, show_default=True, help="With points, per movie.")
@click.option("--ask", type=click.Choice(["page", "metadata"]), default="page", show_default=True, help="With frames?")
@click.option("--fresh", is_flag=True, help="Never show the tag of the last answer.")
@click.option("--edits", type=click.FloatRange(0, 1000), default=1.0, show_default=True, help="Edits a second.")
@processes_option
@json_option
@histogram_option
@ends_plainly
async def polls(
    url: str | None,
    data: Path | None,
    clients: int,
    movies: int,
    seconds: float,
    ramp: float,
    rate: float | None,
    interval: float | None,
    frames: int,
    ask: str,
    fresh: bool,
    edits: float,
    processes: int,
    as_json: bool,
    histogram: Path | None,
) -> int:
    """CLIENTS pages poll MOVIES movies, which somebody edits meanwhile.

    Without --rate each page asks again as soon as it has its answer, or --interval seconds after it. With --rate
    questions come by a schedule, and each is timed from the moment at which it was due. Exits with 1 if a page was
    shown something older than before, or that nothing changed when something had.
    """
    if rate and interval:
        raise click.UsageError("--rate and --interval exclude each other.")
    try:
        async with target(url, data, processes=processes) as measured:
            pages, editor = await _prepared(measured, clients, movies, frames)
            load = Load(
                measured.url,
                pages,
                editor,
                seconds,
                ramp,
                rate=rate,
                interval=interval,
                edits=edits,
                query="&frame_start=0&frame_count=300" if ask == "page" else "",
                tags=not fresh,
            )
            found, before, after = await put_on("service.bench.polls", load, measured)
    except (TargetFailed, LoadFailed) as fault:
        raise click.ClickException(str(fault)) from None
    took = Histogram.heard(found["corrected" if interval else "took"])
    report = _report(load, found, took, spent(before, after, frozenset({ROUTE})))
    if histogram:
        took.write_csv(histogram)
    if as_json:
        click.echo(json.dumps(report))
    else:
        _print(report)
    return 1 if report["broken"] else 0


async def _prepared(measured: Target, clients: int, movies: int, frames: int) -> tuple[list[tuple[str, str]], str]:
    """A key and a movie for each page, and the key of the editor."""
    async with joined(measured.data) as runtime:
        viewers = await add_people(runtime.stores, clients)
        (editor,) = await add_people(runtime.stores, 1, may_edit=True)
        ids = await add_movies(runtime.stores, editor.user_id, movies, frames=frames)
    return [(viewer.api_key, ids[number % movies]) for number, viewer in enumerate(viewers)], editor.api_key


def _report(load: Load, found: dict[str, Any], took: Histogram, spending: Spending) -> dict[str, Any]:
    answers = Counter[str](found["answers"])
    good = answers["200"] + answers["304"]
    per_poll = {role: spending.seconds(role) for role in _ROLES} | {"load": found["processor_seconds"]}
    processes = [
        {"role": one.role, "pid": pid, "ms_per_poll": _per(1000 * one.seconds, good)}
        for pid, one in spending.processors.items()
    ]
    return {
        "clients": len(load.pages),
        "movies": len(load.movies),
        "loop": "closed" if load.rate is None else f"open, {load.rate:g} per second",
        "interval": load.interval,
        "tags": load.tags,
        "seconds": load.seconds,
        "polls": good,
        "polls_per_second": round(good / load.seconds, 1),
        "latency": took.summary(),
        "answers": found["answers"],
        "errors": answers.total() - good,
        "bytes_per_answer": found["bytes_per_answer"],
        "processor_ms_per_poll": {role: _per(1000 * used, good) for role, used in per_poll.items()},
        "processes": processes,
        "calls_per_poll": dict(spending.calls_per_answer),
        "edits": found["edits"],
        "needless": found["needless"],
        "latest_seconds": found["latest_seconds"],
        "broken": found["broken"],
        "violations": found["violations"],
        "machine": machine.description(),
    }


def _per(amount: float, count: int) -> float | None:
    return round(amount / count, 3) if count else None


def _print(report: dict[str, Any]) -> None:
    console = Console(highlight=False)
    title = f"{report['clients']} pages, {report['movies']} movies, {report['loop']} loop, {report['seconds']:g} s"
    table = Table(title=title, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("polls per second", f"{report['polls_per_second']}")
    for name, value in report["latency"].items():
        table.add_row(name.replace("_ms", "") + " ms", f"{value}")
    for status, count in report["answers"].items():
        table.add_row(f"answered {status}", f"{count}")
    table.add_row("bytes per answer", f"{report['bytes_per_answer']}")
    for role, value in report["processor_ms_per_poll"].items():
        table.add_row(f"processor ms per poll, {role}", "-" if value is None else f"{value}")
    for operation, count in report["calls_per_poll"].items():
        table.add_row(f"{operation} per poll", f"{count}")
    table.add_row("edits", ", ".join(f"{count} {name}" for name, count in report["edits"].items()) or "none")
    table.add_row("sent whole though held already", f"{report['needless']}")
    table.add_row("latest sight of an edit, s", f"{report['latest_seconds']}")
    console.print(table)
    print_verdict(console, report, "no page was shown anything that it must not be")
