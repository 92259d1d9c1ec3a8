"""A laboratory with two doors: `lab` goes straight to the emulator, `stores` go through the fault proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from service.domain.access import Actor
from service.runtime import open_runtime
from service.store.stores import Stores
from service.usecases.analysis_lease import acquire
from service.usecases.submit_trace import Submitted, TraceOrder, submit
from tests.support.clocks import FakeClock
from tests.support.fault_proxy import FaultProxy
from tests.support.lab import Lab, open_lab


@dataclass
class FaultLab:
    """What is under test acts through `stores`; what prepares and looks uses `lab`. Both keep `clock`'s time."""

    lab: Lab
    stores: Stores
    proxy: FaultProxy
    clock: FakeClock

    async def submit(self, actor: Actor, movie_id: str, key: str = "key", **order: Any) -> Submitted:
        """As Lab.submit, through the proxy."""
        sent = {"movie_id": movie_id, **{k: v for k, v in order.items() if k != "analysis_lease_id"}}
        return await submit(self.stores, actor, TraceOrder(movie_id, key, sent, **order))

    async def page(self, actor: Actor, movie_id: str) -> str:
        """A live analysis lease, got without faults."""
        lease = (await acquire(self.lab.stores, actor, movie_id, request_key="page")).lease
        assert lease
        return lease.lease_id


@asynccontextmanager
async def open_fault_lab(endpoint: str, **changed: Any) -> AsyncIterator[FaultLab]:
    """Both doors to tables of their own. Pauses between tries are short: what they wait for is the plan's to say."""
    async with open_lab(endpoint, **changed) as lab, FaultProxy(endpoint) as proxy:
        settings = lab.runtime.settings
        async with open_runtime(settings, endpoint=proxy.endpoint, clock=lab.clock) as runtime:
            stores = runtime.stores
            stores.database.first_pause = stores.objects.first_pause = stores.queue.first_pause = 0.001
            yield FaultLab(lab, stores, proxy, lab.clock)
