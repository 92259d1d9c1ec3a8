"""A load in a process of its own, so that what it costs is not taken for the service's: both of its sides.

The parent sends what is to be done as one line of JSON. The child answers with lines: `measuring` and `measured` at the
two ends of what it measures, when the parent reads the service's meters, then what it has found.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from service.bench.meters import Gauge, Meter, Target
from service.bench.pace import until

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_HOLD_SECONDS = 20.0
_LONGEST_LINE = 1 << 26


class LoadFailed(Exception):
    """The process that puts the load on ended before it had told what it found."""


async def put_on(module: str, load: DataclassInstance, measured: Target) -> tuple[dict[str, Any], Meter, Meter]:
    """Run `python -m module` with `load`.

    Returns what it found, and the target's meters at both ends of the time that it measured. Raises LoadFailed,
    TargetFailed.
    """
    gauge = Gauge(measured)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    meters: list[Meter] = []
    try:
        child.stdin.write(json.dumps(asdict(load)).encode() + b"\n")
        await child.stdin.drain()
        while line := await _line(child.stdout, gauge):
            told: dict[str, Any] = json.loads(line)
            if told["event"] == "found":
                before, after = meters
                return told, before, after
            meters.append(await gauge.read())
        raise LoadFailed("The load ended before its time.")
    finally:
        gauge.close()
        if child.returncode is None:
            child.terminate()
        await child.wait()


async def _line(stream: asyncio.StreamReader, gauge: Gauge) -> bytes:
    """The next line; meanwhile the gauge's connection is held."""
    reading = asyncio.ensure_future(stream.readline())
    while not (await asyncio.wait([reading], timeout=_HOLD_SECONDS))[0]:
        await gauge.keep()
    return reading.result()


def main(run: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]) -> None:
    """The child: read what is to be done, do it, say what was found."""

    async def found() -> dict[str, Any]:
        return await run(json.loads(sys.stdin.readline()))

    gc.freeze()  # what is here stays; only what comes with the load is looked through
    _say("found", asyncio.run(found()))


async def tell_ends(begin: float, end: float, used: list[float]) -> None:
    """Say when measuring begins and ends, and note what this process has used at both moments."""
    for at, event in ((begin, "measuring"), (end, "measured")):
        await until(at)
        used.append(time.process_time())
        _say(event, {})


def _say(event: str, told: dict[str, Any]) -> None:
    print(json.dumps({"event": event, **told}), flush=True)
