"""Which pages a bucket lets in: its rules about other origins (CORS), read as S3 reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

FOR_BROWSERS: dict[str, Any] = {
    "AllowedMethods": ["GET", "HEAD", "POST"],
    "AllowedOrigins": ["*"],
    "AllowedHeaders": ["*"],
    "ExposeHeaders": ["ETag", "Content-Range", "Accept-Ranges", "Content-Length"],
    "MaxAgeSeconds": 3600,
}
"""The rule that `create-tables` gives a bucket: any page may use a signed link, and nothing without one."""

NEEDED = (("GET", ("range",)), ("POST", ()))
"""What our pages ask of a bucket: pieces of an archive, and to take a movie in. Methods with the headers they send."""


def lets(rules: Iterable[Mapping[str, Any]], origin: str | None, method: str, headers: Iterable[str] = ()) -> bool:
    """May a page of `origin` (None: of any) send such a request? One rule must allow all of it, as on S3."""
    return any(
        _matches(rule.get("AllowedOrigins", ()), origin if origin is not None else "*")
        and method in rule.get("AllowedMethods", ())
        and all(_matches(rule.get("AllowedHeaders", ()), header, re.IGNORECASE) for header in headers)
        for rule in rules
    )


def missing(rules: Iterable[Mapping[str, Any]], origin: str | None) -> list[str]:
    """The methods that our pages need and the rules do not let them use."""
    known = list(rules)
    return [method for method, headers in NEEDED if not lets(known, origin, method, headers)]


def _matches(patterns: Iterable[str], value: str, flags: int = 0) -> bool:
    """A pattern may hold one `*`, which stands for any number of characters."""
    return any(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), value, flags) for pattern in patterns)
