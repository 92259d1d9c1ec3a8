"""The address of a mail server, as a setting writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Server:
    """Where to hand letters in. `tls`: from the first byte, by STARTTLS (refused without), or not at all."""

    host: str
    port: int
    tls: Literal["at once", "starttls", "none"]
    user: str | None = None
    password: str | None = None


def server_of(url: str) -> Server:
    """smtp://user:password@host:port, smtps://..., and `?starttls`. Raises ValueError, without the password."""
    parts = urlsplit(url)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("must look like smtp://user:password@host:port, smtps://host or smtp://host?starttls")
    starttls = "starttls" in parse_qs(parts.query, keep_blank_values=True)
    if parts.scheme == "smtps":
        tls: Literal["at once", "starttls", "none"] = "at once"
    else:
        tls = "starttls" if starttls else "none"
    try:
        port = parts.port or {"at once": 465, "starttls": 587, "none": 25}[tls]
    except ValueError:
        raise ValueError("has a port that is no number") from None
    user = unquote(parts.username) if parts.username else None
    return Server(parts.hostname, port, tls, user, unquote(parts.password) if parts.password else None)
