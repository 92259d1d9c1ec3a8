"""Files that pages are made of, compressed once per process and kept in memory."""

from __future__ import annotations

import gzip
import hashlib
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from flask import Response, abort, request

_WORTH_BYTES = 512
"""A smaller file fits into the packet that its headers need anyway."""
_COMPRESSIBLE = frozenset({"text/javascript", "text/css", "text/html", "image/svg+xml", "application/json",
                           "application/manifest+json"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asset:
    """A file's bytes, the same compressed (None where that is not worth it), and what names this content."""

    body: bytes
    gzipped: bytes | None
    digest: str


Change = Callable[[bytes], bytes]


def asset(path: Path, kind: str, change: Change = bytes) -> Asset:
    """The file as it lies there now, after `change`. Raises OSError or ValueError where there is none of that name."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise FileNotFoundError(path)
    return _asset(path, kind, change, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _asset(path: Path, kind: str, change: Change, _changed: int, _size: int) -> Asset:
    body = change(path.read_bytes())
    small = gzip.compress(body, 9, mtime=0) if kind in _COMPRESSIBLE and len(body) >= _WORTH_BYTES else None
    return Asset(body, small, hashlib.sha256(body).hexdigest()[:32])


def answer(path: Path, kind: str, cache_control: str, change: Change = bytes) -> Response:
    """A file after `change`, with its ETag, compressed for whoever takes that. Aborts with 404 where there is none.

    The two encodings are two representations, so each has an ETag of its own (RFC 9110, 8.8.3.3).
    """
    try:
        found = asset(path, kind, change)
    except (OSError, ValueError):  # not there, a folder, or a name that no file can have
        abort(404)
    taken = found.gzipped is not None and request.accept_encodings.quality("gzip") > 0
    said = Response(found.gzipped if taken else found.body, mimetype=kind)
    if taken:
        said.content_encoding = "gzip"
    said.set_etag(f"{found.digest}-gzip" if taken else found.digest)
    said.vary.add("Accept-Encoding")
    said.headers["Cache-Control"] = cache_control
    said.make_conditional(request)
    return said
