"""One request as a WSGI application (PEP 3333) sees it: its environment, its response drawn chunk by chunk, its close.

Knows nothing of threads and event loops; `bridge.py` says where each step runs.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import TracebackType
from typing import IO, Any
from wsgiref.util import FileWrapper

import structlog

from service.request_body import Message, RawHeaders

Environ = dict[str, Any]
WsgiApp = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
AsyncApp = Callable[[Environ, Callable[..., Any]], Awaitable[Iterable[bytes]]]
"""What a WSGI application would be if it could wait: the same arguments, the same answer."""
ExcInfo = tuple[type[BaseException], BaseException, TracebackType]

# A response that promises no more than this is gathered and sent in one go.
GATHER_BYTES = 64 * 1024
FILE_BLOCK_BYTES = 64 * 1024

log = structlog.get_logger(__name__)


class Exchange:
    """One request as the WSGI application sees it. Its plain methods block: call them in a thread, one at a time."""

    def __init__(self, app: WsgiApp, environ: Environ) -> None:
        self.closed = False
        self._app = app
        self._environ = environ
        self._head: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self._head_is_out = False
        self._promised: int | None = None  # the response's Content-Length
        self._written: list[bytes] = []
        self._response: Iterable[bytes] = ()
        self._chunks: Iterator[bytes] = iter(())

    @property
    def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers. Taking them ends the application's right to replace them."""
        assert self._head is not None, "`begin` ends with a head or an error"
        self._head_is_out = True
        return self._head

    def begin(self) -> bytes:
        """Call the application; return the whole body (`closed` is then set) or the first chunk of a longer one.

        Whole: what ends without a byte, promises at most GATHER_BYTES, or keeps its whole promise in its first chunk.
        """
        try:
            self._response = self._app(self._environ, self._start_response)
            return self._gathered()
        except BaseException:
            self.close()
            raise

    async def begin_on_loop(self, app: AsyncApp) -> bytes:
        """The same with an application that waits for what it needs instead of blocking."""
        try:
            self._response = await app(self._environ, self._start_response)
            return self._gathered()
        except BaseException:
            self.close()
            raise

    def _gathered(self) -> bytes:
        self._chunks = iter(self._response)
        gathered = b""
        while chunk := self._draw():
            gathered += chunk
            promised, size = self._promised, len(gathered)
            if promised is None or not (size == promised or size < promised <= GATHER_BYTES):
                break
        if self._head is None:
            raise RuntimeError("the WSGI application answered without calling start_response")
        return gathered

    def more(self) -> bytes:
        """The next chunk; empty, with `closed` set, at the end."""
        try:
            return self._draw()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Tell the application that its response is done with, however it ended. Only the first call counts."""
        if self.closed:
            return
        self.closed = True
        try:
            close: Callable[[], None] = getattr(self._response, "close", lambda: None)
            close()
        except Exception:  # the response itself is whole, and its reader is owed it
            log.exception("wsgi_close_raised", path=self._environ["PATH_INFO"])
        finally:
            self._environ["wsgi.input"].close()

    def _draw(self) -> bytes:
        for chunk in self._chunks:
            self._written.append(chunk)
            if chunk:
                break
        drawn = b"".join(self._written)
        self._written.clear()
        if not drawn:
            self.close()
        return drawn

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: ExcInfo | None = None
    ) -> Callable[[bytes], None]:
        if exc_info is not None:
            if self._head_is_out:
                raise exc_info[1].with_traceback(exc_info[2])
        elif self._head is not None:
            raise RuntimeError("the WSGI application called start_response twice")
        self._head = (
            int(status[:3]),
            [(name.lower().encode("latin-1"), encoded(name, value)) for name, value in headers],
        )
        promised = [value for name, value in headers if name.lower() == "content-length"]
        self._promised = int(promised[0]) if promised else None
        return self._written.append


def encoded(name: str, value: str) -> bytes:
    """A header's value for the wire: Latin-1, as WSGI wants it, else UTF-8, which HTTP lets pass as opaque bytes.

    A name in Japanese in one header must not cost the whole answer; the log names the header that should have been
    encoded (RFC 8187) where it was made.
    """
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        log.warning("header_is_not_latin_1", header=name)
        return value.encode("utf-8")


def environ_of(scope: Message, body: IO[bytes], size: int) -> Environ:
    """The WSGI environment (PEP 3333) of an ASGI request whose body of `size` bytes is read.

    Text is bytes seen as Latin-1. The path is percent-decoded, so `%2F` is a slash, as under every WSGI server; the
    query is as it came. A chunked body shows as one with a Content-Length.
    """
    root = scope.get("root_path", "").rstrip("/")
    path = scope["path"]
    if path == root or path.startswith(root + "/"):
        path = path[len(root) :]
    host, port = scope.get("server") or ("localhost", None)
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": root.encode().decode("latin-1"),
        "PATH_INFO": path.encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 80),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": body,
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": file_wrapper,
    }
    if scope.get("client"):
        environ["REMOTE_ADDR"], environ["REMOTE_PORT"] = scope["client"][0], str(scope["client"][1])
    environ.update(header_variables(scope["headers"]))
    if size or "CONTENT_LENGTH" in environ:
        environ["CONTENT_LENGTH"] = str(size)
    return environ


def header_variables(headers: RawHeaders) -> dict[str, str]:
    """Request headers as CGI variables; repeated ones joined, cookies by a semicolon.

    A name with an underscore is dropped: it would pass for the one with a hyphen that a proxy sets or strips.
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        if b"_" in raw_name or raw_name.lower() == b"transfer-encoding":
            continue
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        key = name if name in ("CONTENT_LENGTH", "CONTENT_TYPE") else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        found[key] = f"{found[key]}{'; ' if name == 'COOKIE' else ','}{value}" if key in found else value
    return found


def file_wrapper(file: IO[bytes], block: int = FILE_BLOCK_BYTES) -> FileWrapper:
    """Files are sent in larger blocks than Flask asks for: each block is one way to a thread and back."""
    return FileWrapper(file, max(block, FILE_BLOCK_BYTES))
