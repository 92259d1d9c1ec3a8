"""What a snapshot carries over besides the items: the requests that shaped tables, queues and buckets, and the tokens
of recent transactions.

Shapes are kept as the very requests that made them, so that nothing is lost in a translation from a description back to
a request. A later request replaces an earlier one that it makes void, so the number of kept requests is bounded by the
number of things that exist (an UpdateTable is kept until its table goes: it is rare).
"""

import hashlib
import json
from typing import Any

from service.local.journal import Record

DYNAMODB = "DynamoDB_20120810."
SQS = "AmazonSQS."
ITEM_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
TABLE_CHANGES = frozenset(
    {"CreateTable", "UpdateTable", "DeleteTable", "TagResource", "UntagResource", "UpdateContinuousBackups"}
)
TTL_CHANGE = "UpdateTimeToLive"
QUEUE_CHANGES = frozenset({"CreateQueue", "SetQueueAttributes", "DeleteQueue"})
TOKEN_SECONDS = 600
"""How long DynamoDB remembers a ClientRequestToken."""

Key = tuple[str, ...]


class Retained:
    """Folds journal records, in order, into the requests and tokens that a new journal must begin with."""

    def __init__(self) -> None:
        self._requests: dict[Key, Record] = {}
        self._tokens: dict[str, tuple[str, float]] = {}

    def fold(self, record: Record) -> None:
        """Take one record into account. Records of item writes leave only their token."""
        if "token" in record:
            self._tokens.pop(record["token"], None)  # so that the dict stays in the order of time
            self._tokens[record["token"]] = (record["digest"], record["at"])
        target = record.get("target", "")
        if target.startswith(DYNAMODB):
            self._fold_table(target.removeprefix(DYNAMODB), record)
        elif target.startswith(SQS):
            self._fold_queue(target.removeprefix(SQS), record)
        elif "path" in record:
            self._fold_bucket(record)

    def requests(self) -> list[Record]:
        """All kept requests in an order in which they can be repeated."""
        return list(self._requests.values())

    def outside_dynamodb(self) -> list[Record]:
        """The kept requests to queues and buckets."""
        return [request for request in self._requests.values() if not request.get("target", "").startswith(DYNAMODB)]

    def tables(self) -> set[str]:
        """Names of the tables that exist according to the kept requests."""
        return {key[1] for key in self._requests if key[0] == "table" and key[2] == "CreateTable"}

    def table_keys(self) -> dict[str, list[str]]:
        """Table -> the names of its key attributes."""
        return {
            key[1]: [part["AttributeName"] for part in request["body"]["KeySchema"]]
            for key, request in self._requests.items()
            if key[0] == "table" and key[2] == "CreateTable"
        }

    def time_to_live(self) -> dict[str, str]:
        """Table -> attribute with the epoch second after which an item may go. Only tables where it is switched on."""
        found: dict[str, str] = {}
        for key, request in self._requests.items():
            if key[0] == "table" and key[2] == TTL_CHANGE:
                wish = request["body"]["TimeToLiveSpecification"]
                if wish.get("Enabled"):
                    found[key[1]] = wish["AttributeName"]
        return found

    def token_digest(self, token: str, now: float) -> str | None:
        """The digest of the transaction that succeeded under this token in the last ten minutes."""
        digest, at = self._tokens.get(token, ("", 0.0))
        return digest if digest and now - at < TOKEN_SECONDS else None

    def tokens(self, now: float) -> list[Record]:
        """Records of the tokens that still count; the others are forgotten here."""
        while self._tokens:
            oldest = next(iter(self._tokens))
            if now - self._tokens[oldest][1] < TOKEN_SECONDS:
                break
            del self._tokens[oldest]
        return [{"at": at, "token": token, "digest": digest} for token, (digest, at) in self._tokens.items()]

    def _fold_table(self, op: str, record: Record) -> None:
        if op not in TABLE_CHANGES and op != TTL_CHANGE:
            return
        body = record["body"]
        table = str(body.get("TableName") or body.get("ResourceArn", "")).rpartition("/")[2]
        if op == "DeleteTable":
            self._forget("table", table)
        elif op == "UpdateTable":
            self._put(("table", table, op, str(len(self._requests)), f"{record['at']:.6f}"), record)
        elif op in ("TagResource", "UntagResource"):
            self._put(("table", table, op, _digest(body)), record)
        else:
            self._put(("table", table, op), record)

    def _fold_queue(self, op: str, record: Record) -> None:
        body = record["body"]
        queue = str(body.get("QueueName") or body.get("QueueUrl", "")).rpartition("/")[2]
        if op == "DeleteQueue":
            self._forget("queue", queue)
        elif op == "CreateQueue":
            self._put(("queue", queue, op), record)
        elif op == "SetQueueAttributes":
            names = ",".join(sorted(body.get("Attributes", {})))
            self._put(("queue", queue, op, names), record)

    def _fold_bucket(self, record: Record) -> None:
        bucket, part = record["path"], record["query"]
        if record["method"] == "PUT":
            self._put(("bucket", bucket, part), record)
        elif part:
            self._requests.pop(("bucket", bucket, part), None)
        else:
            self._forget("bucket", bucket)

    def _put(self, key: Key, record: Record) -> None:
        """The latest of one kind wins, and takes its place at the end, after all that it may depend on."""
        self._requests.pop(key, None)
        self._requests[key] = record

    def _forget(self, kind: str, name: str) -> None:
        for key in [key for key in self._requests if key[:2] == (kind, name)]:
            del self._requests[key]


def transaction_digest(body: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON of a transaction without its token."""
    return _digest({name: value for name, value in body.items() if name != "ClientRequestToken"})


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode("utf-8")).hexdigest()
