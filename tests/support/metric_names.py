"""Which metrics, labels and values there are, to hold dashboards, alerts and alarms to the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import get_args

from prometheus_client.metrics import MetricWrapperBase

import service.usecases
from service import metrics
from service.domain.failures import SENTENCES
from service.domain.lease import Kind, State
from service.emf import SPLIT
from service.usecases.sweep import Swept
from service.web.app import bare_app

_USECASES = Path(service.usecases.__file__).parent
_SAMPLES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
_ADDED = {"job", "instance", "le"}
"""Labels that Prometheus or a histogram itself adds."""
VALUES: Mapping[str, set[str]] = {
    "kind": {"analysis", "tracing", *get_args(Kind)},
    "state": set(get_args(State)),
    "result": {"completed", *SENTENCES},
    "action": {"pass", *(field.name for field in fields(Swept))},
    "outcome": {"completed", "failed", "handed back", "lost"},
    "stage": {
        stage
        for file in _USECASES.glob("*_job*.py")
        for stage in re.findall(r'\bstage\("(\w+)"\)', file.read_text("utf-8"))
    },
    "status": {f"{n}xx" for n in range(1, 6)},
    "route": {rule.rule for rule in bare_app().url_map.iter_rules()},
}
"""Those labels whose values are a closed list, as it stands in the code."""


def families() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Kind and labels of every metric, by its name without a suffix."""
    every = [one for one in vars(metrics).values() if isinstance(one, MetricWrapperBase)]
    return {one._name: (one._type, tuple(one._labelnames)) for one in every}


def samples() -> dict[str, tuple[str, ...]]:
    """The labels of every name that a query may use."""
    return {name + end: labels for name, (kind, labels) in families().items() for end in _SAMPLES[kind]}


def told_to_cloudwatch() -> set[str]:
    """Every name under which something may be told in the embedded metric format."""
    found = set()
    for name, (kind, labels) in families().items():
        short = name.removeprefix("tiptrace_")
        label = SPLIT.get(short)
        assert label is None or label in labels, f"{short} has no label {label}"
        names = {f"{short}_{value}" for value in VALUES[label]} if label in VALUES else {short}
        found |= names
        if kind == "histogram":
            found |= {f"{one}_{end}" for one in names for end in ("count", "sum")}
    return found


def faults_of(query: str) -> list[str]:
    """What a query names that does not exist: metrics, labels in braces and after `by`, values of closed lists."""
    found, known = [], samples()
    named = re.findall(r"\b(tiptrace_\w+)(?:\{([^}]*)\})?", query)
    if not named:
        return [f"names no metric: {query}"]
    labels = set(_ADDED)
    for name, matchers in named:
        if name not in known:
            found.append(name)
            continue
        labels |= set(known[name])
        for label, operator, value in re.findall(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"', matchers):
            if label not in {*known[name], *_ADDED}:
                found.append(f"{name}{{{label}}}")
            elif operator in ("=", "!=") and label in VALUES and value not in VALUES[label]:
                found.append(f"{name}{{{label}={value}}}")
    for grouping in re.findall(r"\b(?:by|without)\s*\(([^)]*)\)", query):
        found += [f"by {label.strip()}" for label in grouping.split(",") if label.strip() not in labels]
    if any(query.count(a) != query.count(b) for a, b in ("()", "{}", "[]")):
        found.append(f"brackets: {query}")
    return found
