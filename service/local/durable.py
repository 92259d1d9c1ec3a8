"""An ASGI layer that makes the emulator's tables durable.

The emulator keeps DynamoDB in memory. This layer stands before it and
    * serialises the requests that change something (one lock; reads pass beside it),
    * appends each one that succeeded to the journal before its reply goes out,
    * repeats the journal at start, through the same application, before the port answers,
    * replaces a journal that grew past its limit by the requests that rebuild what stands now.

Repeating gives the same tables, since nothing else changes them: requests enter in the order in which they took effect,
refused ones are not in the journal, and the two things in the emulator that depend on the clock are taken out of its
hands: time to live (`service.local.expiry` deletes through this layer, so a deletion stands in the journal at its
place) and the memory of transaction tokens (kept here, in the journal, for ten minutes). A record that does not succeed
when it is repeated is a fault, and stops the start with words.

The journal is the only truth: the emulator's own state files are switched off, since two sources could disagree. What
this layer cannot keep (backups, imports, PartiQL, ...) it refuses instead of forgetting it later.

Queues and buckets: the requests that shape them (create, attributes; CORS, lifecycle, ...) are kept in the same
journal. Messages are not: the database knows every job, and the sweeper announces it again. Objects are files.
"""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import structlog

from service.local import exchange
from service.local.exchange import App, Reply
from service.local.journal import Journal, JournalUnwritable, Record, encode, frame
from service.local.retained import DYNAMODB, ITEM_WRITES, TABLE_CHANGES, TTL_CHANGE, Retained
from service.local.snapshot import Snapshot, SnapshotRefused, Touched, touched_by
from service.local.transaction import Transaction

log = structlog.get_logger(__name__)

FORMAT = 1
CATCHING_UP, LITTLE = 5, 50
"""A new journal is made while writes go on. When so few items were written meanwhile, or after so many rounds of
catching up with them, the rest is done while writes wait."""
READS = frozenset(
    {"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems", "DescribeTable", "ListTables"}
    | {"DescribeContinuousBackups", "ListTagsOfResource", "DescribeLimits", "DescribeEndpoints"}
)


class JournalDoesNotReplay(Exception):
    """A journal record was refused when it was repeated: the journal was made by another version, or is not whole."""


class StateUncertain(Exception):
    """What is in memory is no longer what the journal says. The process must end; its successor reads the journal."""


