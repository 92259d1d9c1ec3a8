"""What pages, jobs and movies need, by the service's own arithmetic."""

from __future__ import annotations

from dataclasses import asdict

from pieces import code, table

from service.bench.capacity import MEASURED, PRICES, Cost, demand, limits, movies_cost
from service.cli.bench_capacity import WORDS, rounded

SIZES = ((10, 1), (1000, 100), (100_000, 10_000))
_DEEDS = {
    "poll": "a poll of a page",
    "authentication": "whose key this is, once in 5 s",
    "acquire": "taking the editing lease",
    "heartbeat": "its heartbeat",
    "edit": "placing a frame's markers",
    "submit": "asking for a trace",
    "inspection": "an inspection, by the worker",
    "trace": "a trace, by the worker",
}
_LIMITS = {
    "one_movie": "pages that watch one movie's trace, if they shared no read",
    "one_course": "pages that edit movies of one course",
    "jobs": "traces at once, before the table of frames asks for a larger quota",
    "frames_a_second": "frames a second that one trace may store",
}
_DOLLARS = {
    "database": "DynamoDB, on demand",
    "queue": "SQS",
    "storage_requests": "S3 requests",
    "storage": "S3, six months",
    "traffic": "movies, pictures and results sent to people once",
    "processor": "Fargate, while it works",
    "all": "in all",
}


def needs() -> str:
    """A column for each size."""
    found = [demand(pages, jobs) for pages, jobs in SIZES]
    head = ("", *(f"{pages:,} pages, {jobs:,} traces" for pages, jobs in SIZES))
    return table(head, ((words, *(rounded(one[name]) for one in found)) for name, words in WORDS.items()))


def deeds() -> str:
    """A row for each deed that was measured."""
    rows = []
    for name, words in _DEEDS.items():
        cost: Cost = getattr(MEASURED, name)
        cells = (cost.calls, cost.read, cost.write, cost.index, cost.storage, cost.processor_seconds)
        rows.append((words, *(f"{cell:.3g}" if cell else "" for cell in cells)))
    head = ("deed", "database calls", "read units", "write units", "of indexes", "S3 requests", "processor seconds")
    return table(head, rows)


def bounds() -> str:
    found = limits()
    return table(("at most", "of what"), ((f"{found[name]:,.0f}", words) for name, words in _LIMITS.items()))


def dollars() -> str:
    found = movies_cost(1000)
    return table(("US dollars", "for"), ((f"{found[name]:.2f}", words) for name, words in _DOLLARS.items()))


def prices() -> str:
    return table(("price", "US dollars"), ((code(name), f"{value:g}") for name, value in asdict(PRICES).items()))
