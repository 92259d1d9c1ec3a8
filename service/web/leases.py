"""The editing lease of one page: acquire, heartbeat, release."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from service import metrics
from service.domain.errors import BeingEdited, BeingTraced, LeaseLost, NoRight
from service.domain.policy import PAGE_BEAT_SECONDS
from service.usecases import analysis_lease
from service.usecases.read_movie import analysis_lock, tracking_lock
from service.web import intent
from service.web.auth import caller
from service.web.context import stores, web
from service.web.render import said
from service.web.schemas import Acquire, HeldLease, parsed

_GRANTED = metrics.LEASES_GRANTED.labels(kind="analysis")
_LATE = metrics.HEARTBEATS_LATE.labels(kind="analysis")
_LATENESS = metrics.HEARTBEAT_LATENESS.labels(kind="analysis")
_LOST = metrics.LEASES_LOST.labels(kind="analysis")

leases = Blueprint("leases", __name__, url_prefix="/api")


@leases.post("/acquire-movie-analysis-lease")
async def acquire() -> Response:
    actor, asked = await caller(), parsed(Acquire)
    with intent.refusals("analysis"):
        got = await analysis_lease.acquire(
            stores(),
            actor,
            asked.movie_id,
            course_id=asked.course_id,
            request_key=asked.lease_request_key,
            former_lease_id=asked.analysis_lease_id,
            take_over=asked.take_over,
            ipaddr=request.remote_addr,
        )
    now = stores().clock.now()
    if got.lease:
        _GRANTED.inc()
        lease = got.lease
        lock = {
            "active": True,
            "owned": True,
            "own_user": True,
            "acquired_at": lease.started_at,
            "expires_at": lease.expires_at,
            "started_by_user_name": lease.user_name,
        }
        idle = web().runtime.settings.page_idle_minutes * 60
        return said(movie_id=asked.movie_id, lease_id=lease.lease_id, analysis_lock=lock, idle_seconds=idle)
    assert got.movie is not None
    told: dict[str, Any] = {"analysis_lock": analysis_lock(got.movie, now, actor, asked.analysis_lease_id)}
    tracing = tracking_lock(got.movie, now)
    if tracing:
        told["tracking_lock"] = tracing
    reason = BeingTraced if tracing else BeingEdited if told["analysis_lock"] else NoRight
    metrics.LEASES_REFUSED.labels("analysis", reason.code).inc()
    return said(movie_id=asked.movie_id, lease_id=None, message=got.message, **told)


@leases.post("/heartbeat-movie-analysis-lease")
async def heartbeat() -> Response:
    """A lost lease is an answer, not an error: a page must be able to tell it from a server that it cannot reach."""
    actor, asked = await caller(), parsed(HeldLease)
    beat = await analysis_lease.heartbeat(stores(), actor, asked.movie_id, asked.analysis_lease_id or "")
    if beat.active:
        late = beat.seconds_since - PAGE_BEAT_SECONDS
        _LATENESS.observe(max(0, late))
        if late > PAGE_BEAT_SECONDS:
            _LATE.inc()
        return said(active=True, expires_at=beat.expires_at)
    _LOST.inc()
    return said(active=False, expires_at=None, code=LeaseLost.code, message=beat.message)


@leases.post("/release-movie-analysis-lease")
async def release() -> Response:
    """Sent by `sendBeacon` while a page closes: nobody reads the answer, and repeating it does nothing."""
    actor, asked = await caller(), parsed(HeldLease)
    released = await analysis_lease.release(stores(), actor, asked.movie_id, asked.analysis_lease_id or "")
    return said(released=released)
