"""One laboratory per test module, in the module's own event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from service.local.emulator import Emulator
from tests.support.lab import Lab, open_lab


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lab(emulator: Emulator) -> AsyncIterator[Lab]:
    async with open_lab(emulator.endpoint) as opened:
        yield opened
