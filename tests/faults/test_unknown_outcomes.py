"""Replies get lost: the winner learns that he won, nothing happens twice, nobody is refused what he has got (C08)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.domain.access import Actor
from tests.support.deeds import DEEDS, Deed
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import WRITES, Fault
from tests.support.scene import Scene

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOST = (Fault.DROP_REPLY, Fault.RESET_REPLY, Fault.ERROR_REPLY, Fault.TWICE)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(faulty: FaultLab) -> AsyncIterator[Actor]:
    yield await faulty.lab.person("Owner")


async def _try(
    faulty: FaultLab, owner: Actor, deed: Deed, fault: Fault, hit: tuple[str, ...], first: int, every: int | None
) -> int:
    """Do the deed once under this fault; returns how many requests could have been hit."""
    scene = Scene(faulty, owner)
    await deed.prepare(scene)
    before = len(faulty.proxy.seen)
    try:
        with faulty.proxy.fault(hit, fault, first=first, every=every or 1, times=None if every else 1) as plan:
            outcome = await deed.act(faulty.stores, scene)
        await deed.judge(scene, outcome)
    except BaseException as error:
        seen = [request.operation for request in faulty.proxy.seen[before:]]
        error.add_note(f"{deed} with {fault.name}, reply {first} of {seen}, then every {every or '-'}")
        raise
    finally:
        await scene.remove()
    return plan.seen


@pytest.mark.parametrize("deed", DEEDS, ids=str)
async def test_whichever_single_reply_is_lost_the_deed_is_done_once_and_its_doer_told_c08(
    faulty: FaultLab, owner: Actor, deed: Deed
) -> None:
    """Of writes, some lost and some doubled: what is lost of a read is only read again, as the next test shows."""
    needed = await _try(faulty, owner, deed, Fault.PASS, WRITES, 1, None)
    for number in range(1, needed + 1):
        await _try(faulty, owner, deed, (Fault.DROP_REPLY, Fault.TWICE)[number % 2], WRITES, number, None)
    for number in range(1, needed + 1) if needed <= 3 else ():
        await _try(faulty, owner, deed, (Fault.TWICE, Fault.DROP_REPLY)[number % 2], WRITES, number, None)


@pytest.mark.long
@pytest.mark.parametrize("deed", DEEDS, ids=str)
async def test_whichever_request_is_hit_by_whatever_loses_replies_the_deed_is_done_once(
    faulty: FaultLab, owner: Actor, deed: Deed
) -> None:
    needed = await _try(faulty, owner, deed, Fault.PASS, ("*",), 1, None)
    for fault in LOST:
        for number in range(1, needed + 1):
            await _try(faulty, owner, deed, fault, ("*",), number, None)


@pytest.mark.parametrize("deed", DEEDS, ids=str)
async def test_with_every_second_reply_lost_the_deed_is_done_once_and_its_doer_told_c08(
    faulty: FaultLab, owner: Actor, deed: Deed
) -> None:
    await _try(faulty, owner, deed, Fault.DROP_REPLY, ("*",), 1, 2)
    await _try(faulty, owner, deed, Fault.RESET_REPLY, ("*",), 2, 2)
