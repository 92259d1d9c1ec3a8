"""What a process logs while a test does something."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from service import logs


@contextmanager
def logged() -> Iterator[list[dict[str, Any]]]:
    """What this process logs meanwhile, filled at the end; lines of the client that asks are left out."""
    out, lines = io.StringIO(), list[dict[str, Any]]()
    root, former = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    logs.configure("info", out)
    try:
        yield lines
    finally:
        structlog.configure(**former)
        root.handlers[:] = handlers
        root.setLevel(level)
        lines += [line for text in out.getvalue().splitlines() if (line := json.loads(text)).get("logger") != "httpx"]
