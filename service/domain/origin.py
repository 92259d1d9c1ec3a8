"""The origin of an address, as browsers compare it."""

from __future__ import annotations

from urllib.parse import urlsplit


def origin_of(url: str) -> str:
    """Scheme, host and port in lower case, without the port that the scheme implies."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    implied = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in (None, implied) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"
