"""What waits in the queue of jobs, in whichever lane."""

from __future__ import annotations

import asyncio

from service.store.queue import Delivery, Queue


async def next_message(queue: Queue, seconds: float = 0) -> Delivery | None:
    """One message, for which up to `seconds` are waited; None if there is none."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        for lane in queue.lanes:
            if delivery := await queue.receive(lane, 0):
                return delivery
        if asyncio.get_running_loop().time() >= end:
            return None
        await asyncio.sleep(0.02)
