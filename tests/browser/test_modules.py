"""The pages' pure modules under Node's own test runner: no browser, no server."""

from __future__ import annotations

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


@pytest.mark.parametrize("module", sorted(path.name for path in TESTS.glob("*.test.mjs")))
def test_the_pages_pure_modules_keep_their_promises(module: str) -> None:
    run = subprocess.run([_node(), "--test", str(TESTS / module)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert "# fail 0" in run.stdout or "fail 0" in run.stdout
