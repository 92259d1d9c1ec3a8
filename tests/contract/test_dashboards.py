"""Dashboard, alerts and alarms in deploy/ ask for nothing that the code does not count."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.settings import Settings
from tests.support.metric_names import faults_of, samples, told_to_cloudwatch
from tests.support.stack import resolved, resources

DEPLOY = Path(__file__).parents[2] / "deploy"
KNOWN = {"Prefix": "p-", "ServiceStack": "s", "Told": "topic", "TellWhom": "a@b"}


def board() -> dict[str, Any]:
    told: dict[str, Any] = json.loads((DEPLOY / "grafana" / "tiptrace.json").read_text(encoding="utf-8"))
    return told


def charts() -> list[dict[str, Any]]:
    return [panel for panel in board()["panels"] if panel["type"] != "row"]


def alerts() -> list[dict[str, Any]]:
    read = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
    return [rule for group in read["groups"] for rule in group["rules"]]


def test_every_chart_asks_for_metrics_labels_and_values_that_exist() -> None:
    queries = [target["expr"] for chart in charts() for target in chart["targets"]]
    assert len(queries) > 30
    assert [fault for query in queries for fault in faults_of(query)] == []
    (job,) = [one for one in board()["templating"]["list"] if one["name"] == "job"]
    assert faults_of(job["query"]) == []


def test_the_dashboard_shows_whatever_is_counted() -> None:
    """All but the settings, of which each is part of another chart, and what only explains a skew or a retirement."""
    asked = " ".join(target["expr"] for chart in charts() for target in chart["targets"])
    families = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in samples()}
    unseen = {name for name in families if not re.search(rf"\b{name}(_total|_bucket|_count|_sum)?\b", asked)}
    assert unseen == {
        "tiptrace_http_requests",  # the histogram's count, by class, is shown instead
        "tiptrace_worker_attempts",  # and so are stages
        "tiptrace_sweep_seconds",
        "tiptrace_clock_skew_within_seconds",
        "tiptrace_receipts_retired",
        "tiptrace_retry_age_seconds",
    }


def test_charts_lie_beside_each_other_and_say_what_they_show() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board()["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in board()["panels"]}) == len(board()["panels"])
    assert all(chart["title"] and chart["description"] for chart in charts())


def test_every_alert_asks_for_metrics_labels_and_values_that_exist() -> None:
    rules = alerts()
    assert len(rules) >= 8
    assert [fault for rule in rules for fault in faults_of(rule["expr"])] == []
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("warning", "critical")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("rate(tiptrace_no_such_total[5m])", "tiptrace_no_such_total"),
        ("tiptrace_sweeps_total{kind='x'}".replace("'", '"'), "tiptrace_sweeps_total{kind}"),
        ('tiptrace_jobs_ended_total{result="lost"}', "tiptrace_jobs_ended_total{result=lost}"),
        ("sum by (route) (tiptrace_sweeps_total)", "by route"),
        ("sum(tiptrace_sweeps_total", "brackets: sum(tiptrace_sweeps_total"),
    ],
)
def test_a_query_for_something_else_would_be_seen(query: str, fault: str) -> None:
    assert faults_of(query) == [fault]


def _metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Every metric that an alarm reads: its own, or those of its expression."""
    if "MetricName" in alarm:
        return [alarm]
    return [one["MetricStat"]["Metric"] for one in alarm["Metrics"] if "MetricStat" in one]


def alarms() -> dict[str, dict[str, Any]]:
    found = resources("alarms", "AWS::CloudWatch::Alarm")
    return {name: _without_imports(alarm) for name, alarm in found.items()}


def _without_imports(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_imports(one) for one in value]
    if isinstance(value, dict):
        if set(value) == {"Fn::ImportValue"}:
            return "imported"
        return {name: _without_imports(one) for name, one in value.items()}
    return value


def test_every_alarm_on_our_own_metrics_names_one_that_the_log_tells() -> None:
    ours = [
        metric
        for alarm in alarms().values()
        for metric in _metrics(resolved(alarm, KNOWN))
        if metric["Namespace"] == "p-metrics"
    ]
    assert {metric["MetricName"] for metric in ours} == {
        "heartbeats_late_tracing",
        "heartbeat_lateness_seconds_tracing",
        "jobs_ended_worker_lost",
        "clock_skew_seconds",
        "queue_age_seconds_trace",
        "queue_age_seconds_inspect",
    }
    assert {metric["MetricName"] for metric in ours} <= told_to_cloudwatch()
    for metric in ours:
        (dimension,) = metric["Dimensions"]
        assert dimension["Name"] == "service"
        assert dimension["Value"] in ("web", "worker")


def test_the_service_tells_its_metrics_where_the_alarms_look_for_them() -> None:
    tasks = resources("service", "AWS::ECS::TaskDefinition")
    for name in ("WebTask", "WorkerTask"):
        (container,) = tasks[name]["ContainerDefinitions"]
        told = {one["Name"]: one["Value"] for one in container["Environment"]}
        assert told["TIPTRACE_EMF"] == "1"
        assert told["TIPTRACE_EMF_NAMESPACE"] == {"Fn::Sub": "${Prefix}metrics"}
        assert "TIPTRACE_LEASE_SECONDS" not in told, "the alarm on clocks is for the usual lease"
    assert alarms()["ClockSkew"]["Threshold"] == Settings.model_fields["lease_seconds"].default / 4
