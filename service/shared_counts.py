"""What several processes of one service have counted, as one: each writes its numbers into a folder that all share.

The client library looks for the folder's name in the environment when it is imported, so whoever starts the processes
sets it (`environment`); one that is alone keeps its numbers in memory. Summed numbers survive a process that dies.
"""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


def environment(folder: Path) -> dict[str, str]:
    """The variables with which a process must be started to count with the others in `folder`."""
    return {_FOLDER: str(folder)}


def whole(own: CollectorRegistry) -> CollectorRegistry:
    """What to tell: `own` of a process that is alone, else the sum over all that share the folder."""
    if _FOLDER not in os.environ:
        return own
    summed = CollectorRegistry()
    MultiProcessCollector(summed)  # type: ignore[no-untyped-call]
    return summed


def forget(pid: int, folder: Path) -> None:
    """A process has ended: what it said of itself at that moment (gauges) no longer holds; what it counted does."""
    mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
