"""One whole request and one whole reply of an ASGI application called in the same process."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer: status, headers and body."""

    status: int
    headers: Headers
    body: bytes

    async def send(self, send: Send) -> None:
        """Hand the answer to an ASGI server."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    """The value of one header (its name in lower case), empty if it is absent."""
    return next((value for key, value in headers if key == name), b"")


async def read_body(receive: Receive) -> bytes | None:
    """The whole request body, in time linear in its length. None if the client left before its end."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def call(app: App, scope: Scope, body: bytes) -> Reply:
    """Give one whole request to the application and collect its whole reply."""
    unread = [body]
    status, headers, parts = 500, [], []

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], list(message.get("headers", []))
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return Reply(status, headers, b"".join(parts))


def http_scope(method: str, path: str, query: bytes, headers: Headers) -> Scope:
    """The ASGI scope of a request that we make ourselves."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8"),
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
    }
