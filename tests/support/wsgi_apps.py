"""Small WSGI applications that say what they were given and when they were closed."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any


class Closing:
    """A WSGI response that counts how often it is closed and says when."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.closed = 0
        self.was_closed = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        self.closed += 1
        self.was_closed.set()


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """A WSGI application that answers with its environment."""
    text = {key: value for key, value in environ.items() if isinstance(value, str)}
    text["body"] = environ["wsgi.input"].read().decode("latin-1")
    body = json.dumps(text).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def streamed(response: Any) -> Any:
    """A WSGI application that answers with `response`, without a Content-Length."""

    def app(environ: dict[str, Any], start_response: Any) -> Any:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return response

    return app


async def happened(event: threading.Event) -> bool:
    """True once a thread set `event`; False after ten seconds."""
    return await asyncio.to_thread(event.wait, 10)
