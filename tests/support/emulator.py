"""A running embedded emulator for tests: the real one, on a data directory of its own.

The emulator runs in an event loop of its own in a thread, so that tests with loops of their own can share it. It has
one set of tables and buckets: a test that needs its own takes names with a prefix of its own.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from service.local.emulator import Emulator


@contextmanager
def emulator_in_thread(data_dir: Path) -> Iterator[Emulator]:
    """Start an emulator on `data_dir`; stop it at the end, also when the test fails."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="test-emulator", daemon=True)
    thread.start()
    running = Emulator(data_dir)
    try:
        asyncio.run_coroutine_threadsafe(running.start(), loop).result(timeout=90)
        yield running
    finally:
        asyncio.run_coroutine_threadsafe(running.stop(), loop).result(timeout=60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """One emulator for the whole session; `.endpoint` serves DynamoDB, SQS and S3 (key and secret: test, us-east-1)."""
    with emulator_in_thread(tmp_path_factory.mktemp("emulator")) as running:
        yield running
