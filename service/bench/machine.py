"""On what a measurement was made: a figure without its machine tells nobody anything."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

_COUNT = ("av", "opencv-python-headless", "numpy", "aiobotocore", "ministack")


def description() -> dict[str, Any]:
    """Processor, cores that this process may use, memory, load at this moment, interpreter and libraries."""
    return {
        "processor": _processor(),
        "cores": _cores(),
        "memory_megabytes": _memory_megabytes(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
        "libraries": {name: version(name) for name in _COUNT},
    }


def in_words(machine: dict[str, Any]) -> str:
    """The description as one line."""
    libraries = ", ".join(f"{name} {number}" for name, number in machine["libraries"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_megabytes']} MB, load {machine['load']};"
        f" {machine['system']}; Python {machine['python']}; {libraries}"
    )


def peak_megabytes(pid: int | str = "self") -> float | None:
    """The most memory that a process held so far, as the kernel counted it; None where the kernel does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    peak = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    return None if peak is None else round(int(peak) / 1024, 1)


def _processor() -> str:
    try:
        told = Path("/proc/cpuinfo").read_text()
    except OSError:
        told = ""
    names = [line.partition(":")[2].strip() for line in told.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _memory_megabytes() -> int:
    return (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) >> 20
