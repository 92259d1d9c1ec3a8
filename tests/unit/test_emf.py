"""Metrics as lines of the log: held to the specification of the embedded metric format, and adding up."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from service import metrics
from service.emf import MOST_METRICS, differences, lines, metrics_told, snapshot
from service.settings import Settings

NOW = 1_800_000_000.25
UNITS = {"Seconds", "Bytes", "Count"}


def hold_to_the_specification(line: str) -> dict[str, Any]:
    """What "Specification: Embedded metric format" of the CloudWatch guide demands of a document."""
    told: dict[str, Any] = json.loads(line)
    assert "\n" not in line
    assert len(line.encode()) < 256 * 1024
    assert type(told["_aws"]["Timestamp"]) is int
    assert told["_aws"]["CloudWatchMetrics"]
    for directive in told["_aws"]["CloudWatchMetrics"]:
        assert set(directive) == {"Namespace", "Dimensions", "Metrics"}
        assert 1 <= len(directive["Namespace"]) <= 255
        for dimensions in directive["Dimensions"]:
            assert 1 <= len(dimensions) <= 30
            for name in dimensions:
                assert isinstance(told[name], str)
                assert 1 <= len(told[name]) <= 1024
        assert 1 <= len(directive["Metrics"]) <= 100
        for metric in directive["Metrics"]:
            assert set(metric) == {"Name", "Unit"}
            assert 1 <= len(metric["Name"]) <= 1024
            assert metric["Unit"] in UNITS
            values = told[metric["Name"]]
            values = values if isinstance(values, list) else [values]
            assert 1 <= len(values) <= 100
            assert all(type(value) in (int, float) for value in values)
    return told


def test_counters_are_told_as_differences_and_gauges_as_they_are() -> None:
    registry = CollectorRegistry()
    swept = Counter("tiptrace_sweeps", "...", ("action",), registry=registry)
    age = Gauge("tiptrace_queue_age_seconds", "...", ("kind",), registry=registry)
    idle = Counter("tiptrace_receipts_retired", "...", registry=registry)
    swept.labels("resumed").inc(3)
    age.labels("trace").set(-2)
    first = snapshot(registry.collect())
    assert differences({}, first) == {"sweeps_resumed": 3, "queue_age_seconds_trace": -2}
    swept.labels("resumed").inc(2)
    swept.labels("failed").inc()
    idle.inc(0)
    told = differences(first, snapshot(registry.collect()))
    assert told == {"sweeps_resumed": 2, "sweeps_failed": 1, "queue_age_seconds_trace": -2}


def test_labels_that_no_alarm_asks_for_are_summed() -> None:
    registry = CollectorRegistry()
    answers = Counter("tiptrace_http_requests", "...", ("route", "status"), registry=registry)
    answers.labels("/a", "200").inc(5)
    answers.labels("/b", "503").inc(2)
    assert differences({}, snapshot(registry.collect())) == {"http_requests": 7}


def test_a_distribution_is_told_by_its_count_its_sum_and_values_at_the_bounds_of_its_buckets() -> None:
    registry = CollectorRegistry()
    late = Histogram("tiptrace_heartbeat_lateness_seconds", "...", ("kind",), registry=registry, buckets=(1, 5, 60))
    for seconds in (0.5, 0.7, 4, 1000):
        late.labels("tracing").observe(seconds)
    before = snapshot(registry.collect())
    name = "heartbeat_lateness_seconds_tracing"
    assert differences({}, before) == {name: [1, 1, 5, 60], f"{name}_count": 4, f"{name}_sum": 1005.2}
    for _ in range(9998):
        late.labels("tracing").observe(0.2)
    late.labels("tracing").observe(30)
    late.labels("tracing").observe(3)
    told = differences(before, snapshot(registry.collect()))
    assert told[f"{name}_count"] == 10_000
    values = told[name]
    assert isinstance(values, list)
    assert len(values) <= 100
    assert {value: values.count(value) for value in values} == {1: 96, 5: 1, 60: 1}


def test_every_line_holds_to_the_specification_however_many_metrics_there_are() -> None:
    told: dict[str, float | list[float]] = {f"stage_seconds_{n}": [1.0] * 100 for n in range(MOST_METRICS)}
    told |= {"artifact_bytes": 5.0, "jobs_running": 1.0, "stage_seconds_0_count": 100.0}
    made = [hold_to_the_specification(line) for line in lines(told, "worker", "tiptrace-metrics", NOW)]
    assert len(made) == 2
    assert [line["_aws"]["Timestamp"] for line in made] == [1_800_000_000_250] * 2
    assert {line["service"] for line in made} == {"worker"}
    units = {m["Name"]: m["Unit"] for line in made for m in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    assert set(units) == set(told)
    assert (units["artifact_bytes"], units["jobs_running"]) == ("Bytes", "Count")
    assert (units["stage_seconds_7"], units["stage_seconds_0_count"]) == ("Seconds", "Count")


@pytest.mark.asyncio
async def test_what_this_process_counts_is_told_at_the_end_at_the_latest() -> None:
    out = io.StringIO()
    settings = Settings(_env_file=None, data=Path("unused"), emf=True, emf_namespace="here", emf_seconds=3600)
    async with metrics_told(settings, "worker", out):
        metrics.LEASES_LOST.labels(kind="tracing").inc()
        metrics.QUEUE_WAIT.labels(kind="trace").observe(42)
    told = [hold_to_the_specification(line) for line in out.getvalue().splitlines()]
    assert {line["_aws"]["CloudWatchMetrics"][0]["Namespace"] for line in told} == {"here"}
    together = {name: value for line in told for name, value in line.items()}
    assert together["leases_lost_tracing"] >= 1
    assert together["queue_wait_seconds_trace_sum"] >= 42
    assert (together["event"], together["service"]) == ("metrics", "worker")


@pytest.mark.asyncio
async def test_without_the_setting_nothing_is_written() -> None:
    out = io.StringIO()
    async with metrics_told(Settings(_env_file=None, data=Path("unused")), "web", out):
        metrics.LEASES_LOST.labels(kind="tracing").inc()
    assert out.getvalue() == ""
