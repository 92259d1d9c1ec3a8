"""`tiptrace bench`: load, contention and cost."""

from __future__ import annotations

import click

from service.cli.bench_capacity import capacity
from service.cli.bench_job import job
from service.cli.bench_leases import leases
from service.cli.bench_pages import pages
from service.cli.bench_polls import polls
from service.cli.bench_trace import trace


@click.group()
def bench() -> None:
    """Load, contention and cost; exits non-zero if an invariant of the protocol broke."""


for command in (trace, job, polls, leases, pages, capacity):
    bench.add_command(command)
