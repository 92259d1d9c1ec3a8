"""How often one may try: signing in, registering, asking for mail, guessing keys. Pages at work are never counted."""

from __future__ import annotations

import hashlib
import ipaddress
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any

import structlog
from flask import Flask, Response, g, request
from limits import RateLimitItem, parse, parse_many
from limits.aio.storage import MemoryStorage, Storage
from limits.aio.strategies import FixedWindowRateLimiter
from limits.storage import storage_from_string
from werkzeug.exceptions import HTTPException

from service.domain.address import normal_email
from service.domain.errors import NotAllowed, TiptraceError, TooMany
from service.web.fields import fields

WRONG_KEYS = "300 per minute"
"""Keys from one client address that are nobody's: a class whose keys have ended behind one address stays below it."""
_NAME = "tiptrace"

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
    """The e-mail address in the request, so hashed that no counter and no log names anybody; empty, and counted
    for nobody, if there is none."""
    try:
        email = normal_email(str(fields().get("email") or ""))
    except (TiptraceError, HTTPException):  # the view will say so; whatever is raised here passes for a broken storage
        email = ""
    return hashlib.sha256(email.encode()).hexdigest()[:32] if email else ""


@dataclass(frozen=True, slots=True)
class Rule:
    """`often`: in the words of `limits`. `failures`: only answers that refuse what was tried are counted."""

    endpoint: str
    often: str
    per: Callable[[], str] = client_network
    failures: bool = False

    def counters(self) -> list[Counter]:
        scope = f"{self.endpoint}-{self.per.__name__}-{'failures' if self.failures else 'all'}"
        return [Counter(limit, scope, self.per) for limit in parse_many(self.often)]


@dataclass(frozen=True, slots=True)
class Counter:
    limit: RateLimitItem
    scope: str
    per: Callable[[], str]

    def whose(self) -> tuple[RateLimitItem, str, str] | None:
        """Where this request is counted; None if it is nobody's."""
        name = self.per()
        return (self.limit, self.scope, name) if name else None


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


class Attempts:
    """Counts tries in fixed windows, in this process or in a storage that several machines share.

    A storage that fails keeps nobody out: this process then counts for itself.
    """

    def __init__(self, storage_url: str) -> None:
        """Raises limits.errors.ConfigurationError for a storage that cannot be used."""
        self.storage = _storage(storage_url)
        self._shared = FixedWindowRateLimiter(self.storage)
        self._own = FixedWindowRateLimiter(MemoryStorage())
        self._wrong_keys = parse(WRONG_KEYS)

    async def within(self, limit: RateLimitItem, *whose: str) -> bool:
        """Count one more; False if it is one too many."""
        return await self._ask(FixedWindowRateLimiter.hit, limit, *whose)

    async def would_be_within(self, limit: RateLimitItem, *whose: str) -> bool:
        """Would one more be within the limit? Counts nothing."""
        return await self._ask(FixedWindowRateLimiter.test, limit, *whose)

    async def refusal(self, limit: RateLimitItem, *whose: str) -> TooMany:
        """The refusal, with the seconds until the window ends."""
        reset = time.time() + limit.get_expiry()
        with suppress(Exception):  # the storage may have gone since
            reset = (await self._shared.get_window_stats(limit, _NAME, *whose)).reset_time
        return TooMany(retry_after=max(1, int(reset - time.time() + 0.999)))

    async def _ask(self, verb: Callable[..., Awaitable[bool]], limit: RateLimitItem, *whose: str) -> bool:
        try:
            return await verb(self._shared, limit, _NAME, *whose)
        except Exception:  # whatever a shared storage raises; counting is no reason to answer 500
            log.exception("rate_limit_storage_failed")
            return await verb(self._own, limit, _NAME, *whose)

    async def wrong_key(self) -> TooMany | None:
        """A key that is nobody's is logged, without itself, and counted; whoever has a valid one is never held up."""
        network = client_network()
        within = await self.within(self._wrong_keys, "wrong-key", network)
        log.warning("key_refused" if within else "too_many_wrong_keys", ipaddr=network)
        return None if within else await self.refusal(self._wrong_keys, "wrong-key", network)


def _storage(url: str) -> Storage:
    if url.startswith("memory:"):
        return MemoryStorage()
    scheme, found = url.partition(":")[0], {}
    if scheme.startswith("redis"):
        found = {"implementation": "redispy"}
    return storage_from_string(f"async+{url}", **found)  # type: ignore[return-value]


def install(app: Flask, attempts: Attempts) -> None:
    """Put the rules over their views."""
    for endpoint in {rule.endpoint for rule in RULES}:
        rules = [rule for rule in RULES if rule.endpoint == endpoint]
        view: Any = app.view_functions[endpoint]
        app.view_functions[endpoint] = _limited(view, rules, attempts)


def _limited(
    view: Callable[..., Awaitable[Response]], rules: list[Rule], attempts: Attempts
) -> Callable[..., Awaitable[Response]]:
    tries = [counter for rule in rules if not rule.failures for counter in rule.counters()]
    failures = [counter for rule in rules if rule.failures for counter in rule.counters()]

    async def check(counters: list[Counter], ask: Callable[..., Awaitable[bool]]) -> None:
        for counter in counters:
            if (whose := counter.whose()) and not await ask(*whose):
                log.warning("too_many_tries", ipaddr=client_network(), limit=str(counter.limit))
                raise await attempts.refusal(*whose)

    async def failed() -> None:
        for counter in failures:
            if whose := counter.whose():
                await attempts.within(*whose)

    @wraps(view)
    async def limited(*args: Any, **kwargs: Any) -> Response:
        await check(failures, attempts.would_be_within)
        await check(tries, attempts.within)
        try:
            answer = await view(*args, **kwargs)
        except NotAllowed:
            await failed()
            raise
        if g.get("refused_link", False):
            await failed()
        return answer

    return limited
