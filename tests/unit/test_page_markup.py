"""The pages as they lie in the package: what their scripts rely on."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "frontend").glob("*.html"))
_NAME = re.compile(r"""\sid="([^"]*)\"""")
_REFERENCE = re.compile(r"""\s(?:for|aria-labelledby|aria-describedby|aria-controls)="([^"]*)\"""")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_two_parts_of_a_page_share_a_name_and_every_name_referred_to_is_there(page: Path) -> None:
    markup = page.read_text(encoding="utf-8")
    names = Counter(_NAME.findall(markup))
    assert names, "the page has parts with names"
    assert [name for name, count in names.items() if count > 1] == []
    referred = {name for names_of in _REFERENCE.findall(markup) for name in names_of.split()}
    assert referred - set(names) == set()
