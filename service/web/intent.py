"""What names a submit intent: its request key, its digest's input, and where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from flask import g, request

from service import metrics
from service.domain.access import Actor
from service.domain.errors import Conflict, InvalidParameter, KeyReused
from service.domain.receipt import Intent, Sender, checked_key
from service.web.context import stores
from service.web.fields import fields

_NOT_INPUT = frozenset({"api_key", "request_key", "analysis_lease_id", "course_id"})


def request_key() -> str:
    """From header `Idempotency-Key` or field `request_key`; without either the server makes one.

    Raises InvalidParameter if it is malformed, or if both are there and differ.
    """
    header = request.headers.get("Idempotency-Key")
    field = fields().get("request_key")
    if header is not None and field is not None and header != field:
        raise InvalidParameter("request_key", "differs from the header Idempotency-Key")
    sent = field if header is None else header
    return stores().ids.token() if sent is None else checked_key(sent)


def of(actor: Actor) -> Intent | None:
    """The intent of a write that need not carry a key; None without one. Raises InvalidParameter."""
    if request.headers.get("Idempotency-Key") is None and fields().get("request_key") is None:
        return None
    return Intent(actor.user_id, request_key(), sent())


def sent() -> dict[str, Any]:
    """The fields as the client sent them; what it left out stays out. Credentials and the key itself are no input."""
    return {name: value for name, value in fields().items() if name not in _NOT_INPUT}


@contextmanager
def counted(sender: Sender) -> Iterator[None]:
    """Count a request key that is refused because it stood for something else."""
    try:
        yield
    except KeyReused:
        metrics.KEY_REUSE_REFUSED.labels(**sender.labels).inc()
        raise


@contextmanager
def refusals(kind: str) -> Iterator[None]:
    """Count a lease (`analysis`, `tracing`) that is refused because of the movie's state."""
    try:
        yield
    except Conflict as refusal:
        metrics.LEASES_REFUSED.labels(kind, refusal.code).inc()
        raise


def accepted(kind: str, sender: Sender, *, retired: bool = False) -> None:
    """A new receipt; with `retired` it took the place of one past its time."""
    metrics.REQUESTS_ACCEPTED.labels(kind=kind, **sender.labels).inc()
    if retired:
        metrics.RECEIPTS_RETIRED.inc()


def repeated(sender: Sender, created_at: int) -> None:
    """An intent that has its receipt already; `created_at` (epoch seconds) is that receipt's."""
    metrics.DUPLICATE_ARRIVALS.labels(**sender.labels).inc()
    metrics.RETRY_AGE.labels(**sender.labels).observe(max(0, stores().clock.now() - created_at))


def sender() -> Sender:
    """What the client says of itself and of why it repeats, each from a bounded set; also bound to the log."""
    said = metrics.caller(request.headers.get("X-Client-Version"), request.headers.get("X-Retry-Reason"))
    structlog.contextvars.bind_contextvars(**said)
    return Sender(request_id=g.request_id, **said)
