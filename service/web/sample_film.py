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
        self._filming = asyncio.Lock()
        self._movie = b""

    async def movie(self) -> bytes:
        """An MP4 of a few hundred kilobytes. Raises Unavailable when it cannot be filmed here and now."""
        async with self._filming:
            if not self._movie:
                self._movie = await _filmed()
            return self._movie


async def _filmed() -> bytes:
    """By a process of its own: filming keeps a processor busy for seconds, and this one answers polls."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample.mp4"
        quiet = asyncio.subprocess.DEVNULL
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "service.cli", "demo-movie", str(path), stdin=quiet, stdout=quiet, stderr=quiet
        )
        try:
            async with asyncio.timeout(_PATIENCE):
                ended = await child.wait()
        except TimeoutError:
            raise Unavailable from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if ended:
            raise Unavailable
        return path.read_bytes()
