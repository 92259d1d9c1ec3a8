"""How often one may try: signing in, registering, asking for mail, guessing keys. Pages at work are never counted."""

from __future__ import annotations

import hashlib
import ipaddress
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from flask import Flask, Response, g, request
from flask_limiter import Limiter, RateLimitExceeded
from limits import parse
from werkzeug.exceptions import HTTPException

from service.domain.address import normal_email
from service.domain.errors import TiptraceError, TooMany
from service.web.fields import fields
from service.web.problems import envelope

WRONG_KEYS = "300 per minute"
"""Keys from one client address that are nobody's: a class whose keys have ended behind one address stays below it."""
_WAIT = 60

log = structlog.get_logger(__name__)


def client_network() -> str:
    """Whose attempts are counted together: an IPv4 address, or the /64 that one household has of IPv6."""
    shown = request.remote_addr or "unknown"
    try:
        address = ipaddress.ip_address(shown)
    except ValueError:
        return shown
    if address.version == 4:
        return shown
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def person_asked_for() -> str:
    """The e-mail address in the request, so hashed that no counter and no log names anybody; empty if there is none."""
    try:
        email = normal_email(str(fields().get("email") or ""))
    except (TiptraceError, HTTPException):  # the view will say so; whatever is raised here passes for a broken storage
        email = ""
    return hashlib.sha256(email.encode()).hexdigest()[:32] if email else ""


def _was_refused(answer: Response) -> bool:
    return answer.status_code == 403 or g.get("refused_link", False)


def _is_empty(name: Callable[[], str]) -> bool:
    return not name()


@dataclass(frozen=True, slots=True)
class Rule:
    """`often`: in the words of flask-limiter. `failures`: only answers that refuse what was tried are counted."""

    endpoint: str
    often: str
    per: Callable[[], str] = client_network
    failures: bool = False


RULES = (
    # A lecture hall behind one address may come in within a minute; nobody guesses a link or a course key this way.
    Rule("people.enter", "300 per minute"),
    Rule("people.enter", "60 per minute", failures=True),
    Rule("registration.register", "300 per minute; 1000 per hour"),
    Rule("registration.register", "60 per minute; 300 per hour", failures=True),
    Rule("registration.register", "5 per minute; 20 per hour", person_asked_for),
    Rule("registration.resend_link", "120 per minute; 600 per hour"),
    Rule("registration.resend_link", "3 per minute; 12 per hour", person_asked_for),
    Rule("registration.bulk_register", "20 per minute"),
)


def install(app: Flask, storage_url: str) -> None:
    """Put the rules over their views. Raises limits.errors.ConfigurationError for a storage that cannot be used.

    They are checked in the request's own thread, where a shared storage may be waited for. If it fails, this process
    counts for itself until it answers again.
    """
    limiter = Limiter(
        client_network,
        app=app,
        storage_uri=storage_url,
        strategy="fixed-window",
        in_memory_fallback_enabled=True,
        swallow_errors=True,  # counting is no reason to answer 500
        key_prefix="tiptrace",
    )
    for rule in RULES:
        limited = limiter.limit(
            rule.often,
            key_func=rule.per,
            scope=f"{rule.per.__name__}-{'failures' if rule.failures else 'all'}",
            deduct_when=_was_refused if rule.failures else None,
            exempt_when=partial(_is_empty, rule.per),
        )
        view: Any = app.view_functions[rule.endpoint]
        app.view_functions[rule.endpoint] = limited(view)

    wrong_keys = parse(WRONG_KEYS)

    @app.after_request
    def count_wrong_keys(answer: Response) -> Response:
        """A key that is nobody's is logged, without itself, and counted; whoever has a valid one is never held up."""
        if not g.get("refused_key", False):
            return answer
        counted = (wrong_keys, "tiptrace-wrong-key", client_network())
        try:
            within = limiter.limiter.hit(*counted)
            reset = limiter.limiter.get_window_stats(*counted).reset_time
        except Exception:  # whatever a shared storage raises: the key is refused as it is
            log.exception("rate_limit_storage_failed")
            return answer
        log.warning("key_refused" if within else "too_many_wrong_keys", ipaddr=client_network())
        return answer if within else _too_many(reset)

    @app.errorhandler(RateLimitExceeded)
    def refused(_: RateLimitExceeded) -> Response:
        limit = limiter.current_limit
        log.warning("too_many_tries", ipaddr=client_network(), limit=str(limit.limit) if limit else None)
        reset = time.time() + _WAIT
        with suppress(Exception):  # the storage may have gone since
            reset = limit.reset_at if limit else reset
        return _too_many(reset)


def _too_many(reset: float) -> Response:
    wait = max(1, int(reset - time.time() + 0.999))
    structlog.contextvars.bind_contextvars(code=TooMany.code)
    return envelope(429, TooMany.code, TooMany().message, {"Retry-After": str(wait)})
