"""Every threat in docs/threats.md names tests that exist, and so that none is overlooked every table has them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threats.md"
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(one.name for one in tree.body if isinstance(one, found) and one.name.startswith("test_"))


def threats() -> list[list[str]]:
    """The rows of the tables about threats: threat, what is done, tests."""
    rows: list[list[str]] = []
    inside = False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| threat |"):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("| ---"):
            rows.append(cells)
    return rows


def test_every_threat_names_what_is_done_and_tests_that_exist() -> None:
    rows = threats()
    assert len(rows) > 50
    for row in rows:
        assert len(row) == 3, row
        named = _NAMED.findall(row[2])
        assert named, row
        assert _NAMED.sub("", row[2]).strip(" ,") == "", row
        for path, name in named:
            assert (ROOT / path).is_file(), path
            assert name in names_in(path), f"{path}::{name}"
    assert len({row[0] for row in rows}) == len(rows)


def test_both_pages_about_security_lead_to_the_threats() -> None:
    for page in ("index.md", "security.md"):
        assert "](threats.md" in (ROOT / "docs" / page).read_text(encoding="utf-8"), page
