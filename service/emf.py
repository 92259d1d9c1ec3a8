"""The metrics once more, as lines of the log that CloudWatch reads as metrics: its embedded metric format (EMF).

A line tells what was counted since the line before it. CloudWatch bills each combination of a metric and its
dimensions, so there is one dimension, `service` (`web` or `worker`), and of the labels only the one that an alarm may
ask for goes into the name: `jobs_ended_worker_lost`. A histogram becomes three metrics: `..._count`, `..._sum`, and
under its own name up to a hundred values that stand for its distribution, for percentiles and the maximum.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isinf
from typing import Any, TextIO

from prometheus_client.metrics_core import Metric

from service.metrics import REGISTRY
from service.settings import Settings

_PREFIX = "tiptrace_"
MOST_METRICS = 100
MOST_VALUES = 100
"""In one line, and in one metric of a line: what the format allows."""

SPLIT: Mapping[str, str] = {
    "http_request_seconds": "status",
    "leases_granted": "kind",
    "leases_refused": "reason",
    "leases_lost": "kind",
    "heartbeats_late": "kind",
    "heartbeat_lateness_seconds": "kind",
    "sweeps": "action",
    "jobs_ended": "result",
    "job_seconds": "kind",
    "stage_seconds": "stage",
    "queue_wait_seconds": "kind",
    "queue_age_seconds": "kind",
    "jobs": "state",
}
"""The label whose values become part of the name. Over all other labels is summed; of gauges the highest counts."""


@dataclass(slots=True)
class _Counted:
    """One metric under its name in CloudWatch. `buckets`: observations up to each bound, for a histogram."""

    kind: str
    total: float = 0.0
    count: float = 0.0
    buckets: dict[float, float] = field(default_factory=dict)


Snapshot = dict[str, _Counted]


def snapshot(families: Iterable[Metric]) -> Snapshot:
    """Everything counted so far."""
    found: Snapshot = {}
    for family in families:
        name = family.name.removeprefix(_PREFIX)
        for sample in family.samples:
            part = sample.labels.get(SPLIT.get(name, ""))
            one = found.setdefault(f"{name}_{part}" if part else name, _Counted(family.type))
            if sample.name.endswith("_bucket"):
                bound = float(sample.labels["le"])
                one.buckets[bound] = one.buckets.get(bound, 0.0) + sample.value
            elif sample.name.endswith("_count"):
                one.count += sample.value
            elif sample.name.endswith(("_total", "_sum")):
                one.total += sample.value
            elif family.type == "gauge":
                one.total = sample.value if one.count == 0 else max(one.total, sample.value)
                one.count = 1
    return found


def differences(before: Snapshot, after: Snapshot) -> dict[str, float | list[float]]:
    """What to tell: counters and histograms that have moved, and every gauge."""
    told: dict[str, float | list[float]] = {}
    for name, now in after.items():
        was = before.get(name, _Counted(now.kind))
        if now.kind == "gauge":
            told[name] = now.total
        elif now.kind == "counter" and now.total > was.total:
            told[name] = now.total - was.total
        elif now.kind == "histogram" and now.count > was.count:
            told[name] = _values(was.buckets, now.buckets)
            told[f"{name}_count"] = now.count - was.count
            told[f"{name}_sum"] = now.total - was.total
    return told


def _values(before: Mapping[float, float], after: Mapping[float, float]) -> list[float]:
    """Each observation as the upper bound of its bucket; of more than a hundred so many that their shares are right.

    Every bucket that holds something keeps at least one, so that no outlier is lost. What lies above all bounds is told
    as the highest bound.
    """
    inside: list[tuple[float, float]] = []
    below, highest = 0.0, max((bound for bound in after if not isinf(bound)), default=0.0)
    for bound in sorted(after):
        upto = after[bound] - before.get(bound, 0.0)
        if upto > below:
            inside.append((min(bound, highest), upto - below))
        below = max(below, upto)
    share = 1.0 if below <= MOST_VALUES else (MOST_VALUES - len(inside)) / below
    return [bound for bound, many in inside for _ in range(max(1, int(many * share)))]


def lines(told: Mapping[str, float | list[float]], service: str, namespace: str, now: float) -> list[str]:
    """One line of JSON for each hundred metrics; `now` in epoch seconds."""
    names = sorted(told)
    made = []
    for start in range(0, len(names), MOST_METRICS):
        part = names[start : start + MOST_METRICS]
        directive = {
            "Namespace": namespace,
            "Dimensions": [["service"]],
            "Metrics": [{"Name": name, "Unit": _unit(name)} for name in part],
        }
        line: dict[str, Any] = {
            "event": "metrics",
            "level": "info",
            "time": datetime.fromtimestamp(now, UTC).isoformat().replace("+00:00", "Z"),
            "service": service,
            "_aws": {"Timestamp": int(now * 1000), "CloudWatchMetrics": [directive]},
        }
        made.append(json.dumps({**line, **{name: told[name] for name in part}}))
    return made


def _unit(name: str) -> str:
    if name.endswith("_count"):
        return "Count"
    if "_seconds" in name:
        return "Seconds"
    return "Bytes" if name.endswith("_bytes") else "Count"


@asynccontextmanager
async def metrics_told(settings: Settings, service: str, stream: TextIO | None = None) -> AsyncIterator[None]:
    """Meanwhile write the metrics to `stream` (stderr, with the log) as often as the settings say; at the end the rest.

    `service`: what this process is, `web` or `worker`. Does nothing unless TIPTRACE_EMF is set.
    """
    if not settings.emf:
        yield
        return
    out = stream or sys.stderr
    before: Snapshot = {}
    one_at_a_time = threading.Lock()  # the last telling must not meet one that is under way in its thread

    def tell() -> None:
        nonlocal before
        with one_at_a_time:
            after = snapshot(REGISTRY.collect())
            told = lines(differences(before, after), service, settings.emf_namespace, time.time())
            before = after
            out.write("".join(f"{line}\n" for line in told))
            out.flush()

    async def repeat() -> None:
        while True:
            await asyncio.sleep(settings.emf_seconds)
            await asyncio.to_thread(tell)

    telling = asyncio.create_task(repeat(), name="metrics-teller")
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.wait([telling])
        tell()
