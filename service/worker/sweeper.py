"""Look after jobs that nobody looks after, again and again."""

from __future__ import annotations

import asyncio
import random
from dataclasses import asdict

import structlog

from service import metrics
from service.store.stores import Stores
from service.usecases.sweep import sweep

log = structlog.get_logger()


async def sweep_forever(stores: Stores, seconds: float) -> None:
    """One pass every `seconds`, a little apart from other workers' passes. A pass that fails is not the last."""
    while True:
        try:
            for action, count in asdict(await sweep(stores)).items():
                metrics.SWEEPS.labels(action=action).inc(count)
        except Exception:
            log.exception("sweep.failed")
        await asyncio.sleep(seconds * random.uniform(0.8, 1.2))  # noqa: S311  jitter is no secret
