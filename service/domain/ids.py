"""Identifiers: how each kind is made and how it is recognised."""

from __future__ import annotations

import re
import secrets
import uuid

API_KEY = re.compile(r"a[0-9a-f]{32}\Z")
USER_ID = re.compile(r"u[0-9a-f-]{36}\Z")
MOVIE_ID = re.compile(r"m[0-9a-f-]{36}\Z")
REQUEST_KEY = re.compile(r"[\x21-\x7e]{1,200}\Z")


class Ids:
    """The source of new identifiers. Tests pass one of their own to make runs repeatable."""

    def token(self) -> str:
        """A lease id, claim id, job id or marker id: uuid4 hex, 122 random bits."""
        return uuid.uuid4().hex

    def api_key(self) -> str:
        return "a" + secrets.token_hex(16)

    def user_id(self) -> str:
        return f"u{uuid.uuid4()}"

    def movie_id(self) -> str:
        return f"m{uuid.uuid4()}"

    def log_id(self, now: int) -> str:
        """Sorts by time, then at random."""
        return f"{now:011d}-{uuid.uuid4().hex}"
