"""`tiptrace worker` and `tiptrace serve` as processes of their own, to be killed, stopped and continued."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import psutil

from service.settings import Settings


class CommandProcess:
    """Speaks to the emulator as it would to AWS: through the standard endpoint variables. Its log is kept."""

    def __init__(self, endpoint: str, settings: Settings, command: list[str], **changed: Any) -> None:
        told = {
            "TIPTRACE_BACKEND": "aws",
            "TIPTRACE_TABLE_PREFIX": settings.table_prefix,
            "TIPTRACE_BUCKET": settings.bucket,
            "TIPTRACE_LEASE_SECONDS": str(settings.lease_seconds),
            "TIPTRACE_HEARTBEAT_SECONDS": str(settings.heartbeat_seconds),
            "TIPTRACE_SWEEP_SECONDS": str(settings.sweep_seconds),
            "TIPTRACE_MAX_ATTEMPTS": str(settings.max_attempts),
            "TIPTRACE_GRACE_SECONDS": str(settings.grace_seconds),
            **{f"TIPTRACE_{name.upper()}": str(value) for name, value in changed.items()},
            **{f"AWS_ENDPOINT_URL_{name}": endpoint for name in ("DYNAMODB", "S3", "SQS")},
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        self._log = tempfile.NamedTemporaryFile(suffix=".log")  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "service.cli", *command],
            env={**os.environ, **told},
            stdout=self._log,
            stderr=self._log,
            cwd=tempfile.gettempdir(),
        )
        self.pid = self._process.pid

    def text(self) -> str:
        """All that it wrote."""
        return Path(self._log.name).read_text()

    def lines(self) -> list[dict[str, Any]]:
        found = []
        for line in self.text().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    async def says(self, event: str, count: int = 1, seconds: float = 60) -> None:
        """Wait until its log tells this event so often."""
        async with asyncio.timeout(seconds):
            while sum(line.get("event") == event for line in self.lines()) < count:
                assert self._process.poll() is None or event == "worker.stopped", self.lines()[-3:]
                await asyncio.sleep(0.05)

    def tell(self, number: int) -> None:
        os.kill(self.pid, number)

    async def ended(self) -> int:
        """Wait until it ends by itself; returns its exit code."""
        return await asyncio.to_thread(self._process.wait, 60)

    async def end(self, number: int = signal.SIGKILL) -> int:
        """End it and wait for its end; returns its exit code."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.tell(signal.SIGCONT)
                self.tell(number)
        code = await self.ended()
        self._log.close()
        return code


class WorkerProcess(CommandProcess):
    """One worker with one slot."""

    def __init__(self, endpoint: str, settings: Settings, **changed: Any) -> None:
        super().__init__(endpoint, settings, ["worker", "--concurrency", "1", "--metrics-port", "0"], **changed)

    def metrics(self) -> str:
        """All that it has counted, asked over its own port."""
        (told,) = [line for line in self.lines() if line.get("event") == "metrics.served"]
        return httpx.get(told["address"]).text

    def engine_pids(self) -> list[int]:
        """Its children that decode and trace."""
        found = []
        for child in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "spawn_main" in " ".join(child.cmdline()):
                    found.append(child.pid)
        return found


class WebProcess(CommandProcess):
    """The web service, on a port that the system picks; without workers unless `words` say otherwise."""

    def __init__(self, endpoint: str, settings: Settings, *words: str, **changed: Any) -> None:
        changed.setdefault("drain_seconds", 0)  # nobody waits for a test
        super().__init__(endpoint, settings, ["serve", "--port", "0", "--workers", "0", *words], **changed)

    def children(self) -> list[psutil.Process]:
        """Its processes for the web and for work; not the database's and not those that trace."""
        found = []
        for child in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "service.cli.child" in child.cmdline():
                    found.append(child)
        return found

    async def address(self) -> str:
        """Where it listens, as soon as it does."""
        async with asyncio.timeout(60):
            while True:
                found = re.search(r"tiptrace is at (\S+)", self.text())
                if found:
                    return found[1]
                assert self._process.poll() is None, self.text()[-2000:]
                await asyncio.sleep(0.05)
