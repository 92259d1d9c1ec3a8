"""One person's requests to the service, each answered, refused or failed, between two instants."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from service.bench.wire import Client, Reply, Unanswered, get, post

LONGEST_REST = 5.0
_RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came between two instants of the monotonic clock.

    `told`: the JSON, of a refusal too; empty for a 304. `fault` says why there is no answer; the next request should
    then wait `rest` seconds.
    """

    start: float
    end: float
    status: int = 0
    told: Mapping[str, Any] = field(default_factory=dict)
    tag: bytes | None = None
    fault: str | None = None
    rest: float = 0.0

    @property
    def accepted(self) -> bool:
        return self.fault is None and (self.status == 304 or self.told.get("error") is False)

    def expires(self, at: Mapping[str, Any] | None = None) -> float:
        """The earliest instant, on the monotonic clock, at which a lease with the wall-clock expiry told is stale.

        Both clocks are this machine's or close; a second is given away because stored instants are whole seconds.
        """
        told = (self.told if at is None else at).get("expires_at")
        return self.end + max(0.0, told - time.time() - 1.0) if told else 0.0


class Session:
    """Asks with one API key over one connection."""

    def __init__(self, url: str, key: str) -> None:
        self._client = Client(url)
        self._headers = f"X-Api-Key: {key}\r\nX-Client-Version: bench-1\r\n".encode()

    async def post(self, route: str, **fields: Any) -> Answer:
        """A form."""
        return await self._ask(post(self._client.host, route, urlencode(fields).encode(), self._headers))

    async def get(self, target: str, tag: bytes | None = None) -> Answer:
        """`tag`: of the answer that is held already."""
        held = b"If-None-Match: %s\r\n" % tag if tag else b""
        return await self._ask(get(self._client.host, target, self._headers + held))

    def close(self) -> None:
        self._client.close()

    async def _ask(self, request: bytes) -> Answer:
        start = time.monotonic()
        try:
            reply = await self._client.ask(request)
            end = time.monotonic()
            told = json.loads(reply.body) if reply.body else {}
        except (Unanswered, ValueError) as fault:
            return Answer(start, time.monotonic(), fault=f"unanswered, {fault}", rest=_RETRY_SECONDS)
        if reply.status >= 500 or reply.status == 429:
            return Answer(start, end, reply.status, fault=f"{reply.status} {told.get('code')}", rest=_rest(reply))
        return Answer(start, end, reply.status, told, reply.header(b"etag"))


def _rest(reply: Reply) -> float:
    return min(LONGEST_REST, float(reply.header(b"retry-after") or _RETRY_SECONDS))
