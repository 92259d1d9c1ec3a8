"""One log line and one count per answer, under ids that everything logged on the way carries too."""

from __future__ import annotations

import re
import time

import structlog
from flask import Flask, Response, g, request

from service import metrics
from service.domain.ids import Ids

_REQUEST_ID = re.compile(r"[0-9A-Za-z._-]{8,64}\Z")
_UNMATCHED = "(none)"
_PROBES = ("/healthz", "/readyz", "/metrics", "/resize-api/v1/ping")

log = structlog.get_logger(__name__)


def install(app: Flask) -> None:
    """Must come before anything else that looks at requests."""
    ids = Ids()

    @app.before_request
    def begin() -> None:
        g.began = time.perf_counter()
        offered = request.headers.get("X-Request-Id", "")
        g.request_id = offered if _REQUEST_ID.fullmatch(offered) else ids.token()
        page = request.headers.get("X-Page-Id", "")
        told = {"page_id": page} if _REQUEST_ID.fullmatch(page) else {}
        structlog.contextvars.bind_contextvars(request_id=g.request_id, method=request.method, route=_route(), **told)

    @app.after_request
    def end(answer: Response) -> Response:
        seconds = time.perf_counter() - g.get("began", time.perf_counter())
        answer.headers["X-Request-Id"] = g.get("request_id", "")
        route = _route()
        metrics.answered(route, answer.status_code, seconds)
        # Pages ask by the thousand whether anything is new, and mostly nothing is: the counters tell that.
        quiet = answer.status_code == 304 or route in _PROBES
        say = log.debug if quiet else log.info
        # The path without its query: a query may hold a key or a sign-in token.
        say("request", path=request.path[:200], status=answer.status_code, ms=round(1000 * seconds, 1))
        return answer


def _route() -> str:
    """The rule that matched, not the path: there are only so many of them."""
    return request.url_rule.rule if request.url_rule else _UNMATCHED
