"""`tiptrace bench capacity`: what so many pages and jobs would need, by arithmetic."""

from __future__ import annotations

import json
from dataclasses import replace

import click
from rich.console import Console
from rich.table import Table

from service.bench.capacity import PRICES, demand, limits, movies_cost
from service.cli.manners import json_option

WORDS = {
    "requests": "requests a second",
    "calls": "database calls a second",
    "read_units": "DynamoDB read units a second",
    "write_units": "DynamoDB write units a second",
    "messages": "SQS requests a second",
    "storage_requests": "S3 requests of workers a second",
    "megabytes": "S3 megabytes of workers a second",
    "web_cpus": "Fargate vCPUs of web services",
    "worker_cpus": "Fargate vCPUs of workers",
}


@click.command("capacity")
@click.option(
    "--pages", type=click.IntRange(0, 10_000_000), default=1000, show_default=True, help="Analyze pages open."
)
@click.option("--jobs", type=click.IntRange(0, 1_000_000), default=10, show_default=True, help="Traces at once.")
@click.option("--movies", type=click.IntRange(0), default=1000, show_default=True, help="For what movies cost.")
@click.option("--price", "given", multiple=True, metavar="NAME=USD", help="Another price, e.g. million_writes=0.7.")
@json_option
def capacity(pages: int, jobs: int, movies: int, given: tuple[str, ...], as_json: bool) -> None:
    """What PAGES open pages and JOBS running traces need on AWS, worked out from what was measured. Asks nothing."""
    prices = PRICES
    for one in given:
        name, _, value = one.partition("=")
        try:
            prices = replace(prices, **{name: float(value)})
        except (TypeError, ValueError):
            raise click.BadParameter(f"{one}: no such price, or no number", param_hint="--price") from None
    told = {"demand": demand(pages, jobs), "limits": limits(), "dollars": movies_cost(movies, prices)}
    if as_json:
        click.echo(json.dumps(told))
        return
    table = Table(title=f"{pages:,} pages, {jobs:,} jobs")
    table.add_column("needs")
    table.add_column("on average", justify="right")
    for name, words in WORDS.items():
        table.add_row(words, rounded(told["demand"][name]))
    Console().print(table)
    click.echo(f"{movies:,} movies cost about ${told['dollars']['all']:,.2f}.")


def rounded(value: float) -> str:
    """Three digits at most, with separators."""
    if value == 0 or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
