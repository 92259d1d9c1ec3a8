"""The name under which a browser saves a file. Pure."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote

_LONGEST_TITLE = 80


def called_after(title: str | None, ending: str) -> str:
    """The Content-Disposition of a file of a movie: its title, shortened, and what the file is.

    Everything in one folder keeps its own name then, and says whose it is.
    """
    return content_disposition(f"{(title or 'movie')[:_LONGEST_TITLE]} {ending}")


def content_disposition(filename: str) -> str:
    """`attachment` with the name twice, as RFC 6266 asks: plain ASCII for old clients, UTF-8 for the others.

    Control characters, quotes, slashes and backslashes are gone from both; an empty name becomes "download".
    """
    clean = "".join(c for c in filename if c.isprintable() and c not in '"\\/').strip(" .") or "download"
    plain = unicodedata.normalize("NFKD", clean).encode("ascii", "ignore").decode().strip() or "download"
    plain = plain.replace("%", "_").replace(";", "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(clean, safe='')}"