class Durable:
    """The emulator's application with a journal under it. `replay` once, then serve, then `close`."""

    def __init__(self, app: App, journal: Journal, *, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self.journal = journal
        self.retained = Retained()
        self.replayed = 0
        """Records repeated at start."""
        self.snapshots = 0
        """How often the journal was started anew since the start of the process."""
        self._app = app
        self._max_bytes = max_bytes
        self._limit = max_bytes
        self._clock = clock
        self._lock = asyncio.Lock()
        self._grown = False
        self._compaction: asyncio.Task[None] | None = None
        self._one_snapshot = asyncio.Lock()
        self._touched: Touched | None = None

    # --- start and stop ---

    async def replay(self) -> None:
        """Rebuild everything from the journal. Raises JournalDamaged or `JournalDoesNotReplay`."""
        rebuilt = 0
        for number, record in enumerate(self.journal.records(), start=1):
            if record.get("journal", FORMAT) != FORMAT:
                raise JournalDoesNotReplay(f"The journal {self.journal.path} has an unknown format: {record}.")
            target = record.get("target", "")
            if target.startswith(DYNAMODB) and target != DYNAMODB + TTL_CHANGE:
                reply = await self.forward(target, json.dumps(record["body"]).encode("utf-8"))
                if reply.status != 200:
                    raise JournalDoesNotReplay(
                        f"Record {number} ({target}) of {self.journal.path} was refused: {reply.body[:300]!r}"
                    )
            self.retained.fold(record)
            self.replayed = number
            rebuilt = record.get("records", rebuilt)
        for request in self.retained.outside_dynamodb():
            await self._repeat_setting(request)
        self._grown = self.replayed > max(1, rebuilt)
        if not self.replayed:
            self.journal.append(encode(self._head()))
        elif self.journal.size > self._max_bytes:
            await self.snapshot(hurry=True)

    async def close(self) -> None:
        """Start a new journal if this one has grown, and bring it to the disk. No writes may follow."""
        if self._compaction:
            await self._compaction
        if self._grown:
            await self.snapshot(hurry=True)
        self.journal.close()

    # --- requests ---

    async def forward(self, target: str, body: bytes, host: bytes = b"127.0.0.1") -> Reply:
        """Put a JSON request to the application itself. All callers are one account in one region.

        `host` is the caller's Host header: the emulator names queues after it.
        """
        scope = exchange.http_scope("POST", "/", b"", _json_headers(target, host))
        return await exchange.call(self._app, scope, body)

    async def dynamodb(self, op: str, body: bytes) -> Reply:
        """Answer one DynamoDB request. Raises `StateUncertain` (see `write`)."""
        if op in READS:
            return await self.forward(DYNAMODB + op, body)
        if op in ITEM_WRITES or op in TABLE_CHANGES:
            return await self.write(op, body)
        if op == TTL_CHANGE:
            return await self._change_time_to_live(body)
        if op == "DescribeTimeToLive":
            return await self._describe_time_to_live(body)
        return _error("UnknownOperationException", f"The embedded database does not keep what {op} makes.")

    async def write(self, op: str, body: bytes) -> Reply:
        """Carry out one changing request and journal it if it succeeded.

        Raises `StateUncertain` if it took effect in memory and is not in the journal, or may be half done.
        """
        if not _is_text(body):
            return _error("SerializationException", "Send a JSON object in UTF-8, without half a surrogate pair.")
        async with self._lock:
            extra: Record = {}
            transaction = Transaction.parse(body) if op == "TransactWriteItems" else None
            if transaction:
                settled = self._settled(transaction)
                if settled:
                    return settled
                body = transaction.body()
                if transaction.token:
                    extra = {"token": transaction.token, "digest": transaction.digest}
            reply = await self.forward(DYNAMODB + op, body)
            if reply.status >= 500:
                raise StateUncertain(f"{op} was answered with {reply.status}: it may be half done.")
            if reply.status == 200:
                try:
                    self._keep(DYNAMODB + op, body, extra)
                except (AttributeError, KeyError, TypeError, ValueError) as error:  # it took effect, whatever it is
                    raise StateUncertain(f"{op} was answered with 200 and makes no sense.") from error
            return reply

    async def setting(self, record: Record, host: bytes) -> Reply:
        """Carry out a request that shapes a queue or a bucket, and keep it if it succeeded."""
        async with self._lock:
            reply = await self._repeat_setting(record, host)
            if reply.status < 300:
                self._keep_record({"at": self._clock(), **record})
            return reply

    # --- the journal ---

    async def snapshot(self, *, hurry: bool = False) -> None:
        """Replace the journal by requests that rebuild what stands now. Writes wait only for the last of it.

        If that fails, the log says so, the old one stays in use, and it is tried again after it has doubled.
        """
        async with self._one_snapshot:
            try:
                await self._make_snapshot(hurry)
                log.info("journal_restarted", bytes=self.journal.size)
            except (OSError, SnapshotRefused) as error:
                log.error("journal_restart_failed", bytes=self.journal.size, error=str(error))
            finally:
                self._touched = None
                self._limit = max(self._max_bytes, 2 * self.journal.size)

    async def _make_snapshot(self, hurry: bool) -> None:
        new = self.journal.successor()
        try:
            self._touched = set()
            new.append(encode(self._head()))
            made = Snapshot(new, self.forward, self.retained, self._clock(), hurry=hurry)
            await made.begin()
            needed = new.records
            for _ in range(CATCHING_UP):
                await asyncio.to_thread(new.sync)  # outside the lock: a busy disk takes its time
                if len(self._touched) <= LITTLE:
                    break
                touched, self._touched = self._touched, set()
                await made.catch_up(touched)
            async with self._lock:
                await made.end(self._touched)
                self._grown = new.records > needed  # what was caught up with stands there twice
                new.append(encode({"at": self._clock(), "records": needed + 1}))
                self.journal.shadow(new)
                self._touched = None
            await asyncio.to_thread(new.sync)  # so that no cut of the power finds half of it in the journal's place
            async with self._lock:
                self.journal.give_way()
                self.snapshots += 1
        except BaseException:
            self.journal.forsake()
            self._grown = True
            new.discard()
            raise
        await asyncio.to_thread(self.journal.sync)

    def _head(self) -> Record:
        """The first record: the format."""
        return {"journal": FORMAT, "at": self._clock()}

    def _keep(self, target: str, body: bytes, extra: Record) -> None:
        """Journal an item write as its text stands; only rare requests are parsed for `Retained`."""
        op = target.removeprefix(DYNAMODB)
        if self._touched is not None and op in ITEM_WRITES:
            self._touched |= touched_by(op, json.loads(body), self.retained.table_keys())
        if op in ITEM_WRITES and not extra and b"\n" not in body:
            self._append(frame(b'{"at":%.3f,"target":"%s","body":%s}' % (self._clock(), target.encode(), body)))
        else:
            self._keep_record({"at": self._clock(), "target": target, "body": json.loads(body), **extra})

    def _keep_record(self, record: Record) -> None:
        self._append(encode(record))
        self.retained.fold(record)

    def _append(self, line: bytes) -> None:
        try:
            self.journal.append(line)
        except JournalUnwritable as error:
            raise StateUncertain(str(error)) from error
        self._grown = True
        if self.journal.size > self._limit and (self._compaction is None or self._compaction.done()):
            self._compaction = asyncio.create_task(self.snapshot(), name="journal-snapshot")

    # --- what the emulator would decide by its own clock ---

    def _settled(self, transaction: Transaction) -> Reply | None:
        """The reply to a transaction that must not be carried out: wrong, done already, or under a used token."""
        missing = transaction.missing_key(self.retained.table_keys())
        if missing:
            return _error(
                "ValidationException", f"One or more parameter values were invalid: Missing the key {missing}"
            )
        earlier = self.retained.token_digest(transaction.token, self._clock()) if transaction.token else None
        if earlier == transaction.digest:
            return _json_reply(200, {})
        if earlier:
            return _error(
                "IdempotentParameterMismatchException",
                "The ClientRequestToken was used in the last ten minutes for another transaction.",
            )
        return None

    async def _change_time_to_live(self, body: bytes) -> Reply:
        async with self._lock:
            described = await self.forward(DYNAMODB + "DescribeTable", body)
            if described.status != 200:
                return described
            request = json.loads(body)
            wish = request.get("TimeToLiveSpecification") or {}
            if not isinstance(wish.get("AttributeName"), str) or not wish["AttributeName"]:
                return _error("ValidationException", "TimeToLiveSpecification needs an AttributeName.")
            self._keep_record({"at": self._clock(), "target": DYNAMODB + TTL_CHANGE, "body": request})
            return _json_reply(200, {"TimeToLiveSpecification": wish})

    async def _describe_time_to_live(self, body: bytes) -> Reply:
        described = await self.forward(DYNAMODB + "DescribeTable", body)
        if described.status != 200:
            return described
        attribute = self.retained.time_to_live().get(json.loads(body)["TableName"])
        found = {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute} if attribute else None
        return _json_reply(200, {"TimeToLiveDescription": found or {"TimeToLiveStatus": "DISABLED"}})

    async def _repeat_setting(self, record: Record, host: bytes = b"127.0.0.1") -> Reply:
        if "target" in record:
            return await self.forward(record["target"], json.dumps(record["body"]).encode("utf-8"), host)
        headers = [(b"host", host)]
        headers += [(name.encode("latin-1"), value.encode("latin-1")) for name, value in record["headers"]]
        scope = exchange.http_scope(record["method"], record["path"], record["query"].encode("latin-1"), headers)
        return await exchange.call(self._app, scope, record["text"].encode("utf-8"))


def _is_text(body: bytes) -> bool:
    """Whether this can be a JSON object in UTF-8, all strings of which can be written in it too.

    Others the emulator takes in some cases, and cannot return, or this journal not repeat.
    """
    try:
        text = body.decode("utf-8")
        if "\\ud" in text.lower():
            json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        return False
    except ValueError:
        pass  # no JSON at all: the emulator says so
    return text.lstrip()[:1] == "{" and "\0" not in text


def _json_headers(target: str, host: bytes) -> exchange.Headers:
    service = b"sqs" if target.startswith("AmazonSQS") else b"dynamodb"
    return [
        (b"host", host),
        (b"x-amz-target", target.encode("latin-1")),
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"authorization", b"AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/" + service + b"/aws4_request"),
    ]


def _json_reply(status: int, body: dict[str, Any]) -> Reply:
    text = json.dumps(body).encode("utf-8")
    headers = [(b"content-type", b"application/x-amz-json-1.0"), (b"content-length", str(len(text)).encode())]
    return Reply(status, headers, text)


def _error(code: str, message: str) -> Reply:
    return _json_reply(400, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message})
