"""Look after jobs that nobody looks after, again and again."""

from __future__ import annotations

import asyncio
import random
from dataclasses import asdict

import structlog

from service import metrics
from service.domain.errors import Unavailable
from service.store.stores import Stores
from service.usecases.observe_jobs import observe_jobs, show
from service.usecases.sweep import sweep

log = structlog.get_logger()
_BETWEEN_LOOKS = 30.0


async def sweep_forever(stores: Stores, seconds: float) -> None:
    """One pass every `seconds`, a little apart from other workers' passes. A pass that fails is not the last."""
    looked = stores.clock.monotonic() - _BETWEEN_LOOKS
    while True:
        try:
            for action, count in asdict(await sweep(stores)).items():
                metrics.SWEEPS.labels(action=action).inc(count)
            metrics.SWEEPS.labels(action="pass").inc()
        except Exception:
            log.exception("sweep.failed")
        if stores.clock.monotonic() - looked >= _BETWEEN_LOOKS:
            looked = stores.clock.monotonic()
            await _look(stores)
        await asyncio.sleep(seconds * random.uniform(0.8, 1.2))  # nosec B311  # noqa: S311  jitter is no secret


async def _look(stores: Stores) -> None:
    """Tell as metrics what waits; nobody's work depends on it."""
    try:
        show(await observe_jobs(stores))
    except Unavailable:
        log.info("jobs.not_counted")
    except Exception:
        log.exception("jobs.not_counted")
