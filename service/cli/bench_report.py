"""What the benches of operations say alike: a row for each operation, and one for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from service.bench import machine
from service.bench.histogram import Histogram

_COLUMNS = ("operation", "count", "per second", "p50 ms", "p95 ms", "p99 ms", "longest ms")
_SENTENCES = 20
histogram_option = click.option(
    "--histogram", type=click.Path(dir_okay=False, path_type=Path), help="Write all latencies there, as CSV."
)


def latencies(found: dict[str, Any], seconds: float, csv: Path | None) -> dict[str, Any]:
    """The report's part about what was asked and how long it took; all latencies go to the file `csv`, if there is one.

    `found`: what a load tells, its `operations` histograms by name.
    """
    took = {name: Histogram.heard(told) for name, told in found["operations"].items()}
    every = Histogram()
    for one in took.values():
        every.add(one)
    if csv:
        every.write_csv(csv)
    return {
        "operations": every.count,
        "operations_per_second": round(every.count / seconds, 1),
        "latency": every.summary(),
        "by_operation": {
            name: {"count": one.count, "per_second": round(one.count / seconds, 1), **one.summary()}
            for name, one in took.items()
        },
    }


def print_operations(console: Console, title: str, report: dict[str, Any]) -> None:
    table = Table(title=title)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name == "operation" else "right")
    for name, row in report["by_operation"].items():
        table.add_row(name, *(str(value) for value in row.values()))
    table.add_section()
    total = (report["operations"], report["operations_per_second"], *report["latency"].values())
    table.add_row("all", *(str(value) for value in total))
    console.print(table)


def print_verdict(console: Console, report: dict[str, Any], good: str) -> None:
    """The machine, what was broken, or `good`."""
    console.print(machine.in_words(report["machine"]), markup=False)
    for sentence in report["violations"][:_SENTENCES]:
        console.print(f"VIOLATION {sentence}", markup=False)
    console.print(f"{report['broken']} violations" if report["broken"] else good)
