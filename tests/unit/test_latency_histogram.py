"""Latencies in slots: nothing is lost, little is rounded, and what a waiting client left out is counted."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from service.bench.histogram import Histogram


@pytest.mark.parametrize("seconds", [0.0, 1e-6, 0.000255, 0.000256, 0.001, 0.0123456, 1.0, 59.9, 3600.0])
def test_a_duration_comes_back_at_most_a_hundredth_longer(seconds: float) -> None:
    one = Histogram()
    one.record(seconds)
    one.record(10 * seconds + 1)  # so that the longest does not hide the slot's end
    assert seconds <= one.percentile(0.5) + 1e-6 <= seconds * 1.01 + 3e-6


def test_percentiles_are_those_of_the_values_themselves() -> None:
    chance = random.Random(7)
    values = [chance.expovariate(20) for _ in range(5000)]
    whole = Histogram()
    for value in values:
        whole.record(value)
    values.sort()
    for share in (0.5, 0.95, 0.99):
        exact = values[int(share * len(values)) - 1]
        assert whole.percentile(share) == pytest.approx(exact, rel=0.01, abs=2e-6)
    assert whole.summary()["longest_ms"] == pytest.approx(1000 * values[-1], abs=0.01)


def test_a_wait_counts_for_the_questions_that_it_kept_from_being_asked() -> None:
    """One answer of 100 s among one a second: nine of ten questions would have met the standstill."""
    plain, corrected = Histogram(), Histogram()
    for seconds in [0.001] * 10 + [100.0]:
        plain.record(seconds)
        corrected.record_corrected(seconds, interval=1.0)
    assert corrected.count == 10 + 100
    assert plain.percentile(0.5) < 0.002
    assert corrected.percentile(0.5) == pytest.approx(45, rel=0.03)


def test_a_histogram_is_made_again_from_its_counts_and_two_are_added(tmp_path: Path) -> None:
    one, other = Histogram(), Histogram()
    one.record(0.01)
    other.record(0.5)
    again = Histogram.heard(json.loads(json.dumps(one.told())))
    again.add(other)
    assert (again.count, again.longest) == (2, 0.5)
    again.write_csv(tmp_path / "found.csv")
    rows = list(csv.reader((tmp_path / "found.csv").open()))
    assert rows[0] == ["microseconds", "count"]
    assert [int(count) for _, count in rows[1:]] == [1, 1]
    assert int(rows[1][0]) == pytest.approx(10_000, rel=0.01)


def test_an_empty_one_tells_nothing() -> None:
    assert Histogram().summary() == {"p50_ms": 0.0, "p95_ms": 0.0, "p99_ms": 0.0, "longest_ms": 0.0}
