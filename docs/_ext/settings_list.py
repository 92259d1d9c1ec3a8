"""The settings, as `service.settings` has them."""

from __future__ import annotations

from typing import Any

from pieces import code, table
from pydantic.fields import FieldInfo

from service.settings import Settings

_DATA = "~/.local/share/tiptrace"


def settings() -> str:
    """A table of every setting with its default and what it does."""
    rows = [(code(name_of(field)), _default(field, found), found.description or "") for field, found in _fields()]
    return table(("setting", "default", "what it does"), rows)


def name_of(field: str) -> str:
    """The variable of the environment that sets a field."""
    return f"TIPTRACE_{field.upper()}"


def _fields() -> list[tuple[str, FieldInfo]]:
    return list(Settings.model_fields.items())


def _default(field: str, found: FieldInfo) -> str:
    """What holds if nothing is set. The data folder depends on who asks, so it is written as people type it."""
    if field == "data":
        return code(_DATA)
    default: Any = found.default
    if default is None:
        return "unset"
    return code(str(int(default) if isinstance(default, bool) else default))
