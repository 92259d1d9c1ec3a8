"""A proxy in front of the emulator that loses, doubles, delays, refuses and breaks requests by a plan.

It listens on a port of its own in the test's event loop. Without a plan every request goes through unchanged.
Operations are named `dynamodb:UpdateItem`, `sqs:SendMessage`, `s3:PutObject`; a plan may use patterns (`dynamodb:*`).
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from urllib.parse import parse_qsl, urlsplit

Hook = Callable[["Request"], Awaitable[None]]
WRITES = (
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:TransactWriteItems",
    "sqs:SendMessage",
    "sqs:DeleteMessage",
    "s3:PutObject",
    "s3:CopyObject",
    "s3:DeleteObject",
)
"""Operations that leave something durable behind."""


class Fault(Enum):
    """What happens to a request. Those named `..._BEFORE` never reach the emulator, the others do at once but LATE."""

    PASS = "goes through; for plans that only want their hook run"
    DROP_REPLY = "done, then the connection is closed instead of an answer"
    RESET_REPLY = "done, then the connection is reset instead of an answer"
    CUT_REPLY = "done, then the connection is closed in the middle of the answer"
    ERROR_REPLY = "done, then answered 500"
    PAGE_REPLY = "done, then answered 200 with a page"
    JSON_REPLY = "done, then answered 200 with JSON of somebody else"
    LIST_REPLY = "done, then answered 200 with JSON that is no object"
    EMPTY_REPLY = "done, then answered 200 with nothing"
    TWICE = "done twice, then the second answer is given"
    LATE = "the connection is reset, and the request arrives when `deliver_late` is called"
    RESET_BEFORE = "the connection is reset"
    ERROR_BEFORE = "answered 500"
    THROTTLED_BEFORE = "answered ProvisionedThroughputExceeded"
    LIMITED_BEFORE = "answered ThrottlingException"
    CONFLICT_BEFORE = "a transaction is cancelled for a conflict with another one"
    PAGE_BEFORE = "answered 200 with a page"
    PORTAL_BEFORE = "answered 403 with a page"
    BUSY_BEFORE = "answered 429 with a page"
    DENIED_BEFORE = "answered 400 with an error that no repetition cures"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came, and its number among all that the proxy has seen."""

    number: int
    operation: str
    method: str
    target: str
    head: bytes
    body: bytes

    @property
    def writes(self) -> bool:
        return self.operation in WRITES

    def json(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.body or b"{}")
        return found


@dataclass
class Plan:
    """One line of the programme: which requests, what happens, when.

    Of the requests that match, those numbered `first`, `first + every`, ... are hit, `times` at most (None: no limit),
    and only while `active` says so. `gate` is awaited before the request is passed on, `hook` when it has been done or
    would have been.
    """

    operations: tuple[str, ...]
    fault: Fault
    first: int = 1
    every: int = 1
    times: int | None = None
    delay: float = 0.0
    gate: Hook | None = None
    hook: Hook | None = None
    active: Callable[[], bool] = lambda: True
    matching: Callable[[Request], bool] = lambda _: True
    seen: int = 0
    hits: list[Request] = field(default_factory=list)

    def hit(self, request: Request) -> bool:
        if not any(fnmatchcase(request.operation, pattern) for pattern in self.operations):
            return False
        if not self.matching(request) or not self.active():
            return False
        self.seen += 1
        due = self.seen >= self.first and (self.seen - self.first) % self.every == 0
        if not due or (self.times is not None and len(self.hits) >= self.times):
            return False
        self.hits.append(request)
        return True


