"""A procedural plant, filmed once per web process, for those who have no movie at hand."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from service.domain.errors import Unavailable

_PATIENCE = 60


class SampleFilm:
    """The sample movie: filmed when it is first asked for, then kept."""

    def __init__(self) -> None:
        self._filming: asyncio.Task[bytes] | None = None

    async def movie(self) -> bytes:
        """An MP4 of a few hundred kilobytes. Raises Unavailable when it cannot be filmed here and now.

        Whoever asks while it is being filmed waits for that one try, and shares its failure; the next one tries anew.
        """
        if self._filming is None or (self._filming.done() and _failed(self._filming)):
            self._filming = asyncio.create_task(_filmed())
        return await asyncio.shield(self._filming)


def _failed(filming: asyncio.Task[bytes]) -> bool:
    return filming.cancelled() or filming.exception() is not None


async def _filmed() -> bytes:
    """By a process of its own: filming keeps a processor busy for seconds, and this one answers polls.

    Raises Unavailable, whatever the machine is short of.
    """
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sample.mp4"
            quiet = asyncio.subprocess.DEVNULL
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "service.cli", "demo-movie", str(path), stdin=quiet, stdout=quiet, stderr=quiet
            )
            try:
                async with asyncio.timeout(_PATIENCE):
                    ended = await child.wait()
            finally:
                if child.returncode is None:
                    child.kill()
                    await child.wait()
            if ended:
                raise Unavailable
            return path.read_bytes()
    except OSError:  # no process, no room, no folder; the end of patience is one as well
        raise Unavailable from None
