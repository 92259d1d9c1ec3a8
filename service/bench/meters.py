"""What a service under load has used: processor seconds of its processes, and what it says that it has counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from service.bench.processor import Used, since, used_by
from service.bench.wire import Client, Unanswered, get

_SAMPLE = re.compile(r"^(\w+)\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class TargetFailed(Exception):
    """The service that was to be measured did not start, or does not say what it has counted."""


@dataclass(frozen=True, slots=True)
class Target:
    """`url`: where it answers. `data`: its data folder, None on AWS. `pid`: whose processes it is, if known."""

    url: str
    data: Path | None
    pid: int | None


@dataclass(frozen=True, slots=True)
class Meter:
    """What the service had used at one moment: processor seconds, requests answered by route, requests it made."""

    processors: Mapping[int, Used]
    answers: Counter[str]
    calls: Counter[str]


@dataclass(frozen=True, slots=True)
class Spending:
    """Between two moments: processor seconds of each process; how often each operation was asked for per answer.

    The process that told both of its counts is one of several where a service runs in several.
    """

    processors: Mapping[int, Used]
    calls_per_answer: Mapping[str, float]

    def seconds(self, role: str) -> float:
        return sum(one.seconds for one in self.processors.values() if one.role == role)


class Gauge:
    """Reads one target's meters, always over the same connection: its other end is always the same process."""

    def __init__(self, measured: Target) -> None:
        self._pid = measured.pid
        self._client = Client(measured.url)

    async def read(self) -> Meter:
        processors = used_by(self._pid) if self._pid else {}
        try:
            reply = await self._client.ask(get(self._client.host, "/metrics"))
        except Unanswered as fault:
            raise TargetFailed(f"The service does not tell its metrics ({fault}).") from None
        answers, calls = Counter[str](), Counter[str]()
        told_to_us = reply.body.decode() if reply.status == 200 else ""  # a proxy in front may keep it to itself
        for name, labels, value in _SAMPLE.findall(told_to_us):
            told = dict(_LABEL.findall(labels))
            if name == "tiptrace_http_requests_total":
                answers[told["route"]] += int(float(value))
            elif name == "tiptrace_store_calls_total":
                calls[f"{told['service']} {told['operation']}"] += int(float(value))
        return Meter(processors, answers, calls)

    async def keep(self) -> None:
        """Hold the connection, which a server ends after a minute of silence."""
        try:
            await self._client.ask(get(self._client.host, "/healthz"))
        except Unanswered as fault:
            raise TargetFailed(f"The service does not answer ({fault}).") from None

    def close(self) -> None:
        self._client.close()


def spent(before: Meter, now: Meter, routes: frozenset[str]) -> Spending:
    """`routes`: whose answers the calls are divided by."""
    answers = now.answers - before.answers
    count = sum(answers[route] for route in routes)
    calls = now.calls - before.calls
    return Spending(
        since(before.processors, now.processors),
        {name: round(number / count, 3) for name, number in sorted(calls.items())} if count else {},
    )
