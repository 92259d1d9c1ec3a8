"""When the clients of a load ask: as soon as they have been answered, or by a schedule that does not wait for them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Protocol

_DRAIN_SECONDS = 30.0


class Asker(Protocol):
    """One client, which does one thing at a time. `due`: the moments at which it should have begun others."""

    due: asyncio.Queue[float]

    async def turn(self, due: float) -> float:
        """Do it once; the seconds that the service asks to wait before the next time."""
        ...


async def until(due: float) -> None:
    """Sleep to an instant of the monotonic clock."""
    left = due - time.monotonic()
    if left > 0:
        await asyncio.sleep(left)


async def closed(asker: Asker, begin: float, end: float, interval: float | None = None) -> None:
    """Again and again from `begin` to `end`, at once or `interval` seconds after each answer."""
    await until(begin)
    while (due := time.monotonic()) < end:
        rest = await asker.turn(due)
        if rest or interval:
            await asyncio.sleep(min(max(rest, interval or 0.0), max(0.0, end - time.monotonic())))


async def at_rate(
    askers: Sequence[Asker], rate: float, start: float, ramp: float, end: float, seed: int = 1
) -> list[float]:
    """`rate` a second in all, each client in turn, at random moments as those of many independent people are.

    In the first half of `ramp` the rate rises. A client that is busy is not asked twice at once: what is due waits, and
    its clock runs. Returns when everything has been done, or half a minute after the end: what was due and never begun.
    """
    chance = random.Random(seed)  # nosec B311  # noqa: S311  repeatable, not secret
    working = [asyncio.create_task(_work(asker)) for asker in askers]
    due, turn = start, 0
    while True:
        share = min(1.0, max(0.1, 2 * (due - start) / ramp)) if ramp else 1.0
        due += chance.expovariate(rate * share)
        if due >= end:
            break
        await until(due)
        askers[turn % len(askers)].due.put_nowait(due)
        turn += 1
    await asyncio.wait([asyncio.create_task(asker.due.join()) for asker in askers], timeout=_DRAIN_SECONDS)
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    return [asker.due.get_nowait() for asker in askers for _ in range(asker.due.qsize())]


async def _work(asker: Asker) -> None:
    while True:
        rest = await asker.turn(await asker.due.get())
        asker.due.task_done()
        if rest:
            await asyncio.sleep(rest)
