"""An HTTP client that costs next to nothing, because the service that it measures runs on the same processors.

It speaks just what a load needs of HTTP/1.1: one connection that is kept, one request at a time, answers of a known
length.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

PATIENCE = 30.0
"""Seconds after which a request counts as unanswered."""


class Unanswered(Exception):
    """The connection could not be made, ended before the answer did, or stayed silent for too long."""


class Unreadable(Unanswered):
    """The answer is not of the kind that this client understands."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    head: bytes
    body: bytes

    def header(self, name: bytes) -> bytes | None:
        """The value of a header, whose name is given in lower case."""
        begin = self.head.lower().find(b"\r\n" + name + b":")
        if begin < 0:
            return None
        begin += len(name) + 3
        return self.head[begin : self.head.index(b"\r\n", begin)].strip()


class Client:
    """One page's connection to `url` (http only), made when first needed and again after it was lost."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 80
        self.host = address.netloc.encode()
        self._wire: _Wire | None = None
        self.connections = 0

    async def ask(self, request: bytes) -> Reply:
        """Send a whole request; the answer to it. Raises Unanswered."""
        wire = self._wire
        try:
            async with asyncio.timeout(PATIENCE):
                if wire is None or wire.closed:
                    loop = asyncio.get_running_loop()
                    _, wire = await loop.create_connection(_Wire, self._host, self._port)
                    self._wire = wire
                    self.connections += 1
                return await wire.ask(request)
        except (OSError, TimeoutError) as fault:
            self.close()
            raise Unanswered(type(fault).__name__) from None

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None


class _Wire(asyncio.Protocol):
    """Bytes of one answer become a Reply."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Reply] | None = None
        self._buffer = b""
        self._head = b""
        self._length = -1

    @property
    def closed(self) -> bool:
        return self._transport is None

    def ask(self, request: bytes) -> asyncio.Future[Reply]:
        if self._transport is None:
            raise ConnectionResetError
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, fault: Exception | None) -> None:
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(fault or ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if self._length < 0:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            self._head, self._buffer = self._buffer[: end + 2], self._buffer[end + 4 :]
            self._length = _length(self._head)
            if self._length < 0:
                self._fail()
                return
        if len(self._buffer) >= self._length:
            reply = Reply(int(self._head[9:12]), self._head, self._buffer[: self._length])
            self._buffer, self._length = self._buffer[self._length :], -1
            if self._waiting is not None and not self._waiting.done():
                self._waiting.set_result(reply)

    def _fail(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Unreadable("no length"))
        self.close()


def _length(head: bytes) -> int:
    """How long the body is; -1 if the answer does not say."""
    if head[9:12] in (b"304", b"204"):
        return 0
    small = head.lower()
    begin = small.find(b"\r\ncontent-length:")
    if begin < 0:
        return -1
    return int(small[begin + 17 : small.index(b"\r\n", begin + 17)])


def get(host: bytes, target: str, headers: bytes = b"") -> bytes:
    """A GET request; `headers` are whole lines."""
    return b"GET %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\n%s\r\n" % (target.encode(), host, headers)


def post(host: bytes, target: str, body: bytes, headers: bytes = b"") -> bytes:
    """A POST of a form; `headers` are whole lines."""
    return (
        b"POST %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: %d\r\n%s\r\n%s" % (target.encode(), host, len(body), headers, body)
    )
