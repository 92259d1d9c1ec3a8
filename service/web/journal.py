"""One log line and one count per answer, under ids that everything logged on the way carries too."""

from __future__ import annotations

import re
import time

import structlog
from flask import Flask, Request, Response, g, request

from service import metrics
from service.domain.ids import Ids

_REQUEST_ID = re.compile(r"[0-9A-Za-z._-]{8,64}\Z")
_PROBES = ("/healthz", "/readyz", "/metrics", "/resize-api/v1/ping")

log = structlog.get_logger(__name__)


def install(app: Flask) -> None:
    """Must come before anything else that looks at requests."""
    ids = Ids()

    @app.before_request
    def begin() -> None:
        asked = request._get_current_object()  # type: ignore[attr-defined]  # each look through the proxy costs
        g.began = time.perf_counter()
        offered = asked.headers.get("X-Request-Id", "")
        g.request_id = offered if _REQUEST_ID.fullmatch(offered) else ids.token()
        page = asked.headers.get("X-Page-Id", "")
        told = {"page_id": page} if _REQUEST_ID.fullmatch(page) else {}
        structlog.contextvars.bind_contextvars(
            request_id=g.request_id, method=asked.method, route=_route(asked), **told
        )

    @app.after_request
    def end(answer: Response) -> Response:
        asked = request._get_current_object()  # type: ignore[attr-defined]
        seconds = time.perf_counter() - g.get("began", time.perf_counter())
        answer.headers["X-Request-Id"] = g.get("request_id", "")
        route = _route(asked)
        metrics.answered(route, answer.status_code, seconds)
        # Pages ask by the thousand whether anything is new, and mostly nothing is: the counters tell that.
        if answer.status_code != 304 and route not in _PROBES:
            # The path without its query: a query may hold a key or a sign-in token.
            log.info("request", path=asked.path[:200], status=answer.status_code, ms=round(1000 * seconds, 1))
        return answer


def _route(asked: Request) -> str:
    """The rule that matched, not the path: there are only so many of them."""
    return asked.url_rule.rule if asked.url_rule else metrics.UNMATCHED
