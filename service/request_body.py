"""A request's body on its way in: read up to a cap, and refused while it is still arriving.

A body is read before a thread is taken, so that a slow upload holds a connection and nothing else. Small bodies stay
in memory, larger ones go to a temporary file.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import IO, Any, cast

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
RawHeaders = Iterable[tuple[bytes, bytes]]

IN_MEMORY_BYTES = 256 * 1024
# What the server may throw away behind a refusal so that the connection can serve the next request.
DISCARD_BYTES = 16 * 1024 * 1024
# How long a refused upload that is to be cut off may go on, so that its sender reads the answer before the reset.
LINGER_SECONDS = 5.0


class BodyTooLarge(Exception):
    """The request is larger than the {limit} bytes this service takes."""

    code = "too_large"

    def __init__(self, limit: int, unread: int | None) -> None:
        """`unread`: bytes that are still to come, None if nobody said how many."""
        self.unread = unread
        super().__init__((type(self).__doc__ or "").format(limit=limit))


class ClientLeft(Exception):
    """The client went away before its request was complete."""


def declared_length(headers: RawHeaders) -> int | None:
    """Bytes that the request's head promises: 0 for a request without a body, None if the body is chunked."""
    fields = {name.lower(): value for name, value in headers}
    if b"transfer-encoding" in fields:
        return None
    length = fields.get(b"content-length", b"0").strip()
    return int(length) if length.isdigit() else None


async def read_body(receive: Receive, *, limit: int, declared: int | None) -> tuple[IO[bytes], int]:
    """The whole body as a file at its start, and its size in bytes.

    A promise above `limit` is refused before a byte is read (a client that waits for `100 Continue` never sends it);
    a body that turns out longer than it promised is refused at the chunk that crosses the limit. The caller closes
    the file.

    Errors: BodyTooLarge; ClientLeft, after which the request must not be acted on.
    """
    if declared is not None and declared > limit:
        raise BodyTooLarge(limit, declared)
    file = cast("IO[bytes]", tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))  # noqa: SIM115 - the caller closes it
    size = 0
    try:
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientLeft
            more = message.get("more_body", False)
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise BodyTooLarge(limit, (None if declared is None else max(declared - size, 0)) if more else 0)
            file.write(chunk)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file, size


async def answer(
    send: Send, status: int, *, code: str, message: str, headers: RawHeaders = (), more: bool = False
) -> None:
    """Send one error answer in the contract's envelope. With `more` the caller still owes the closing message."""
    body = json.dumps({"error": True, "message": message, "code": code}).encode()
    fixed = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*fixed, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def refuse(
    scope: Message,
    receive: Receive,
    send: Send,
    status: int,
    *,
    code: str,
    message: str,
    unread: int | None,
    headers: RawHeaders = (),
) -> None:
    """Answer a request of which `unread` bytes are still to come (None: unknown), leaving a sound connection.

    A short remainder is left to the server, which throws it away and keeps the connection. A long or unknown one ends
    the connection, but only after the sender had `LINGER_SECONDS` to finish: closing on unread bytes resets the
    connection, and the sender would lose the answer. A client that waits for `100 Continue` may or may not send its
    body now, so that connection cannot be reused either.
    """
    waits_for_go = unread != 0 and any(name.lower() == b"expect" for name, _ in scope["headers"])
    if not waits_for_go and unread is not None and unread <= DISCARD_BYTES:
        await answer(send, status, code=code, message=message, headers=headers)
        return
    close = (b"connection", b"close")
    linger = not waits_for_go
    await answer(send, status, code=code, message=message, headers=[*headers, close], more=linger)
    if linger:
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while (await receive()).get("more_body", False):
                    pass
        except TimeoutError:
            pass  # it had its time; the close may now reset it
        await send({"type": "http.response.body", "body": b""})
