"""`tiptrace bench leases`: load and contention, with a checker over everything that was answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from service.bench import machine
from service.bench.apart import LoadFailed, put_on
from service.bench.crowd import add_movies, add_people
from service.bench.leases import MIXES, ROUTES, Contest
from service.bench.meters import Spending, TargetFailed, spent
from service.cli.bench_report import histogram_option, latencies, print_operations, print_verdict
from service.cli.bench_target import processes_option, target, their_data_option, url_option
from service.cli.manners import ends_plainly, joined, json_option

_SHORT_LEASES = {"TIPTRACE_LEASE_SECONDS": "4", "TIPTRACE_HEARTBEAT_SECONDS": "1"}


@click.command("leases")
@url_option
@their_data_option
@click.option("--clients", type=click.IntRange(1, 2000), default=128, show_default=True, help="Pages.")
@click.option("--movies", type=click.IntRange(1, 2000), default=128, show_default=True, help="That they want to edit.")
@click.option("--mix", type=click.Choice(list(MIXES)), default="plain", show_default=True, help="What they do.")
@click.option("--seconds", type=click.FloatRange(0.5, 3600), default=10.0, show_default=True, help="To measure.")
@click.option("--ramp", type=click.FloatRange(0, 600), default=2.0, show_default=True, help="Before that, uncounted.")
@click.option("--rate", type=click.FloatRange(0.1, 100_000), help="Open loop: cycles a second, by a schedule.")
@click.option(
    "--edits", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Share of leases that edit once."
)
@processes_option
@json_option
@histogram_option
@ends_plainly
async def leases(
    url: str | None,
    data: Path | None,
    clients: int,
    movies: int,
    mix: str,
    seconds: float,
    ramp: float,
    rate: float | None,
    edits: float,
    processes: int,
    as_json: bool,
    histogram: Path | None,
) -> int:
    """CLIENTS pages acquire the editing leases of MOVIES movies, renew them, place a marker and release them.

    In the plain mix each page keeps to one movie. In `stale` they go from movie to movie, and a quarter of the leases
    are left to expire and tried again later; in `takeover` each twentieth is taken over from its holder. Leases of a
    service of our own live for four seconds in these two. Exits with 1 if a promise of the protocol was broken.
    """
    settings = {} if mix == "plain" else _SHORT_LEASES
    try:
        async with target(url, data, processes=processes, settings=settings) as measured:
            async with joined(measured.data) as runtime:
                people = await add_people(runtime.stores, clients, may_edit=True)
                wanted = await add_movies(runtime.stores, people[0].user_id, movies)
            keys = [person.api_key for person in people]
            contest = Contest(measured.url, keys, wanted, mix, seconds, ramp, rate, edits)
            found, before, after = await put_on("service.bench.leases", contest, measured)
    except (TargetFailed, LoadFailed) as fault:
        raise click.ClickException(str(fault)) from None
    report = _report(contest, found, latencies(found, seconds, histogram), spent(before, after, frozenset(ROUTES)))
    if as_json:
        click.echo(json.dumps(report))
    else:
        _print(report)
    return 1 if report["broken"] else 0


def _report(contest: Contest, found: dict[str, Any], took: dict[str, Any], spending: Spending) -> dict[str, Any]:
    count = max(1, took["operations"])
    used = {role: spending.seconds(role) for role in ("web", "emulator")} | {"load": found["processor_seconds"]}
    return {
        "clients": len(contest.keys),
        "movies": len(contest.movies),
        "mix": contest.mix,
        "loop": "closed" if contest.rate is None else f"open, {contest.rate:g} per second",
        "edits": contest.edits,
        "seconds": contest.seconds,
        **took,
        "errors": found["errors"],
        "processor_ms_per_operation": {role: round(1000 * one / count, 3) for role, one in used.items()},
        "calls_per_operation": dict(spending.calls_per_answer),
        "load_peak_megabytes": found["peak_megabytes"],
        "broken": found["broken"],
        "violations": found["violations"],
        "machine": machine.description(),
    }


def _print(report: dict[str, Any]) -> None:
    console = Console(highlight=False)
    title = "{clients} pages, {movies} movies, {mix} mix, {edits:.0%} edit, {loop} loop, {seconds:g} s".format(**report)
    print_operations(console, title, report)
    for role, value in report["processor_ms_per_operation"].items():
        console.print(f"processor ms per operation, {role}: {value}")
    for operation, count in report["calls_per_operation"].items():
        console.print(f"{operation} per operation: {count}")
    for error, count in report["errors"].items():
        console.print(f"error: {error} ({count} times)", markup=False)
    print_verdict(console, report, "no promise of the protocol broken")
