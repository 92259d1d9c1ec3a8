"""The Date header of every reply of the database tells how wrong this machine's clock is."""

from __future__ import annotations

import time

import pytest

from service import metrics
from service.local.emulator import Emulator
from service.runtime import open_clients
from service.store.clock_watch import watch_clock
from service.store.replies import read_items_directly


@pytest.mark.asyncio
@pytest.mark.parametrize("ahead", [0.0, -500.0])
async def test_each_reply_is_noted_and_the_metric_shows_it(emulator: Emulator, ahead: float) -> None:
    async with open_clients(emulator.endpoint) as clients:
        read_items_directly(clients.dynamodb)
        skew = watch_clock(clients.dynamodb, lambda: time.time() + ahead)
        for _ in range(3):
            await clients.dynamodb.list_tables()
        with pytest.raises(clients.dynamodb.exceptions.ResourceNotFoundException):
            await clients.dynamodb.describe_table(TableName="there-is-none")  # a refusal has a date too
    found = skew.estimate()
    assert found is not None
    assert abs(found.seconds - ahead) < 1.5
    assert found.within < 1
    shown = metrics.REGISTRY.get_sample_value("tiptrace_clock_skew_seconds")
    assert shown is not None
    assert abs(shown - ahead) < 1.5
    metrics.CLOCK_SKEW.set(0)
