"""How often the database, the storage and the queue are asked: what a page or a job costs is counted in these."""

from __future__ import annotations

from typing import Any

from service import metrics


def count_calls(client: Any) -> None:
    """From now on every request that this client sends is counted, repetitions too."""
    client.meta.events.register("before-call", _count)


def _count(model: Any, **_of_the_event: Any) -> None:
    metrics.STORE_CALLS.labels(service=model.service_model.service_name, operation=model.name).inc()
