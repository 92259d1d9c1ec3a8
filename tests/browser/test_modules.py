"""The pages' pure modules under Node's own test runner: no browser, no server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent / "js"
OLDEST_NODE = 20


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed; the pages' modules are then tested through the browser alone")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=20).stdout
    if int(version.removeprefix("v").split(".")[0]) < OLDEST_NODE:
        pytest.skip(f"Node {version.strip()} has no test runner that these tests can use; {OLDEST_NODE} has")
    return node


def test_the_pages_pure_modules_keep_their_promises() -> None:
    """All in one process: to start one for each file takes longer than most of their tests."""
    modules = sorted(TESTS.glob("*.test.mjs"))
    script = "".join(f"await import({json.dumps(module.as_uri())});\n" for module in modules)
    command = [_node(), "--test-reporter=tap", "--input-type=module", "--eval", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    failed = "\n".join(re.findall(r"^not ok .*?^  \.\.\.$", run.stdout, re.M | re.S))
    assert run.returncode == 0, failed[-6000:] + run.stderr[-2000:]
    assert "\n# fail 0\n" in run.stdout
    passed = re.search(r"^# pass (\d+)$", run.stdout, re.M)
    assert passed
    assert int(passed[1]) > 5 * len(modules), "each file has several"
