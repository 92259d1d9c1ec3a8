"""The distributions that tell whether leases fit, out of pages of metrics and out of the receipts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from prometheus_client.parser import text_string_to_metric_families

from service.domain.lease_advice import Distribution, Measured
from service.store.schema import RECEIPTS
from service.store.stores import Stores

_SETTINGS = ("lease", "heartbeat", "sweep")


class NoMetrics(ValueError):
    """This is no page of tiptrace's metrics."""


@dataclass(frozen=True, slots=True)
class Figures:
    """`told`: the durations that the processes themselves say they run with, in seconds, where they say so."""

    measured: Measured
    told: dict[str, float]


def figures_of(pages: Iterable[str]) -> Figures:
    """All pages together, each what `/metrics` of one process answered. Raises NoMetrics."""
    bounds: dict[tuple[str, str], dict[float, float]] = defaultdict(lambda: defaultdict(float))
    counts: dict[tuple[str, str], float] = defaultdict(float)
    told: dict[str, float] = {}
    for page in pages:
        known = False
        for name, labels, value in _samples(page):
            known = known or name.startswith("tiptrace_")
            if name.endswith("_seconds_bucket") and labels.get("outcome", "completed") == "completed":
                family = name.removesuffix("_seconds_bucket").removeprefix("tiptrace_")
                bounds[family, labels.get("kind") or labels.get("stage", "")][float(labels["le"])] += value
            elif name in ("tiptrace_leases_lost_total", "tiptrace_sweeps_total"):
                counts[name, labels.get("kind") or labels["action"]] += value
            elif name.removeprefix("tiptrace_").removesuffix("_seconds") in _SETTINGS:
                told[name.removeprefix("tiptrace_").removesuffix("_seconds")] = value
        if not known:
            raise NoMetrics(NoMetrics.__doc__)

    def found(family: str) -> dict[str, Distribution]:
        return {part: _distribution(upto) for (name, part), upto in bounds.items() if name == family}

    measured = Measured(
        lateness=found("heartbeat_lateness"),
        jobs=_together(found("job").values()),
        stages={stage: one for stage, one in found("stage").items() if one.count},
        queue_wait=_together(found("queue_wait").values()),
        leases_lost=int(counts["tiptrace_leases_lost_total", "tracing"]),
        resumed=int(counts["tiptrace_sweeps_total", "resumed"]),
    )
    return Figures(measured, told)


def _samples(page: str) -> Iterable[tuple[str, dict[str, str], float]]:
    try:
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                yield sample.name, sample.labels, sample.value
    except ValueError:
        raise NoMetrics(NoMetrics.__doc__) from None


def _distribution(upto: dict[float, float]) -> Distribution:
    """Prometheus counts up to each bound; here each bucket has its own."""
    buckets, below = [], 0.0
    for bound in sorted(upto):
        buckets.append((bound, upto[bound] - below))
        below = upto[bound]
    return Distribution(tuple(buckets))


def _together(many: Iterable[Distribution]) -> Distribution:
    summed = Distribution()
    for one in many:
        summed = summed.joined(one)
    return summed


async def with_receipts(stores: Stores, measured: Measured) -> Measured:
    """What the receipts of traces tell besides: how long traces took in all, where no process has counted jobs, and how
    many needed more than one attempt. Reads the whole table.
    """
    took: dict[float, float] = defaultdict(float)
    again = 0
    async for row in stores.database.scan(RECEIPTS):
        if row.get("kind") == "trace" and row.get("state") == "done":
            took[float(max(0, row["updated_at"] - row["created_at"]))] += 1
            again += int(row.get("attempts") or 1) > 1
    jobs = measured.jobs if measured.jobs.count else Distribution(tuple(sorted(took.items())))
    return replace(measured, jobs=jobs, resumed=max(measured.resumed, again))
