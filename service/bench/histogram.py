"""Latencies as counts in slots of rising width: any number of them in little memory, each known to within 0.8 %."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

_BITS = 7  # 128 slots for every doubling
_KEPT = _BITS + 1


class Histogram:
    """Durations in seconds go in; what comes out is never less than what went in, and at most 0.8 % more."""

    def __init__(self, counts: Iterable[tuple[int, int]] = (), longest: float = 0.0) -> None:
        self._counts: Counter[int] = Counter(dict(counts))
        self.longest = longest

    def record(self, seconds: float) -> None:
        self._counts[_slot(round(seconds * 1e6))] += 1
        self.longest = max(self.longest, seconds)

    def record_corrected(self, seconds: float, interval: float) -> None:
        """One that kept its client from asking `interval` seconds later, and again, counts for those questions too.

        A client that waits for its answer asks least while the service is slowest. What it would have waited for the
        questions that it left out is the same wait, shorter by one interval each.
        """
        while True:
            self.record(seconds)
            seconds -= interval
            if seconds < interval:
                return

    def add(self, other: Histogram) -> None:
        self._counts.update(other._counts)
        self.longest = max(self.longest, other.longest)

    @property
    def count(self) -> int:
        return self._counts.total()

    def percentile(self, share: float) -> float:
        """The smallest duration that at least `share` of all do not exceed, in seconds; 0.0 for none."""
        wanted, seen = share * self.count, 0
        for slot, count in sorted(self._counts.items()):
            seen += count
            if seen >= wanted:
                return min(self.longest, _most(slot) / 1e6)
        return self.longest

    def summary(self) -> dict[str, float]:
        """Median, p95, p99 and the longest, in milliseconds."""
        shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
        told = {name: round(1000 * self.percentile(share), 2) for name, share in shares.items()}
        return {**told, "longest_ms": round(1000 * self.longest, 2)}

    def told(self) -> dict[str, Any]:
        """As JSON can say it, for `heard` on the other side."""
        return {"counts": sorted(self._counts.items()), "longest": self.longest}

    @classmethod
    def heard(cls, told: Mapping[str, Any]) -> Self:
        return cls([(slot, count) for slot, count in told["counts"]], told["longest"])

    def write_csv(self, path: Path) -> None:
        """A row per slot that is not empty: its upper end in microseconds, its count."""
        with path.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("microseconds", "count"))
            rows.writerows((_most(slot), count) for slot, count in sorted(self._counts.items()))


def _slot(value: int) -> int:
    """Values below 256 have a slot each; of larger ones the leading eight bits count."""
    shift = max(0, value.bit_length() - _KEPT)
    return (shift << _BITS) + (value >> shift)


def _most(slot: int) -> int:
    """The largest value of a slot."""
    shift = max(0, (slot >> _BITS) - 1)
    return ((slot - (shift << _BITS) + 1) << shift) - 1
