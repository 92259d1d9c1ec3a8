"""Receipts: one per submit intent. Created before any work, ended in the transaction that ends the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.domain.failures import Failure
from service.domain.policy import DAY, Policy
from service.domain.receipt import Receipt, receipt_from_row, receipt_to_row
from service.store import conditions as when
from service.store.expressions import Update
from service.store.schema import RECEIPTS
from service.store.table import Change, Database, Put


class Receipts:
    """Reads are consistent: a receipt decides whether work is done again."""

    def __init__(self, database: Database, policy: Policy) -> None:
        self._db = database
        self._policy = policy

    async def get(self, receipt_id: str) -> Receipt | None:
        row = await self._db.get(RECEIPTS, {"receipt_id": receipt_id})
        return receipt_from_row(row) if row else None

    def admit_write(self, receipt: Receipt, now: int) -> Put:
        """The receipt of a new intent; refused if a receipt that is not retired answers for the key."""
        return Put(RECEIPTS, receipt_to_row(receipt), when.receipt_is_new_or_retired(now))

    def resolved_write(self, receipt: Receipt, inputs: Mapping[str, Any], now: int, request_id: str | None) -> Change:
        """The inputs of a job whose receipt was made before they were known (an upload's), and what started it."""
        told = {"request_id": request_id} if request_id else {}
        update = Update(set={"inputs": dict(inputs), "updated_at": now, **told})
        return self._change(receipt.receipt_id, update, receipt.job_id)

    def attempt_write(self, receipt_id: str, job_id: str, attempt: int, now: int) -> Change:
        """A worker took the job."""
        update = Update(set={"state": "running", "attempts": attempt, "updated_at": now})
        return self._change(receipt_id, update, job_id)

    async def note_attempt(self, receipt_id: str, job_id: str, attempt: int, now: int) -> None:
        """A worker took the job. Raises ConditionFailed if the receipt is already terminal."""
        await self._db.write(self.attempt_write(receipt_id, job_id, attempt, now))

    def done_write(self, receipt_id: str, job_id: str, result: Mapping[str, Any], now: int) -> Change:
        return self._ended(receipt_id, job_id, {"state": "done", "result": dict(result)}, now)

    def failed_write(self, receipt_id: str, job_id: str, failure: Failure, now: int) -> Change:
        told = {"state": "failed", "failure_code": failure.code, "failure_summary": failure.summary}
        return self._ended(receipt_id, job_id, told, now)

    def _ended(self, receipt_id: str, job_id: str, told: Mapping[str, Any], now: int) -> Change:
        expires = self._policy.receipt_expiry(now)
        update = Update(set={**told, "updated_at": now, "expires_at": expires, "delete_after": expires + 7 * DAY})
        return self._change(receipt_id, update, job_id)

    @staticmethod
    def _change(receipt_id: str, update: Update, job_id: str) -> Change:
        return Change(RECEIPTS, {"receipt_id": receipt_id}, update, when.receipt_is_open(job_id))
