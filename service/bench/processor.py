"""Processor time of a running service, each of its processes apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Used:
    """`role`: web (the processes that answer, and their parent), emulator (database, queue and storage), worker (a
    process of its own that hands jobs out), engine (decodes and traces).
    """

    role: str
    seconds: float


def used_by(pid: int) -> dict[int, Used]:
    """Processor seconds so far of a process and everything below it; empty where the kernel does not tell."""
    told = {int(folder.name): found for folder in Path("/proc").glob("[0-9]*") if (found := _stat(folder))}
    family = {pid} & set(told)
    while grown := {child for child, (parent, _) in told.items() if parent in family} - family:
        family |= grown
    roles = {member: _role(member) for member in family}
    workers = {told[member][0] for member, role in roles.items() if role == "engine"} - {pid}
    roles |= {member: "worker" for member in workers if roles.get(member) == "web"}
    return {member: Used(roles[member], told[member][1]) for member in sorted(family)}


def since(before: Mapping[int, Used], now: Mapping[int, Used]) -> dict[int, Used]:
    """What each process that still runs has used meanwhile."""
    return {
        pid: Used(one.role, one.seconds - (before[pid].seconds if pid in before else 0.0)) for pid, one in now.items()
    }


def _stat(folder: Path) -> tuple[int, float] | None:
    """Parent and processor seconds."""
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return None
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS


def _role(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        words = []
    if "service.local" in words:
        return "emulator"
    return "engine" if any("spawn_main" in word or "resource_tracker" in word for word in words) else "web"
