"""`tiptrace bench leases`: load and contention, with a checker over the recorded history."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import click
from rich.console import Console
from rich.table import Table

from service.bench import machine
from service.bench.history import violations
from service.bench.leases import contend, finals, prepare
from service.bench.measured import summary
from service.cli.bench_capacity import capacity
from service.cli.bench_job import job
from service.cli.bench_trace import trace
from service.cli.manners import ends_plainly, joined

_LEASE_SECONDS = 4


@click.group()
def bench() -> None:
    """Load, contention and cost; exits non-zero if an invariant of the protocol broke."""


bench.add_command(trace)
bench.add_command(job)
bench.add_command(capacity)


@bench.command("leases")
@click.option("--url", help="A running service that shares this data folder or AWS account. Default: one of our own.")
@click.option("--clients", type=click.IntRange(1, 2000), default=32, show_default=True)
@click.option("--movies", type=click.IntRange(1, 2000), default=8, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.5, 3600), default=10.0, show_default=True)
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), help="The running service's data folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@ends_plainly
async def leases(url: str | None, clients: int, movies: int, seconds: float, data: Path | None, as_json: bool) -> int:
    """CLIENTS people contend for the analysis leases of MOVIES movies."""
    async with _service(url, data) as (address, folder), joined(folder) as runtime:
        contest = await prepare(runtime.stores, clients, movies)
        took = await contend(address, contest, seconds)
        broken = violations(contest.history, await finals(runtime.stores, contest.movies))
    samples = [(_named(o.kind, o.accepted), o.end - o.start) for o in contest.history]
    report = {
        "clients": clients,
        "movies": movies,
        "seconds": round(took, 2),
        "operations": len(contest.history),
        "operations_per_second": round(len(contest.history) / took, 1),
        "latency": summary(samples, took),
        "errors": len(contest.errors),
        "violations": broken,
        "machine": machine.description(),
    }
    if as_json:
        click.echo(json.dumps(report))
    else:
        _print(report, contest.errors)
    return 1 if broken else 0


def _named(kind: str, accepted: bool) -> str:
    return kind if accepted else f"{kind}, refused"


def _print(report: dict[str, Any], errors: list[str]) -> None:
    console = Console()
    table = Table(title=f"{report['clients']} clients, {report['movies']} movies, {report['seconds']} s")
    for name in ("operation", "count", "per second", "median ms", "p90 ms", "p99 ms", "longest ms"):
        table.add_column(name, justify="left" if name == "operation" else "right")
    for row in report["latency"]:
        table.add_row(*(str(value) for value in row.values()))
    console.print(table)
    console.print(
        f"{report['operations_per_second']} operations per second, {report['errors']} errors", highlight=False
    )
    for error in sorted(set(errors))[:5]:
        console.print(f"  {error} ({errors.count(error)} times)", highlight=False, markup=False)
    for sentence in report["violations"][:20]:
        console.print(f"VIOLATION {sentence}", highlight=False, markup=False)
    console.print("no invariant broken" if not report["violations"] else f"{len(report['violations'])} violations")


@asynccontextmanager
async def _service(url: str | None, data: Path | None) -> AsyncIterator[tuple[str, Path | None]]:
    """The service under load: the given one, or one of our own in a process of its own with short leases."""
    if url:
        yield url.rstrip("/"), data
        return
    with tempfile.TemporaryDirectory(prefix="tiptrace-bench-") as folder:
        port = _free_port()
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "service.cli",
            *("serve", "--port", str(port), "--data", folder, "--workers", "0"),
            env={
                **os.environ,
                "TIPTRACE_LEASE_SECONDS": str(_LEASE_SECONDS),
                "TIPTRACE_HEARTBEAT_SECONDS": "1",
                "TIPTRACE_LOG_LEVEL": "error",
            },
        )
        try:
            address = f"http://127.0.0.1:{port}"
            await _until_ready(address, child)
            yield address, Path(folder)
        finally:
            if child.returncode is None:
                child.terminate()
            await child.wait()


async def _until_ready(address: str, child: asyncio.subprocess.Process) -> None:
    async with aiohttp.ClientSession() as http, asyncio.timeout(60):
        while child.returncode is None:
            try:
                async with http.get(f"{address}/healthz") as reply:
                    if reply.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
    raise click.ClickException("The service did not start.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
