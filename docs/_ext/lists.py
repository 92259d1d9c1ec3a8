"""Put lists that are made from the code where a page asks for them, so that no page can be stale.

A line `% list settings` becomes the list of that name, a line `% route POST /api/new-movie` that route's parameters.
Pages that ask are read again at every build, since no file of theirs says when the code has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import capacity_list
from command_list import commands
from error_list import failures, refusals
from event_list import events, tries
from licence_list import licences
from metric_list import metrics
from route_list import route, routes
from settings_list import settings
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

LISTS: Mapping[str, Callable[[], str]] = {
    "capacity": capacity_list.needs,
    "capacity_deeds": capacity_list.deeds,
    "capacity_dollars": capacity_list.dollars,
    "capacity_limits": capacity_list.bounds,
    "capacity_prices": capacity_list.prices,
    "commands": commands,
    "events": events,
    "failures": failures,
    "licences": licences,
    "metrics": metrics,
    "refusals": refusals,
    "routes": routes,
    "settings": settings,
    "tries": tries,
}
_ASKED = re.compile(r"^% (list (?P<name>\w+)|route (?P<method>[A-Z]+) (?P<path>\S+))$", re.MULTILINE)


def filled(text: str) -> str:
    """A page with its lists in place. Raises ExtensionError for a list or route that does not exist."""

    def made(asked: re.Match[str]) -> str:
        try:
            return LISTS[asked["name"]]() if asked["name"] else route(asked["method"], asked["path"])
        except KeyError:
            raise ExtensionError(f"there is nothing to put in place of {asked[0]!r}") from None

    return _ASKED.sub(made, text)


def _fill(_: Sphinx, __: str, source: list[str]) -> None:
    source[0] = filled(source[0])


def _asking(_: Sphinx, env: BuildEnvironment, *__: Any) -> list[str]:
    """The pages that hold a list."""
    found = env.found_docs
    return [name for name in found if _ASKED.search(env.doc2path(name).read_text(encoding="utf-8"))]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    app.connect("env-get-outdated", _asking)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
