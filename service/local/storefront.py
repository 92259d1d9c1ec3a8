"""Movies and results through the web service's own address, for the embedded default.

The embedded storage listens on this machine alone, and knows no secret: its signed links would be of no use elsewhere,
and dangerous if they were. So the web service hands movies out and takes them in itself, under addresses that name one
object, one deed and an end, signed with the service's own secret. Nothing else of the storage can be reached.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import structlog
from botocore.exceptions import ClientError
from itsdangerous import BadData, URLSafeSerializer

from service.domain.errors import StoreUnavailable
from service.local.form_file import FileForm, WrongForm
from service.request_body import refuse
from service.store.objects import ObjectMissing, Objects

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PREFIX = "/storage/"
SHOWN_TYPES = ("video/", "image/jpeg", "image/png", "application/zip")
"""What a browser may take an object for. Anything else that somebody uploaded must not run as a page of ours."""
_PIECE = 1 << 18
_GUARD = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; media-src 'self'; img-src 'self'; sandbox"),
    (b"cache-control", b"private, max-age=3600"),
    (b"accept-ranges", b"bytes"),
)

log = structlog.get_logger(__name__)


class Storefront:
    """Makes the addresses (see service.store.objects.Front) and answers what is asked of them."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._tokens = URLSafeSerializer(secret, salt="tiptrace.storage")
        self._clock = clock

    def link(self, key: str, disposition: str | None, seconds: int) -> str:
        """The path below the service's address from which this object can be fetched for so many seconds."""
        return self._path(["get", key, disposition or "", seconds])

    def form(self, key: str, length: int, seconds: int) -> dict[str, Any]:
        """A form {url, fields} that takes exactly `length` bytes under `key`."""
        return {"url": self._path(["put", key, length, seconds]), "fields": {"key": key}}

    def _path(self, claim: list[Any]) -> str:
        """The token, and after it the file's own name, under which a browser saves it."""
        claim[-1] += int(self._clock())
        return f"{PREFIX}{self._tokens.dumps(claim)}/{claim[1].rpartition('/')[2]}"

    def _claim(self, token: str, deed: str) -> tuple[str, Any] | None:
        try:
            claimed, key, more, expires = self._tokens.loads(token)
        except (BadData, ValueError, TypeError):
            return None
        return (key, more) if claimed == deed and expires > self._clock() else None

    async def serve(self, objects: Objects, scope: Message, receive: Receive, send: Send, token: str) -> None:
        """Answer one request for /storage/<token>, with or without a name behind it."""
        deed = {"GET": "get", "HEAD": "get", "POST": "put"}.get(scope["method"], "")
        claim = self._claim(token.partition("/")[0], deed)
        if claim is None:
            await _refuse(scope, receive, send, 404, "not_found", "This link is not valid any more.")
            return
        key, more = claim
        try:
            if deed == "put":
                await _take_in(objects, scope, receive, send, key, int(more))
            else:
                await _hand_out(objects, scope, receive, send, key, str(more))
        except ObjectMissing:
            await _refuse(scope, receive, send, 404, "not_found", "There is no such file.")
        except StoreUnavailable as error:
            await _refuse(scope, receive, send, 503, error.code, error.message)


async def _take_in(objects: Objects, scope: Message, receive: Receive, send: Send, key: str, length: int) -> None:
    """Store the form's file if it has exactly the length that was announced. Raises StoreUnavailable, also for a full
    disk: a browser keeps the file, and sends it again."""
    try:
        with tempfile.TemporaryDirectory(prefix="tiptrace-upload-") as folder:
            path = Path(folder) / "file"
            with path.open("wb") as file:
                form = FileForm(_header(scope, b"content-type"), length, file.write)
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return
                    form.feed(message.get("body", b""))
                    if not message.get("more_body", False):
                        break
                form.end()
            await objects.upload(key, path, "application/octet-stream")
    except WrongForm as error:
        await _refuse(scope, receive, send, 400, "invalid_parameter", str(error))
        return
    except OSError:
        raise StoreUnavailable from None
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _hand_out(objects: Objects, scope: Message, receive: Receive, send: Send, key: str, disposition: str) -> None:
    span = _header(scope, b"range") if not _header(scope, b"if-range") else None
    try:
        reply = await objects.opened(key, span)
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") != 416:
            raise StoreUnavailable from None
        await _refuse(scope, receive, send, 416, "range_not_satisfiable", "The file is shorter than that.")
        return
    kind = reply.get("ContentType", "")
    headers = [
        (b"content-type", (kind if kind.startswith(SHOWN_TYPES) else "application/octet-stream").encode("latin-1")),
        (b"content-length", str(reply["ContentLength"]).encode()),
        (b"etag", reply["ETag"].encode("latin-1")),
        *_GUARD,
    ]
    if disposition:
        headers.append((b"content-disposition", disposition.encode("latin-1")))
    if reply.get("ContentRange"):
        headers.append((b"content-range", reply["ContentRange"].encode("latin-1")))
    async with reply["Body"] as body:
        await send(
            {"type": "http.response.start", "status": 206 if reply.get("ContentRange") else 200, "headers": headers}
        )
        if scope["method"] == "GET":
            await _pour(body, receive, send)
    await send({"type": "http.response.body", "body": b""})


async def _pour(body: Any, receive: Receive, send: Send) -> None:
    """The object's bytes, until it or the client's patience ends: a player asks for much and leaves soon."""
    gone = asyncio.create_task(_left(receive))
    try:
        async for piece in body.content.iter_chunked(_PIECE):
            if gone.done():
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        gone.cancel()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _header(scope: Message, name: bytes) -> str:
    found: bytes = next((value for key, value in scope["headers"] if key == name), b"")
    return found.decode("latin-1")


async def _refuse(scope: Message, receive: Receive, send: Send, status: int, code: str, message: str) -> None:
    log.info("storage.refused", status=status, code=code)
    unread = 0 if scope["method"] in ("GET", "HEAD") else None
    await refuse(scope, receive, send, status, code=code, message=message, unread=unread)
