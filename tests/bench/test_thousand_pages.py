"""A thousand open Analyze pages at their real pace beside two tracing jobs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from rich.console import Console

from service.cli.bench_report import print_operations

LONGEST_P99_MS = 500


@pytest.mark.bench
@pytest.mark.timeout(420)
def test_a_thousand_open_pages_lose_no_lease_while_two_movies_are_traced() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "service.cli", "bench", "pages", "--json"], capture_output=True, text=True, check=False
    )
    assert ran.stdout, ran.stderr[-2000:]
    report = json.loads(ran.stdout)
    print()
    print_operations(Console(), "a thousand pages", report)
    print(f"{report['traced']} traces ended; cores used: {report['cores_used']}")
    assert report["traced"] >= 2, "the workers worked"
    assert (report["leases_lost"], report["errors"], report["violations"]) == (0, {}, [])
    assert report["latency"]["p99_ms"] < LONGEST_P99_MS
    assert ran.returncode == 0