class FaultProxy:
    """`async with FaultProxy(endpoint) as proxy`, then `proxy.endpoint` is where clients go."""

    def __init__(self, upstream: str) -> None:
        address = urlsplit(upstream)
        self._upstream = address.hostname or "127.0.0.1", address.port or 80
        self._server: asyncio.Server | None = None
        self._port = 0
        self._plans: list[Plan] = []
        self._late: list[Request] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.seen: list[Request] = []

    async def __aenter__(self) -> FaultProxy:
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @contextmanager
    def fault(
        self,
        operations: str | tuple[str, ...],
        fault: Fault = Fault.PASS,
        *,
        first: int = 1,
        every: int = 1,
        times: int | None = None,
        delay: float = 0.0,
        gate: Hook | None = None,
        hook: Hook | None = None,
        active: Callable[[], bool] = lambda: True,
        matching: Callable[[Request], bool] = lambda _: True,
    ) -> Iterator[Plan]:
        """Let this happen until the block is left."""
        patterns = (operations,) if isinstance(operations, str) else operations
        plan = Plan(patterns, fault, first, every, times, delay, gate, hook, active, matching)
        self._plans.append(plan)
        try:
            yield plan
        finally:
            self._plans.remove(plan)

    @asynccontextmanager
    async def refusing(self) -> AsyncIterator[None]:
        """Nobody listens: connections are cut and new ones refused until the block is left."""
        await self._close()
        try:
            yield
        finally:
            await self._listen()

    async def deliver_late(self) -> list[bytes]:
        """Requests that were held back arrive now; the answers that nobody waits for."""
        held, self._late = self._late, []
        answers = []
        for request in held:
            upstream = _Upstream(self._upstream)
            answers.append(await upstream.exchange(request))
            upstream.close()
        return answers

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=1 << 20)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        upstream = _Upstream(self._upstream)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while (request := await self._read_request(reader, writer)) is not None:
                    if not await self._answer(request, writer, upstream):
                        return
        finally:
            upstream.close()
            writer.close()

    async def _read_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        headers = _headers(head)
        if "expect" in headers:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))
        body = await _body(reader, headers)
        head = _unchunked(head, headers, body)
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        request = Request(len(self.seen) + 1, _operation(method, target, headers), method, target, head, body)
        self.seen.append(request)
        return request

    async def _answer(self, request: Request, writer: asyncio.StreamWriter, upstream: _Upstream) -> bool:
        """Do to the request what is planned. False if the client's connection is gone afterwards."""
        plan = next((plan for plan in self._plans if plan.hit(request)), None)
        fault = plan.fault if plan else Fault.PASS
        if plan and fault is Fault.LATE:
            self._late.append(request)
            if plan.hook:
                await plan.hook(request)
            _reset(writer)
            return False
        if plan and plan.delay:
            await asyncio.sleep(plan.delay)
        if plan and plan.gate:
            await plan.gate(request)
        reply = b""
        if not fault.name.endswith("_BEFORE"):
            reply = await upstream.exchange(request)
            if fault is Fault.TWICE:
                reply = await upstream.exchange(request)
        if plan and plan.hook:
            await plan.hook(request)
        if fault is Fault.DROP_REPLY:
            return False
        if fault in (Fault.RESET_REPLY, Fault.RESET_BEFORE):
            _reset(writer)
            return False
        if fault is Fault.CUT_REPLY:
            end = reply.index(b"\r\n\r\n") + 4
            writer.write(reply[: end + (len(reply) - end) // 2])
            await writer.drain()
            return False
        writer.write(reply if fault in (Fault.PASS, Fault.TWICE) else _error(fault, request))
        await writer.drain()
        return True


class _Upstream:
    """The emulator's end of one client connection; opened when first needed, and again if the emulator closed it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader

    async def exchange(self, request: Request) -> bytes:
        """Pass the request on; the whole answer, head and body. The emulator may have closed an idle connection."""
        for last in (False, True):
            if self._writer is None:
                self._reader, self._writer = await asyncio.open_connection(*self._address, limit=1 << 20)
            try:
                self._writer.write(request.head + request.body)
                await self._writer.drain()
                head = await self._reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                self.close()
                if last:
                    raise
                continue
            headers = _headers(head)
            bodiless = request.method == "HEAD" or head.split(b" ", 2)[1] in (b"204", b"304")
            body = b"" if bodiless else await _body(self._reader, headers)
            return _unchunked(head, headers, body) + body
        raise AssertionError("unreachable")

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        pieces = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            pieces.append(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
        return b"".join(pieces)
    return await reader.readexactly(int(headers.get("content-length") or 0))


def _unchunked(head: bytes, headers: dict[str, str], body: bytes) -> bytes:
    """The head for a body that is passed on in one piece."""
    if "transfer-encoding" not in headers:
        return head
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"transfer-encoding:")]
    lines[-2:] = [b"content-length: %d" % len(body), b"", b""]
    return b"\r\n".join(lines)


def _operation(method: str, target: str, headers: dict[str, str]) -> str:
    called = headers.get("x-amz-target", "")
    if called:
        service, _, name = called.partition(".")
        return f"{'sqs' if service == 'AmazonSQS' else 'dynamodb'}:{name}"
    address = urlsplit(target)
    has_key = "/" in address.path.strip("/")
    if method == "PUT" and "x-amz-copy-source" in headers:
        return "s3:CopyObject"
    if method == "GET" and not has_key and "list-type" in dict(parse_qsl(address.query)):
        return "s3:ListObjects"
    return f"s3:{method.capitalize()}{'Object' if has_key else 'Bucket'}"


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a reset rather than a goodbye."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


_STRANGE = {
    Fault.PAGE_REPLY: (200, "text/html", b"<html><body>Please sign in to the network<br></body></html>"),
    Fault.JSON_REPLY: (200, "application/json", b'{"error": "upstream is busy"}'),
    Fault.LIST_REPLY: (200, "application/json", b"[]"),
    Fault.EMPTY_REPLY: (200, "text/plain", b""),
    Fault.PAGE_BEFORE: (200, "text/html", b"<html><body>Please sign in to the network<br></body></html>"),
    Fault.PORTAL_BEFORE: (403, "text/html", b"<html><body>Blocked<br></body></html>"),
    Fault.BUSY_BEFORE: (429, "text/html", b"<html><body>Too many requests<br></body></html>"),
}
"""What comes from somewhere between: status, kind, body."""


def _error(fault: Fault, request: Request) -> bytes:
    if fault in _STRANGE:
        return _reply(*_STRANGE[fault])
    prefix = "com.amazonaws.dynamodb.v20120810#"
    status, answer = 500, {"__type": f"{prefix}InternalServerError", "message": "the proxy broke it"}
    if fault is Fault.THROTTLED_BEFORE:
        status, answer = 400, {"__type": f"{prefix}ProvisionedThroughputExceededException", "message": "too fast"}
    elif fault is Fault.LIMITED_BEFORE:
        status, answer = 400, {"__type": f"{prefix}ThrottlingException", "message": "too many of them"}
    elif fault is Fault.DENIED_BEFORE:
        status, answer = 400, {"__type": f"{prefix}ExpiredTokenException", "message": "the key has expired"}
    elif fault is Fault.CONFLICT_BEFORE:
        count = len(request.json()["TransactItems"])  # type: ignore[arg-type]
        reasons = [{"Code": "TransactionConflict", "Message": "busy"}, *[{"Code": "None"}] * (count - 1)]
        answer = {"__type": f"{prefix}TransactionCanceledException", "message": "busy", "CancellationReasons": reasons}  # type: ignore[dict-item]
        status = 400
    kind, body = "application/x-amz-json-1.0", json.dumps(answer).encode()
    if request.operation.startswith("s3:"):
        kind, body = "application/xml", b"<Error><Code>InternalError</Code><Message>broken</Message></Error>"
    return _reply(status, kind, body)


def _reply(status: int, kind: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %d Broken\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        kind.encode(),
        len(body),
        body,
    )
