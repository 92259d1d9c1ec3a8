"""Ask ECS not to stop this task for having fewer to do, as long as it works on a job.

A message is deleted when its job is claimed, so the queue looks empty while the last jobs are still at work, and
whoever counts messages would end workers that have one. On ECS a task may protect itself, by its agent's address in
`ECS_AGENT_URI`; anywhere else nothing is asked. A job never waits for the answer: without protection a worker that is
stopped hands its job back, as ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import aiohttp
import structlog

log = structlog.get_logger()

_MOST_MINUTES = 2880
"""The longest protection that ECS grants at once."""
_TIMEOUT = aiohttp.ClientTimeout(total=5)


class Protection:
    """`agent`: the address, or None where there is no ECS. `seconds`: how long one job may take at most."""

    def __init__(self, agent: str | None, seconds: float, *, retry_seconds: float = 10.0) -> None:
        self._url = f"{agent.rstrip('/')}/task-protection/v1/state" if agent else None
        # Asked for again at half time, it must last over a whole job from then on even if nobody answers any more.
        self._minutes = min(_MOST_MINUTES, 2 * (int(seconds) // 60 + 1))
        self._retry_seconds = retry_seconds
        self._jobs = 0
        self._changed = asyncio.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """One job is at work inside."""
        self._jobs += 1
        self._changed.set()
        try:
            yield
        finally:
            self._jobs -= 1
            self._changed.set()

    async def keep(self) -> None:
        """Tell the agent whenever the first job begins and the last one ends, until cancelled."""
        if self._url is None:
            return
        loop = asyncio.get_running_loop()
        told, again = False, 0.0
        while True:
            self._changed.clear()
            wanted = self._jobs > 0
            if wanted != told or (wanted and loop.time() >= again):
                if await self._tell(wanted):
                    told, again = wanted, loop.time() + 30 * self._minutes
                else:
                    await asyncio.sleep(self._retry_seconds)
                    continue
            with suppress(TimeoutError):
                async with asyncio.timeout_at(again if told else None):
                    await self._changed.wait()

    async def _tell(self, wanted: bool) -> bool:
        state = (
            {"ProtectionEnabled": True, "ExpiresInMinutes": self._minutes} if wanted else {"ProtectionEnabled": False}
        )
        assert self._url is not None
        try:
            async with aiohttp.ClientSession(timeout=_TIMEOUT) as http, http.put(self._url, json=state) as reply:
                if reply.status == 200:
                    log.info("task.protected" if wanted else "task.unprotected")
                    return True
                log.warning(
                    "task.protection_failed", status=reply.status, said=(await reply.text(errors="replace"))[:300]
                )
        except (aiohttp.ClientError, TimeoutError, OSError) as fault:
            log.warning("task.protection_failed", why=type(fault).__name__)
        return False
