"""Every number this service counts: one Prometheus registry, and the only place where a metric is named.

Label values come from bounded sets, because each combination is kept for the life of the process: routes are rule
names, reasons and stages are codes from the domain's closed lists, and what a client says of itself goes through
`caller`, which turns everything unknown into `other`. Jobs per accepted request is a ratio of two of the counters.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from service.shared_counts import whole

REGISTRY = CollectorRegistry(auto_describe=True)

# What our own clients call themselves; a client that changes how it repeats requests takes the next number here.
CLIENT_VERSIONS = ("none", "page-1", "demo-1", "bench-1", "other")
RETRY_REASONS = ("none", "network", "timeout", "unavailable", "throttled", "reload", "other")
_CALLER = ("client_version", "retry_reason")

_REPLY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
# Up to several lease durations (900 s by default): these distributions tell whether that duration is right.
_WAIT_BUCKETS = (0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600)
_AGE_BUCKETS = (1, 5, 30, 120, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)


def _counter(name: str, meaning: str, *labels: str) -> Counter:
    return Counter(f"tiptrace_{name}", meaning, labels, registry=REGISTRY)


def _histogram(name: str, meaning: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(f"tiptrace_{name}_seconds", meaning, labels, registry=REGISTRY, buckets=buckets)


def _gauge(name: str, meaning: str, *labels: str) -> Gauge:
    # Of several processes that share one page of metrics, the one that looked last is right.
    return Gauge(f"tiptrace_{name}", meaning, labels, registry=REGISTRY, multiprocess_mode="livemostrecent")


HTTP_REQUESTS = _counter("http_requests", "Answers, by the rule that matched and the status", "route", "status")
HTTP_SECONDS = _histogram(
    "http_request", "From a request's arrival to its answer, by class of status: 2xx", _REPLY_BUCKETS, "route", "status"
)

LEASES_GRANTED = _counter("leases_granted", "Leases given out, by kind: analysis or tracing", "kind")
LEASES_REFUSED = _counter("leases_refused", "Leases asked for and not given, by reason code", "kind", "reason")
LEASES_LOST = _counter("leases_lost", "Leases whose holder learned, on renewing or writing, that they are gone", "kind")
HEARTBEATS_LATE = _counter("heartbeats_late", "Renewals that failed, or came more than an interval late", "kind")
HEARTBEAT_LATENESS = _histogram(
    "heartbeat_lateness", "How much later than due a renewal was made", _WAIT_BUCKETS, "kind"
)
SWEEPS = _counter("sweeps", "Acts of the sweeper, by what it did; pass counts its passes", "action")

REQUESTS_ACCEPTED = _counter("requests_accepted", "Submit intents that got a new receipt", "kind", *_CALLER)
DUPLICATE_ARRIVALS = _counter("duplicate_arrivals", "Submits answered from an existing receipt", *_CALLER)
KEY_REUSE_REFUSED = _counter("request_key_reuse_refused", "Request keys used again for something else", *_CALLER)
JOBS_CREATED = _counter("jobs_admitted", "Jobs created by a new receipt", "kind", *_CALLER)
RETRY_AGE = _histogram("retry_age", "Age of a receipt when its request arrived again", _AGE_BUCKETS, *_CALLER)
RECEIPTS_RETIRED = _counter("receipts_retired", "Receipts past their time whose key was taken by a new request")

JOBS_ENDED = _counter(
    "jobs_ended", "Jobs that ended, by result: completed, or the code of the failure", "kind", "result"
)
for _kind in ("trace", "inspect"):
    for _result in ("completed", "worker_lost", "internal"):
        JOBS_ENDED.labels(_kind, _result)  # the first one is a rise too, which it is not from nothing
ATTEMPTS = _counter("worker_attempts", "Times a worker began a stage of a job", "stage")
FRAMES_TRACED = _counter("frames_traced", "Frames computed and stored")
FRAMES_RETRACED = _counter("frames_traced_again", "Of these, frames computed more than once for one job")
ARTIFACT_BYTES = _counter(
    "artifact_bytes", "Bytes of results stored, by class: labelled, archive, checkpoint", "artifact"
)
STORE_CALLS = _counter("store_calls", "Requests to database, storage and queue", "service", "operation")
CACHE_WRITES = _counter("cache_writes", "Entries put into a cache of this process: keys, directories, polls", "cache")
CACHE_EVICTIONS = _counter("cache_evictions", "Entries dropped from a full cache of this process", "cache")
JOB_SECONDS = _histogram("job", "From claim to the published end", _WAIT_BUCKETS, "kind", "outcome")
STAGE_SECONDS = _histogram("stage", "One stage of a job", _WAIT_BUCKETS, "stage")
QUEUE_WAIT = _histogram("queue_wait", "From a job's admission or hand-back to its claim", _WAIT_BUCKETS, "kind")

QUEUE_AGE = _gauge("queue_age_seconds", "How long the job that waits longest has waited; 0 if none waits", "kind")
JOBS = _gauge("jobs", "Jobs that wait (queued) or are worked on (running); a hundred are looked at", "kind", "state")
CLOCK_SKEW = _gauge("clock_skew_seconds", "By how much this machine's clock is ahead of the database's")
CLOCK_SKEW_WITHIN = _gauge("clock_skew_within_seconds", "How far the truth may lie from clock_skew_seconds")
LEASE_SECONDS = _gauge("lease_seconds", "The setting TIPTRACE_LEASE_SECONDS (D), beside what is judged by it")
HEARTBEAT_SECONDS = _gauge("heartbeat_seconds", "The setting TIPTRACE_HEARTBEAT_SECONDS (H)")
SWEEP_SECONDS = _gauge("sweep_seconds", "The setting TIPTRACE_SWEEP_SECONDS")

UNMATCHED = "(none)"
"""The `route` of requests that no rule matched."""
_answers: dict[tuple[str, int], tuple[Callable[[], None], Callable[[float], None]]] = {}


def answered(route: str, status: int, seconds: float) -> None:
    """Count one answer. `route`: a rule's name, never a path. Looking labels up costs more than counting, so it is
    done once for each route and status.
    """
    known = _answers.get((route, status))
    if known is None:
        count = HTTP_REQUESTS.labels(route, str(status)).inc
        observe = HTTP_SECONDS.labels(route, f"{status // 100}xx").observe
        known = _answers[route, status] = (count, observe)
    known[0]()
    known[1](seconds)


def refused(status: int) -> None:
    """Count an answer that no route gave: the service was full, the body too large, or the application broke."""
    HTTP_REQUESTS.labels(UNMATCHED, str(status)).inc()


def caller(client_version: str | None, retry_reason: str | None) -> dict[str, str]:
    """Bounded labels from the headers `X-Client-Version` and `X-Retry-Reason`, either of which may be absent."""
    return {
        "client_version": _one_of(CLIENT_VERSIONS, client_version),
        "retry_reason": _one_of(RETRY_REASONS, retry_reason),
    }


def _one_of(known: tuple[str, ...], said: str | None) -> str:
    word = (said or "").strip().lower() or "none"
    return word if word in known else "other"


def exposition() -> tuple[bytes, str]:
    """Everything counted so far as Prometheus reads it, and its content type."""
    return generate_latest(whole(REGISTRY)), CONTENT_TYPE_LATEST
