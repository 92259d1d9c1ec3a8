"""The durable record of one submit intent: one request key, one digest of what was asked, one job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from service.domain.errors import InvalidParameter, KeyReused
from service.domain.ids import REQUEST_KEY

ReceiptState = Literal["accepted", "running", "done", "failed"]
TERMINAL = ("done", "failed")


def receipt_id(user_id: str, request_key: str) -> str:
    """Keys are scoped to the user: equal keys of two people never meet."""
    return hashlib.sha256(f"{user_id}\x00{request_key}".encode()).hexdigest()


def input_digest(sent: Mapping[str, Any]) -> str:
    """SHA-256 of canonical JSON (sorted keys, no spaces) of what the client sent; omitted fields stay omitted."""
    canonical = json.dumps(sent, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def checked_key(key: str) -> str:
    """A request key as it is, or InvalidParameter: 1 to 200 visible ASCII characters."""
    if not isinstance(key, str) or not REQUEST_KEY.fullmatch(key):
        raise InvalidParameter("request_key", "must be 1 to 200 visible ASCII characters")
    return key


@dataclass(frozen=True, slots=True)
class Intent:
    """What a client asked for under a request key of its own: the same key again is the same wish, not a second one."""

    user_id: str
    request_key: str
    sent: Mapping[str, Any]

    @property
    def receipt_id(self) -> str:
        return receipt_id(self.user_id, self.request_key)

    @property
    def digest(self) -> str:
        return input_digest(self.sent)

    @property
    def edit_id(self) -> str:
        """How the movie row remembers an edit: whose key it was, and what was asked."""
        return f"{self.receipt_id}:{self.digest}"

    def made(self, row: Mapping[str, Any]) -> bool:
        """Is this one of the edits that the row remembers? Raises KeyReused if its key stood for something else."""
        remembered = [_short(row.get("edit_id") or ""), *row.get("former_edit_ids", ())]
        mine = _short(self.edit_id)
        for edit_id in remembered:
            if edit_id.partition(":")[0] == mine.partition(":")[0]:
                if edit_id != mine:
                    raise KeyReused
                return True
        return False


_REMEMBERED = 8
_SHORT = 16


def _short(edit_id: str) -> str:
    key, _, asked = edit_id.partition(":")
    return f"{key[:_SHORT]}:{asked[:_SHORT]}"


def former_edit_ids(row: Mapping[str, Any]) -> list[str]:
    """What the row remembers of edits under keys once another edit follows: the latest eight, by the beginning of each.

    A page may not have got an answer to one, send it again, and go on; its first copy may come last of all.
    """
    latest, former = row.get("edit_id") or "", list(row.get("former_edit_ids", ()))
    return [_short(latest), *former][:_REMEMBERED] if ":" in latest else former


@dataclass(frozen=True, slots=True)
class Sender:
    """The request that carried a wish: its id, and from bounded sets what its client is and why it asks again.

    The id goes with the job, so that one search finds what a click led to in the logs of all processes.
    """

    request_id: str | None = None
    client_version: str = "none"
    retry_reason: str = "none"

    @property
    def labels(self) -> dict[str, str]:
        """How metrics tell senders apart."""
        return {"client_version": self.client_version, "retry_reason": self.retry_reason}


UNSAID = Sender()
"""Nobody said anything of the request; or there was none."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One item of `receipts`.

    `inputs` are the job's resolved inputs (frame range, options, source object, marker snapshot, plan version), so that
    a lost message costs nothing. `result` is what the job found, `failure_code` and `failure_summary` why it ended.
    `request_id` is the request that started the job.
    """

    receipt_id: str
    user_id: str
    request_key: str
    kind: str
    input_digest: str
    job_id: str
    movie_id: str
    state: ReceiptState
    attempts: int
    created_at: int
    updated_at: int
    inputs: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    failure_code: str | None = None
    failure_summary: str | None = None
    client_version: str | None = None
    request_id: str | None = None
    expires_at: int | None = None

    def retired(self, now: int) -> bool:
        """A retired receipt no longer answers for its key. Only a terminal one can be retired."""
        return self.expires_at is not None and self.state in TERMINAL and self.expires_at <= now


def receipt_from_row(row: Mapping[str, Any]) -> Receipt:
    expires = row.get("expires_at")
    return Receipt(
        receipt_id=row["receipt_id"],
        user_id=row["user_id"],
        request_key=row["request_key"],
        kind=row["kind"],
        input_digest=row["input_digest"],
        job_id=row["job_id"],
        movie_id=row["movie_id"],
        state=row["state"],
        attempts=int(row.get("attempts") or 0),
        created_at=int(row["created_at"]),
        updated_at=int(row["updated_at"]),
        inputs=row.get("inputs") or {},
        result=row.get("result"),
        failure_code=row.get("failure_code"),
        failure_summary=row.get("failure_summary"),
        client_version=row.get("client_version"),
        request_id=row.get("request_id"),
        expires_at=int(expires) if expires is not None else None,
    )


def receipt_to_row(receipt: Receipt) -> dict[str, Any]:
    """The item to store; what is None is left out."""
    row = {name: getattr(receipt, name) for name in Receipt.__slots__}
    row["inputs"] = dict(receipt.inputs)
    return {name: value for name, value in row.items() if value is not None}
