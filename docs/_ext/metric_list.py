"""The metrics, as `service.metrics` has them."""

from __future__ import annotations

from collections.abc import Iterator

from pieces import code, plain, table
from prometheus_client import Counter, Gauge, Histogram

from service import metrics as counted


def metrics() -> str:
    """A table of every metric under the name that `/metrics` shows."""
    rows = [
        (code(name), kind, ", ".join(map(code, labels)), plain(said)) for name, kind, labels, said in every_metric()
    ]
    return table(("metric", "kind", "labels", "what it counts"), rows)


def every_metric() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Name, kind, labels and meaning."""
    for one in vars(counted).values():
        if isinstance(one, Counter | Gauge | Histogram):
            (told,) = one.describe()
            name = f"{told.name}_total" if told.type == "counter" else told.name
            yield name, told.type, tuple(one._labelnames), told.documentation
