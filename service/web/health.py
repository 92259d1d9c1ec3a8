"""Is it alive, can it work, what is it, and what has it counted?"""

from __future__ import annotations

from flask import Blueprint, Response

from service import metrics
from service.domain.errors import StoreUnavailable
from service.web.context import web
from service.web.problems import RETRY_SECONDS, envelope
from service.web.release import RELEASE
from service.web.render import said

health = Blueprint("health", __name__)


class PartDown(StoreUnavailable):
    """A part of the service does not answer. Try again in a few seconds."""

    code = "part_down"


class Stopping(StoreUnavailable):
    """This process is about to stop, and others go on. Try again in a few seconds."""

    code = "stopping"


@health.get("/healthz")
async def healthz() -> Response:
    """This process answers; says nothing of what it depends on, so that a broken database restarts nobody."""
    return said(status="ok")


@health.get("/readyz")
async def readyz() -> Response:
    """200 if every dependency answers, else 503 with each one's state; 503 too once this process is to stop.

    Tells too by how much our clock is ahead of the database's.
    """
    runtime = web().runtime
    if runtime.stopping.is_set():
        return envelope(503, Stopping.code, Stopping().message, {"Retry-After": str(RETRY_SECONDS)})
    found = await runtime.health()
    skew = runtime.skew.estimate()
    ahead = round(skew.seconds, 2) if skew else None
    if all(found.values()):
        return said(status="ok", dependencies=found, clock_skew_seconds=ahead)
    missing = ", ".join(sorted(name for name, answers in found.items() if not answers))
    return envelope(
        503,
        PartDown.code,
        f"These parts of the service do not answer: {missing}.",
        {"Retry-After": str(RETRY_SECONDS)},
        dependencies=found,
        clock_skew_seconds=ahead,
    )


@health.get("/metrics")
def prometheus() -> Response:
    """In the request's own thread: thousands of lines are written, and the loop has polls to answer."""
    body, kind = metrics.exposition()
    return Response(body, content_type=kind, headers={"Cache-Control": "no-store"})


@health.route("/api/ver", methods=["GET", "POST"])
async def ver() -> Response:
    return said(name="tiptrace", version=RELEASE)


@health.get("/resize-api/v1/ping")
async def ping() -> Response:
    return said(message="pong", version=RELEASE)
