"""The ASGI application that the emulator's process serves: routes to the durable layer or straight to the emulator."""

import json
import os
import shutil
import time
from collections.abc import Callable
from html import escape
from typing import Any

from service.local import exchange, gate, post_policy
from service.local.datadir import HEALTH
from service.local.durable import Durable, StateUncertain
from service.local.exchange import App, Receive, Reply, Scope, Send, header
from service.local.fair_queue import FairQueues
from service.local.journal import Record
from service.local.retained import DYNAMODB, QUEUE_CHANGES, SQS

BUCKET_PARTS = frozenset(
    {"", "cors", "lifecycle", "versioning", "policy", "encryption", "tagging", "publicAccessBlock"}
)
SPARE_BYTES = 64_000_000
"""What an object must leave free on the disk, so that the journal can go on."""
KEPT_HEADERS = frozenset({b"content-type", b"x-amz-acl", b"x-amz-bucket-object-lock-enabled"})


class JournalApp:
    """Serves DynamoDB through `Durable`; keeps what shapes queues and buckets; gives messages out in turn; passes the
    rest on, body read whole.

    `instance` is the random id by which a caller knows that this is the process it looks for. `give_up` is called
    with the reason when memory and journal may differ; it must end the process at once. `secret` is the key with which
    callers sign.
    """

    def __init__(
        self, app: App, durable: Durable, *, instance: str, secret: str, give_up: Callable[[str], None]
    ) -> None:
        self._app = app
        self._durable = durable
        self._instance = instance
        self._give_up = give_up
        self._secret = secret
        self._fair = FairQueues(durable.forward)

    def close(self) -> None:
        """The server is about to stop: nobody is kept waiting for a message any more."""
        self._fair.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == HEALTH:
            await self._health().send(send)
            return
        refused = gate.refusal(scope)
        body = await exchange.read_body(receive)
        if refused or body is None:
            await (refused or Reply(400, [], b"")).send(send)
            return
        try:
            reply = await self._answer(scope, body, receive)
        except StateUncertain as error:
            self._give_up(str(error))
            raise
        await reply.send(send)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive) -> Reply:
        target = header(scope["headers"], b"x-amz-target").decode("latin-1")
        if target.startswith(DYNAMODB):
            return await self._durable.dynamodb(target.removeprefix(DYNAMODB), body)
        if target.startswith(SQS):
            host = header(scope["headers"], b"host")
            fair = await self._fair.answer(target.removeprefix(SQS), body, host, receive)
            if fair:
                return fair
        setting = _queue_setting(target, body) or _bucket_setting(scope, target, body)
        if setting:
            return await self._durable.setting(setting, header(scope["headers"], b"host"))
        if _is_form(scope):
            form = header(scope["headers"], b"content-type").decode("latin-1")
            wrong = post_policy.refusal(body, form, scope["path"].strip("/"), self._secret, time.time())
            if wrong:
                return _access_denied(wrong)
        if body and shutil.disk_usage(self._durable.journal.path.parent).free < len(body) + SPARE_BYTES:
            return Reply(507, [], b"")  # the emulator would say yes and keep the object in memory alone
        return await exchange.call(self._app, scope, body)

    def _health(self) -> Reply:
        journal = self._durable.journal
        text = json.dumps(
            {
                "instance": self._instance,
                "pid": os.getpid(),
                "journal": {
                    "bytes": journal.size,
                    "dropped_bytes": journal.dropped_bytes,
                    "replayed": self._durable.replayed,
                    "snapshots": self._durable.snapshots,
                },
            }
        ).encode("utf-8")
        return Reply(200, [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())], text)


def _is_form(scope: Scope) -> bool:
    return scope["method"] == "POST" and header(scope["headers"], b"content-type").startswith(b"multipart/form-data")


def _access_denied(sentence: str) -> Reply:
    """S3's error for a form, which the page that sent it may read."""
    body = f"<Error><Code>AccessDenied</Code><Message>{escape(sentence, quote=False)}</Message></Error>".encode()
    headers = [
        (b"content-type", b"application/xml"),
        (b"content-length", str(len(body)).encode()),
        (b"access-control-allow-origin", b"*"),
    ]
    return Reply(403, headers, body)


def _queue_setting(target: str, body: bytes) -> Record | None:
    """The record of a request that shapes a queue (JSON protocol), else None."""
    if target.removeprefix(SQS) not in QUEUE_CHANGES or not target.startswith(SQS):
        return None
    try:
        request: Any = json.loads(body)
    except ValueError:
        return None
    return {"target": target, "body": request} if isinstance(request, dict) else None


def _bucket_setting(scope: Scope, target: str, body: bytes) -> Record | None:
    """The record of a request that shapes a bucket (path style), else None."""
    path, query = scope["path"].rstrip("/"), scope["query_string"].decode("latin-1").rstrip("=")
    if target or scope["method"] not in ("PUT", "DELETE") or path.count("/") != 1 or query not in BUCKET_PARTS:
        return None
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return None
    headers = [
        [name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"] if name in KEPT_HEADERS
    ]
    return {"method": scope["method"], "path": path, "query": query, "headers": headers, "text": text}
