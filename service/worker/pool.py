"""The worker: a poller for each slot with an engine of its own, one more for inspections alone, and one sweeper."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

import structlog

from service.domain.errors import Unavailable
from service.domain.lease import Kind
from service.settings import Settings
from service.store.queue import Delivery
from service.store.stores import Stores
from service.worker.delivery import handle
from service.worker.engine import Engine
from service.worker.job_folder import remove_left_folders
from service.worker.lanes import Lanes
from service.worker.protection import Protection
from service.worker.sweeper import sweep_forever

log = structlog.get_logger()
_LONG_POLL_SECONDS = 5
"""A slot that waits where nothing comes looks where it is needed after this long."""
_LONGEST_PAUSE = 10.0


class Pool:
    """Drains the queue until it is told to stop; then running jobs get the grace period and are handed back.

    A message is asked for by a slot that is free to do its job, so that none waits here. `slots` do any job. Where
    inspections have a queue of their own, one slot more does nothing else: they are short, people wait for them, and
    traces may fill all others for minutes.
    """

    def __init__(self, stores: Stores, settings: Settings, slots: int) -> None:
        self._stores = stores
        self._settings = settings
        self._lanes = Lanes(stores.queue.lanes)
        own: tuple[Kind | None, ...] = ("inspect",) if self._lanes.apart else ()
        self._slots = (None,) * slots + own
        self._protection = Protection(os.environ.get("ECS_AGENT_URI"), settings.job_seconds)
        self._stopping = asyncio.Event()
        self._hand_back = asyncio.Event()
        self.engines: list[Engine] = []

    async def run(self) -> None:
        """Work until `stop`. Leaves no child process and no job without an owner or an announcement."""
        if left := await asyncio.to_thread(remove_left_folders):
            log.info("worker.removed_left_folders", count=left)
        async with AsyncExitStack() as stack:
            for _ in self._slots:
                engine = Engine(megabytes=self._settings.job_megabytes, seconds=self._settings.job_seconds)
                self.engines.append(await stack.enter_async_context(engine))
            async with asyncio.TaskGroup() as group:
                sweeper = group.create_task(sweep_forever(self._stores, self._settings.sweep_seconds))
                grace = group.create_task(self._grant_grace())
                protecting = group.create_task(self._protection.keep())
                pollers = [
                    group.create_task(self._poll(engine, own))
                    for engine, own in zip(self.engines, self._slots, strict=True)
                ]
                await asyncio.wait(pollers)
                sweeper.cancel()
                grace.cancel()
                protecting.cancel()

    def stop(self) -> None:
        """Receive no more messages; hand running jobs back when the grace period is over. May be called again."""
        self._stopping.set()

    async def _grant_grace(self) -> None:
        await self._stopping.wait()
        log.info("worker.stopping", grace_seconds=self._settings.grace_seconds)
        await asyncio.sleep(self._settings.grace_seconds)
        self._hand_back.set()

    async def _poll(self, engine: Engine, own: Kind | None) -> None:
        pause = 0.5
        while not self._stopping.is_set():
            try:
                with self._lanes.waiting(own) as lane:
                    delivery = await self._receive(lane)
                if delivery is not None:
                    with self._protection.at_work():
                        outcome = await handle(
                            self._stores, delivery, engine, self._hand_back, self._settings.video_preset
                        )
                    log.debug("message.handled", outcome=outcome)
                pause = 0.5
            except Unavailable:
                log.warning("worker.waits_for_the_store", seconds=pause)
                await self._wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except Exception:
                log.exception("message.failed")  # the job's lease runs out and the sweeper takes it up
                await self._wait(pause)

    async def _receive(self, lane: Kind) -> Delivery | None:
        """A long poll that a stop ends. A message received at that very moment comes again after its visibility."""
        receiving = asyncio.ensure_future(self._stores.queue.receive(lane, _LONG_POLL_SECONDS))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({receiving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if receiving.done():
                return receiving.result()
            return None
        finally:
            for task in (receiving, stopping):
                if not task.done():
                    task.cancel()

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return
