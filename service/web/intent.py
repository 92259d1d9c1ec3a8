"""What names a submit intent: its request key, its digest's input, and where it came from."""

from __future__ import annotations

from typing import Any

import structlog
from flask import request

from service import metrics
from service.domain.errors import InvalidParameter
from service.domain.receipt import checked_key
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


def sent() -> dict[str, Any]:
    """The fields as the client sent them; what it left out stays out. Credentials and the key itself are no input."""
    return {name: value for name, value in fields().items() if name not in _NOT_INPUT}


def client() -> dict[str, str]:
    """What the client says of itself and of why it repeats, each from a bounded set; also bound to the log."""
    said = metrics.caller(request.headers.get("X-Client-Version"), request.headers.get("X-Retry-Reason"))
    structlog.contextvars.bind_contextvars(**said)
    return said
