"""What every job begins with: its receipt, its queued lease, its one started event, and its announcement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from service import metrics
from service.domain import audit
from service.domain.access import Actor
from service.domain.errors import Unavailable
from service.domain.lease import Kind, TracingLease
from service.domain.movie import Movie
from service.domain.receipt import Receipt, Sender, receipt_id
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.store.table import Write

log = structlog.get_logger()


def accepted_receipt(
    stores: Stores,
    actor: Actor,
    kind: Kind,
    request_key: str,
    digest: str,
    movie_id: str,
    now: int,
    sender: Sender,
    inputs: Mapping[str, Any] | None = None,
) -> Receipt:
    """The receipt of a new intent, with a job id of its own."""
    return Receipt(
        receipt_id=receipt_id(actor.user_id, request_key),
        user_id=actor.user_id,
        request_key=request_key,
        kind=kind,
        input_digest=digest,
        job_id=stores.ids.token(),
        movie_id=movie_id,
        state="accepted",
        attempts=0,
        created_at=now,
        updated_at=now,
        inputs=inputs or {},
        client_version=sender.client_version,
        request_id=sender.request_id,
    )


def queued_lease(stores: Stores, actor: Actor, receipt: Receipt, kind: Kind, now: int) -> TracingLease:
    """The lease of a job that has just been admitted and announced."""
    return TracingLease(
        job_id=receipt.job_id,
        kind=kind,
        state="queued",
        attempt=1,
        claim_id=None,
        receipt_id=receipt.receipt_id,
        user_id=actor.user_id,
        user_name=actor.name,
        started_at=now,
        heartbeat_at=now,
        expires_at=now + stores.policy.lease_seconds,
        announced_at=now,
        failures=0,
        due_at=now + stores.policy.announce_first,
    )


def start_event(
    stores: Stores,
    actor: Actor,
    movie: Movie,
    receipt: Receipt,
    event_type: audit.EventType,
    now: int,
    *,
    ipaddr: str | None = None,
    frames: int | None = None,
) -> Write:
    """The one started event of a job."""
    return stores.audit.event_write(
        audit.event(
            stores.ids.log_id(now),
            event_type,
            now,
            user_id=actor.user_id,
            movie_id=movie.movie_id,
            course_id=movie.course_id,
            ipaddr=ipaddr,
            trace_job_id=receipt.job_id,
            request_key=receipt.request_key,
            attempt=1,
            frames=frames,
        )
    )


async def announce(stores: Stores, movie: Movie, receipt: Receipt, kind: Kind, sender: Sender) -> None:
    """Send the message of a job that this `sender` has just started.

    If it cannot be sent the job stands all the same: the sweeper announces it again.
    """
    metrics.JOBS_CREATED.labels(kind=receipt.kind, **sender.labels).inc()
    metrics.LEASES_GRANTED.labels(kind="tracing").inc()
    names = {"movie_id": receipt.movie_id, "job_id": receipt.job_id, "request_key": receipt.request_key}
    log.info("job.admitted", kind=receipt.kind, attempt=1, **names)
    try:
        await stores.queue.send(JobMessage(receipt.movie_id, receipt.job_id, 1), kind, movie.turn)
    except Unavailable:
        log.warning("job.announce_failed", attempt=1, **names)
