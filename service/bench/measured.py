"""Latencies by operation: counts, rates and percentiles."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any


def percentile(sorted_values: list[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed; 0.0 for none."""
    if not sorted_values:
        return 0.0
    return sorted_values[min(len(sorted_values) - 1, max(0, int(share * len(sorted_values) + 0.999999) - 1))]


def summary(samples: Iterable[tuple[str, float]], seconds: float) -> list[dict[str, Any]]:
    """One row per operation name: count, per second, median, p90, p99 and the longest, milliseconds."""
    by_name: dict[str, list[float]] = defaultdict(list)
    for name, took in samples:
        by_name[name].append(took * 1000)
    rows = []
    for name, values in sorted(by_name.items()):
        values.sort()
        rows.append(
            {
                "operation": name,
                "count": len(values),
                "per_second": round(len(values) / seconds, 1) if seconds > 0 else 0.0,
                "median_ms": round(statistics.median(values), 1),
                "p90_ms": round(percentile(values, 0.90), 1),
                "p99_ms": round(percentile(values, 0.99), 1),
                "longest_ms": round(values[-1], 1),
            }
        )
    return rows
