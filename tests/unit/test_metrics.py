"""What a client may say of itself is bounded, and what is counted is exposed."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

import frontend
from service import metrics
from service.metrics_server import CannotListen, metrics_served

ALL = [value for value in vars(metrics).values() if isinstance(value, MetricWrapperBase)]


@pytest.mark.parametrize(
    ("said", "label"),
    [(None, "none"), ("", "none"), (" ", "none"), ("page-1", "page-1"), (" Page-1 ", "page-1"), ("x" * 5000, "other")],
)
def test_a_clients_version_becomes_a_known_word(said: str | None, label: str) -> None:
    assert metrics.caller(said, None) == {"client_version": label, "retry_reason": "none"}


@pytest.mark.parametrize(
    ("said", "label"), [(None, "none"), ("network", "network"), ("Timeout ", "timeout"), ("because", "other")]
)
def test_a_retry_reason_becomes_a_known_word(said: str | None, label: str) -> None:
    assert metrics.caller(None, said) == {"client_version": "none", "retry_reason": label}


def test_the_pages_own_name_for_itself_is_known() -> None:
    scripts = Path(frontend.__file__).parent.rglob("*.js")
    named = [
        name for script in scripts for name in re.findall(r"CLIENT_VERSION = '([^']+)'", script.read_text("utf-8"))
    ]
    assert len(named) == 1
    assert named[0] in metrics.CLIENT_VERSIONS


def test_a_caller_fits_every_metric_that_is_segmented_by_it() -> None:
    segmented = [metric for metric in ALL if "client_version" in metric._labelnames]
    assert len(segmented) == 5
    for metric in segmented:
        other = {name: "trace" for name in metric._labelnames if name not in metrics.caller(None, None)}
        metric.labels(**metrics.caller("page-1", "reload"), **other)


def test_what_is_counted_is_exposed_under_one_prefix() -> None:
    labels = {"kind": "trace", **metrics.caller("page-1", "timeout")}
    before = metrics.REGISTRY.get_sample_value("tiptrace_jobs_admitted_total", labels) or 0.0
    metrics.JOBS_CREATED.labels(**labels).inc()
    metrics.QUEUE_WAIT.labels(kind="trace").observe(42)
    text, content_type = metrics.exposition()
    parsed = list(text_string_to_metric_families(text.decode()))
    families = {family.name: family for family in parsed if not family.name.endswith("_created")}
    assert content_type.startswith("text/plain")
    assert len(families) == len(ALL)
    assert all(name.startswith("tiptrace_") for name in families)
    (sample,) = [
        s for s in families["tiptrace_jobs_admitted"].samples if s.name.endswith("_total") and s.labels == labels
    ]
    assert sample.value == before + 1
    assert families["tiptrace_queue_wait_seconds"].type == "histogram"
    assert all(family.documentation for family in families.values())


def test_an_answer_is_counted_by_its_status_and_timed_by_its_class() -> None:
    def counted() -> tuple[float, float]:
        labels = {"route": "/of/a/test", "status": "404"}
        times = {"route": "/of/a/test", "status": "4xx"}
        return (
            metrics.REGISTRY.get_sample_value("tiptrace_http_requests_total", labels) or 0.0,
            metrics.REGISTRY.get_sample_value("tiptrace_http_request_seconds_sum", times) or 0.0,
        )

    before = counted()
    metrics.answered("/of/a/test", 404, 0.25)
    metrics.answered("/of/a/test", 404, 0.5)
    assert (counted()[0] - before[0], counted()[1] - before[1]) == (2, 0.75)


def test_the_metrics_of_a_process_without_pages_are_reached_over_a_port_of_their_own() -> None:
    with metrics_served("127.0.0.1", 0) as address:
        metrics.SWEEPS.labels(action="pass").inc()
        assert 'tiptrace_sweeps_total{action="pass"}' in httpx.get(address).text
        port = int(address.split(":")[2].partition("/")[0])
        with pytest.raises(CannotListen, match=rf"Metrics cannot be served at 127.0.0.1:{port}"):
            metrics_served("127.0.0.1", port).__enter__()
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)


def test_wait_buckets_reach_beyond_a_default_lease() -> None:
    name = "tiptrace_heartbeat_lateness_seconds_bucket"
    before = {
        le: metrics.REGISTRY.get_sample_value(name, {"kind": "tracing", "le": le}) or 0 for le in ("900.0", "1800.0")
    }
    metrics.HEARTBEAT_LATENESS.labels(kind="tracing").observe(1000)
    after = {le: metrics.REGISTRY.get_sample_value(name, {"kind": "tracing", "le": le}) or 0 for le in before}
    assert (after["900.0"] - before["900.0"], after["1800.0"] - before["1800.0"]) == (0, 1)
