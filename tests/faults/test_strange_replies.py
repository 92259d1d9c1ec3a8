"""Something between us and the stores answers in their place: no write is taken for made, nothing answers 500 (C08)."""

from __future__ import annotations

import pytest

from service.domain.errors import OutcomeUnknown, StoreUnavailable
from service.store.conditions import is_new
from service.store.expressions import equals
from service.store.queue import JobMessage
from service.store.schema import RECEIPTS
from service.store.table import Delete, Put
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import Fault

pytestmark = pytest.mark.asyncio(loop_scope="module")

DONE = (Fault.PAGE_REPLY, Fault.JSON_REPLY, Fault.LIST_REPLY, Fault.EMPTY_REPLY)
NOT_DONE = (Fault.PAGE_BEFORE, Fault.PORTAL_BEFORE, Fault.BUSY_BEFORE)
KEY = {"receipt_id": "strange"}


def _named(fault: Fault) -> str:
    return fault.name.lower()


async def _there(faulty: FaultLab) -> bool:
    """As the database itself has it, and gone afterwards."""
    direct = faulty.lab.runtime.stores.database
    found = await direct.get(RECEIPTS, KEY)
    await direct.write(Delete(RECEIPTS, KEY))
    return found is not None


@pytest.mark.parametrize("fault", [*DONE, *NOT_DONE], ids=_named)
async def test_a_write_whose_answer_is_not_the_databases_has_an_unknown_outcome(faulty: FaultLab, fault: Fault) -> None:
    with (
        faulty.proxy.fault("dynamodb:PutItem", fault, times=1) as plan,
        pytest.raises(OutcomeUnknown),
    ):
        await faulty.stores.database.write(Put(RECEIPTS, KEY, is_new("receipt_id")))
    assert len(plan.hits) == 1
    assert await _there(faulty) == (fault in DONE)


@pytest.mark.parametrize("fault", [*DONE, *NOT_DONE], ids=_named)
async def test_a_transaction_is_asked_for_again_until_the_database_itself_answers(
    faulty: FaultLab, fault: Fault
) -> None:
    with faulty.proxy.fault("dynamodb:TransactWriteItems", fault, times=2) as plan:
        await faulty.stores.database.transact([Put(RECEIPTS, KEY, is_new("receipt_id"))])
    assert len(plan.hits) == 2
    assert await _there(faulty)


@pytest.mark.parametrize("fault", [*DONE, *NOT_DONE], ids=_named)
async def test_a_reading_is_repeated_and_never_finds_less_than_there_is(faulty: FaultLab, fault: Fault) -> None:
    await faulty.lab.runtime.stores.database.write(Put(RECEIPTS, KEY))
    with faulty.proxy.fault(("dynamodb:GetItem", "dynamodb:Query"), fault, times=2) as plan:
        assert await faulty.stores.database.get(RECEIPTS, KEY) == KEY
        found = [item async for item in faulty.stores.database.query(RECEIPTS, equals("receipt_id", "strange"))]
    assert len(plan.hits) == 2
    assert found == [KEY]
    with faulty.proxy.fault("dynamodb:GetItem", fault), pytest.raises(StoreUnavailable):
        await faulty.stores.database.get(RECEIPTS, KEY)
    assert await _there(faulty)


@pytest.mark.parametrize("fault", [*DONE[:3], *NOT_DONE], ids=_named)
async def test_a_message_that_nobody_took_is_sent_again_and_a_strange_answer_is_no_empty_queue(
    faulty: FaultLab, fault: Fault
) -> None:
    message = JobMessage("m1", "j1", 1)
    with faulty.proxy.fault("sqs:SendMessage", fault, times=1) as plan:
        await faulty.stores.queue.send(message, "trace", "course")
    assert len(plan.hits) == 1
    with faulty.proxy.fault("sqs:ReceiveMessage", fault, times=1), pytest.raises(StoreUnavailable):
        await faulty.stores.queue.receive("trace", 0)
    delivery = await faulty.stores.queue.receive("trace", 0)
    while delivery is not None:
        assert delivery.message() == message
        await faulty.stores.queue.delete(delivery)
        delivery = await faulty.stores.queue.receive("trace", 0)


@pytest.mark.parametrize("fault", [Fault.PAGE_BEFORE, Fault.PAGE_REPLY, Fault.EMPTY_REPLY], ids=_named)
async def test_an_object_is_stored_and_read_whoever_answers_first(faulty: FaultLab, fault: Fault) -> None:
    objects = faulty.stores.objects
    with faulty.proxy.fault("s3:*", fault, times=1) as plan:
        await objects.put("strange/one", b"picture", "image/jpeg")
    assert len(plan.hits) == 1
    for deed in (objects.head, objects.get, objects.keys):
        with faulty.proxy.fault("s3:*", fault, times=1) as plan:
            assert await deed("strange/one")
        assert len(plan.hits) == 1
    assert await objects.get("strange/one") == b"picture"
    found = await objects.head("strange/one")
    assert found
    with faulty.proxy.fault("s3:CopyObject", fault, times=1) as plan:
        await objects.copy(found, "strange/two")
    assert len(plan.hits) == 1
    assert await objects.get("strange/two") == b"picture"
    await faulty.lab.runtime.stores.objects.delete("strange/one", "strange/two")
