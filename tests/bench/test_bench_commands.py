"""The commands that put a load on a service of their own say what it cost, and leave nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = pytest.mark.long


def report(*words: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "service.cli", "bench", *words, "--json"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Any:
    folders = set(Path(tempfile.gettempdir()).glob("tiptrace-bench-*"))
    yield
    assert set(Path(tempfile.gettempdir()).glob("tiptrace-bench-*")) <= folders
    assert [child for child in psutil.Process().children() if "service.cli" in child.cmdline()] == []


def test_polls_tell_processor_time_and_calls_of_each_poll(tmp_path: Path) -> None:
    table = tmp_path / "latencies.csv"
    told = report(
        "polls", "--clients", "8", "--movies", "2", "--seconds", "2", "--ramp", "1", "--histogram", str(table)
    )
    assert told["polls"] == sum(told["answers"].values()) > 20
    assert {process["role"] for process in told["processes"]} == {"web", "emulator"}
    assert 0.1 < told["processor_ms_per_poll"]["web"] < 1000
    assert told["calls_per_poll"]["dynamodb GetItem"] > 0
    assert 0 < told["latency"]["p50_ms"] <= told["latency"]["p99_ms"] <= told["latency"]["longest_ms"]
    assert sum(int(line.split(",")[1]) for line in table.read_text().splitlines()[1:]) == told["polls"]


def test_leases_tell_every_operation() -> None:
    told = report("leases", "--clients", "8", "--movies", "4", "--seconds", "2", "--ramp", "1", "--rate", "10")
    assert {"acquire", "heartbeat", "write", "release"} <= set(told["by_operation"])
    assert (told["errors"], told["violations"]) == ({}, [])
    assert told["calls_per_operation"]["dynamodb UpdateItem"] > 0


def test_pages_wait_for_their_traces() -> None:
    words = ("--editing", "4", "--viewing", "2", "--waiting", "12", "--frames", "20", "--seconds", "15", "--ramp", "1")
    told = report("pages", *words)  # so many traces that a quick machine is not done with them in the ramp
    assert told["traced"] == 12
    assert (told["errors"], told["leases_lost"]) == ({}, 0)
    assert told["cores_used"]["engine"] > 0
