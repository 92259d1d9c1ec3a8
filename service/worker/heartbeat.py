"""Renew a job's lease beside its work, whatever the work is doing."""

from __future__ import annotations

import asyncio
import random

import structlog

from service import metrics
from service.domain.errors import FenceLost, Unavailable
from service.usecases.job_lease import JobLease

log = structlog.get_logger()
_RETRY_SECONDS = 1.0
_LATE = metrics.HEARTBEATS_LATE.labels(kind="tracing")
_LATENESS = metrics.HEARTBEAT_LATENESS.labels(kind="tracing")


async def keep(lease: JobLease, interval: float) -> None:
    """Renew every `interval` seconds unless a chunk did. Returns when the job has given its lease up.

    A database that does not answer, or answers what nobody foresaw, is asked again until the lease has surely run out.
    Raises FenceLost then, or when the row says that the job is somebody else's; the caller's task group ends the run.
    """
    while not lease.over:
        due = interval - lease.since_renewal()
        if due > 0:
            await asyncio.sleep(due * random.uniform(0.9, 1.0))  # nosec B311  # noqa: S311  jitter is no secret
            continue
        try:
            after = await lease.renew()
            if after is not None:
                _count(after - interval, interval)
            continue
        except FenceLost:
            raise
        except Unavailable:
            _LATE.inc()
            log.warning("heartbeat.late", seconds=round(lease.since_renewal(), 1))
        except Exception:  # credentials that ran out, say: the job goes on as long as its lease
            _LATE.inc()
            log.exception("heartbeat.failed", seconds=round(lease.since_renewal(), 1))
        if lease.remaining() <= 0:
            lease.lost = True
            raise FenceLost
        await asyncio.sleep(min(_RETRY_SECONDS, interval / 2))


def _count(late: float, interval: float) -> None:
    """A renewal that was made, `late` seconds after it was due; tries that failed before it are in that time."""
    _LATENESS.observe(max(0.0, late))
    if late > interval:
        _LATE.inc()
        log.warning("heartbeat.late", seconds=round(late + interval, 1), renewed=True)
