"""A process that keeps an emulator running: `python -m tests.faults.host_emulator DIR`, for tests that kill it."""

import asyncio
import sys
from pathlib import Path

from service.local.emulator import Emulator


async def main() -> None:
    """Start on the directory, say the endpoint and the emulator's process id, then wait to be killed."""
    async with Emulator(Path(sys.argv[1])) as emulator:
        print(emulator.endpoint, emulator.pid, flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
