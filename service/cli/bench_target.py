"""The service under load: the given one, or one of our own in processes of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import click

from service.bench.meters import Target, TargetFailed
from service.local.datadir import find_running

_START_SECONDS = 60
_TAIL = 2000
url_option = click.option(
    "--url", help="A running service that shares this data folder or AWS account. Default: one of our own."
)
their_data_option = click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="The running service's data folder."
)
processes_option = click.option(
    "--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="Of a service of our own."
)


@asynccontextmanager
async def target(
    url: str | None,
    data: Path | None,
    *,
    workers: int = 0,
    processes: int = 1,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Target]:
    """A service that answers; one that is started here is stopped again, with its data. Raises TargetFailed.

    `settings`: environment of a service that is started here.
    """
    if url:
        running = await asyncio.to_thread(find_running, data) if data else None
        yield Target(url.rstrip("/"), data, running.owner_pid if running else None)
        return
    command = ["serve", "--port", "0", "--workers", str(workers)]
    if processes > 1:
        command += ["--processes", str(processes)]
    with tempfile.TemporaryDirectory(prefix="tiptrace-bench-") as name:
        folder = Path(name)
        with (folder / "serve.log").open("wb") as log:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "service.cli", *command, "--data", str(folder / "data")),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(settings or {})},
            )
        try:
            yield Target(await _address(child, folder / "serve.log"), folder / "data", child.pid)
        finally:
            if child.returncode is None:
                child.terminate()
            await child.wait()


async def _address(child: asyncio.subprocess.Process, log: Path) -> str:
    """Where it listens, from the line that it prints once it does."""
    assert child.stdout is not None
    try:
        async with asyncio.timeout(_START_SECONDS):
            async for line in child.stdout:
                if found := re.search(r"http://\S+", line.decode()):
                    return found[0]
    except TimeoutError:
        child.kill()
    raise TargetFailed(f"The service did not start. The end of its log:\n{log.read_text(errors='replace')[-_TAIL:]}")
