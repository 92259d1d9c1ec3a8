"""`tiptrace admin lease-advice`: do the lease, the heartbeat and the sweep interval fit what was measured?"""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from service.cli.doctor import in_words
from service.cli.manners import data_option, ends_plainly, joined, json_option, read_settings
from service.domain.finding import all_well
from service.domain.lease_advice import Durations, LeaseAdvice, advise
from service.usecases.lease_figures import Figures, NoMetrics, figures_of, with_receipts

_MOST_BYTES = 64 << 20
_SECONDS = click.FloatRange(min=0, min_open=True)


@click.command("lease-advice")
@click.argument("sources", nargs=-1)
@click.option("--receipts", is_flag=True, help="Read the receipts in the database too.")
@click.option("--lease-seconds", type=_SECONDS, help="Judge this lease (D). Default: what the processes run with.")
@click.option("--heartbeat-seconds", type=_SECONDS, help="Judge this heartbeat (H).")
@click.option("--sweep-seconds", type=_SECONDS, help="Judge this sweep interval.")
@json_option
@data_option
@ends_plainly
async def lease_advice(
    sources: Sequence[str],
    receipts: bool,
    lease_seconds: float | None,
    heartbeat_seconds: float | None,
    sweep_seconds: float | None,
    as_json: bool,
    data: Path | None,
) -> int:
    """Say whether the lease's length, the heartbeat and the sweep interval fit what was measured, and what would.

    SOURCES are addresses or files of metrics, one for each process: http://127.0.0.1:8080/metrics, or what that
    answered earlier; - reads the standard input. Ends with 0 if nothing is too short or too slow to be safe, else
    with 1.
    """
    if not sources and not receipts:
        raise click.UsageError("Name an address or a file of metrics, or give --receipts.")
    figures = _figures(await asyncio.gather(*(asyncio.to_thread(_read, source) for source in sources)), sources)
    measured = figures.measured
    if receipts:
        async with joined(data) as runtime:
            measured = await with_receipts(runtime.stores, measured)
    settings = read_settings(data=data, log_level="warning")
    judged = Durations(
        lease=lease_seconds or figures.told.get("lease") or settings.lease_seconds,
        heartbeat=heartbeat_seconds or figures.told.get("heartbeat") or settings.heartbeat_seconds,
        sweep=sweep_seconds or figures.told.get("sweep") or settings.sweep_seconds,
    )
    advised = advise(measured, judged)
    click.echo(_as_json(advised, judged) if as_json else in_words(advised.findings))
    return 0 if all_well(advised.findings) else 1


def _figures(pages: Sequence[str], sources: Sequence[str]) -> Figures:
    try:
        return figures_of(pages)
    except NoMetrics as fault:
        raise click.ClickException(f"{', '.join(sources)}: {fault}") from None


def _read(source: str) -> str:
    try:
        if source == "-":
            return sys.stdin.read(_MOST_BYTES)
        if source.startswith(("http://", "https://")):
            with urllib.request.urlopen(source, timeout=10) as answer:  # nosec B310  # noqa: S310  the scheme is looked at
                return str(answer.read(_MOST_BYTES).decode())
        return Path(source).read_text(encoding="utf-8")
    except urllib.error.URLError as fault:
        raise click.ClickException(f"{source} cannot be read: {fault.reason}.") from None
    except (OSError, UnicodeDecodeError) as fault:
        raise click.ClickException(f"{source} cannot be read: {fault}.") from None


def _as_json(advised: LeaseAdvice, judged: Durations) -> str:
    told = {
        "well": all_well(advised.findings),
        "judged": asdict(judged),
        "recommended": asdict(advised.recommended),
        "findings": [asdict(finding) for finding in advised.findings],
    }
    return json.dumps(told, ensure_ascii=False)
