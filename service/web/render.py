"""Answers: the envelope of what went well, and validators for what may be kept."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from flask import Response, jsonify, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.datastructures import Headers


class Json(DefaultJSONProvider):
    """JSON as it is sent: in the order it was made, compact; sets of older rows as lists."""

    sort_keys = False
    compact = True

    @staticmethod
    def default(value: Any) -> Any:
        if isinstance(value, set | frozenset):
            return sorted(value)
        if isinstance(value, bytes):
            return None  # nothing that a page could show
        return DefaultJSONProvider.default(value)


def said(status: int = 200, headers: dict[str, str] | None = None, /, **told: Any) -> Response:
    """{"error": false, ...}. Nothing in between keeps it."""
    answer = jsonify(error=False, **told)
    answer.status_code = status
    answer.headers["Cache-Control"] = "no-store"
    answer.headers.update(headers or {})
    return answer


def fingerprint(*parts: Any) -> str:
    """A short hash that changes whenever anything in `parts` does."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def revalidated(answer: Response, tag: str) -> Response:
    """Let the caller's own browser keep the answer, and ask each time whether it still holds."""
    answer.headers.update(_validator(tag))
    return answer


class Unchanged(Response):
    """A 304: there is nothing to see to in its headers and no body, so it is sent as it was made."""

    default_status = 304
    default_mimetype = None

    def get_wsgi_headers(self, environ: Any) -> Headers:
        return self.headers


def unchanged(tag: str) -> Response | None:
    """The 304 if the caller holds this very version, so that nothing needs to be fetched for it."""
    offered = request.headers.get("If-None-Match", "")
    if offered == "*" or f'"{tag}"' in offered:  # weakly or not: what is told is the same
        return Unchanged(headers=_validator(tag))
    return None


def _validator(tag: str) -> list[tuple[str, str]]:
    return [
        ("ETag", f'"{tag}"'),
        ("Cache-Control", "private, no-cache"),
        ("Vary", "Cookie, X-Api-Key, Authorization"),
    ]
