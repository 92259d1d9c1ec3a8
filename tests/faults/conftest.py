"""One laboratory behind a fault proxy per test module, in the module's own event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from service.local.emulator import Emulator
from tests.support.fault_lab import FaultLab, open_fault_lab


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def faulty(emulator: Emulator) -> AsyncIterator[FaultLab]:
    async with open_fault_lab(emulator.endpoint) as opened:
        yield opened
