"""The movie row: both leases, the job, the edit counter. One builder per legal transition, one verb per single write.

A builder (`..._write`) returns a write that a use case puts into a transaction with the receipt and the event that
belong to it; a verb makes its one conditional write itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from service.domain.errors import OutcomeUnknown
from service.domain.failures import Failure
from service.domain.lease import AnalysisLease, Fence, TracingLease
from service.domain.movie import (
    FAILED,
    PROCESSING,
    TRACING,
    UNUSABLE,
    UPLOADING,
    Hidden,
    Movie,
    hidden_row,
    movie_from_row,
)
from service.domain.policy import Policy
from service.domain.receipt import former_edit_ids
from service.store import conditions as when
from service.store.expressions import Condition, Update, at_most, equals, keyed
from service.store.schema import MOVIES
from service.store.table import Change, ConditionFailed, Database, Put

JOB = (
    "trace_job_id",
    "trace_job_kind",
    "trace_receipt_id",
    "tracing_state",
    "tracing_attempt",
    "tracing_claim_id",
    "tracing_started_at",
    "tracing_heartbeat_at",
    "tracing_expires_at",
    "tracing_started_by_user_id",
    "tracing_started_by_user_name",
    "tracing_announced_at",
    "tracing_failures",
    "tracing_checkpoint_frame",
    "tracing_backward_frame",
    "tracing_frame_start",
    "tracing_frame_end",
    "sweep_shard",
    "sweep_due_at",
)
"""Removed, not nulled, when a job ends."""

ANALYSIS = (
    "analysis_lease_id",
    "analysis_started_at",
    "analysis_heartbeat_at",
    "analysis_expires_at",
    "analysis_started_by_user_id",
    "analysis_started_by_user_name",
    "analysis_request_key",
)
"""Removed, not nulled, when an analysis lease is dropped."""

FAILURE = ("failure_code", "tracing_failure_summary", "tracing_failed_at", "status_reason")
HIDDEN = ("hidden_earlier", "hidden_from", "hidden_to", "hidden_job_id", "hidden_edit_seq", "hidden_keep_placed")


class Movies:
    """Reads and conditional writes of movie rows."""

    def __init__(self, database: Database, policy: Policy) -> None:
        self._db = database
        self._policy = policy

    # reading

    async def get(self, movie_id: str, *, consistent: bool = True) -> Movie | None:
        row = await self._db.get(MOVIES, {"movie_id": movie_id}, consistent=consistent)
        return movie_from_row(row) if row else None

    async def of_course(self, course_id: str) -> AsyncIterator[Movie]:
        async for row in self._db.query(MOVIES, equals("course_id", course_id), index="course_id_idx"):
            yield movie_from_row(row)

    async def of_user(self, user_id: str) -> AsyncIterator[Movie]:
        async for row in self._db.query(MOVIES, equals("user_id", user_id), index="user_id_idx"):
            yield movie_from_row(row)

    async def many(self, movie_ids: Sequence[str]) -> list[Movie]:
        """Those of these movies that exist, in any order; read eventually. For readers only."""
        keys = [{"movie_id": movie_id} for movie_id in movie_ids]
        return [movie_from_row(row) for row in await self._db.get_many(MOVIES, keys)]

    async def due(self, shard: str, now: int, limit: int | None = None) -> AsyncIterator[str]:
        """Movie ids that the sparse index nominates, those due first before others.

        It is eventually consistent: every act re-reads the row.
        """
        nominated = keyed(equals("sweep_shard", shard), at_most("sweep_due_at", now))
        async for row in self._db.query(MOVIES, nominated, index="sweep_idx", limit=limit):
            yield row["movie_id"]

    def shards(self) -> list[str]:
        return [str(n) for n in range(self._policy.sweep_shards)]

    def _shard(self, movie_id: str) -> str:
        return str(crc32(movie_id.encode()) % self._policy.sweep_shards)

    # uploads

    def new_write(self, row: Mapping[str, Any], now: int) -> Put:
        """A movie that waits for its upload. The sweeper ends it if the upload never comes."""
        waiting = {
            "status": UPLOADING,
            "edit_seq": 0,
            "created_at": now,
            "last_activity_at": now,
            "sweep_shard": self._shard(row["movie_id"]),
            "sweep_due_at": now + self._policy.upload_seconds,
        }
        return Put(MOVIES, {**waiting, **row}, when.is_new("movie_id"))

    def upload_expired_write(self, movie_id: str, failure: Failure, now: int) -> Change:
        condition = when.upload_is_open() & at_most("sweep_due_at", now)
        gone = Update(
            set={
                "status": UNUSABLE,
                "failure_code": failure.code,
                "status_reason": failure.summary,
                "last_activity_at": now,
            },
            remove=("sweep_shard", "sweep_due_at"),
        )
        return self._change(movie_id, gone, condition)

    # the analysis lease

    def grant_write(
        self, movie_id: str, lease: AnalysisLease, now: int, condition: Condition, job: TracingLease | None = None
    ) -> Change:
        """Put `lease` on the row. The stale tracing lease `job` there is removed, its failure told in the same write.

        Without one there must be none on the row.
        """
        granted: dict[str, Any] = {
            "analysis_lease_id": lease.lease_id,
            "analysis_started_at": lease.started_at,
            "analysis_heartbeat_at": lease.heartbeat_at,
            "analysis_expires_at": lease.expires_at,
            "analysis_started_by_user_id": lease.user_id,
            "analysis_started_by_user_name": lease.user_name,
        }
        removed: tuple[str, ...] = ()
        if lease.request_key:
            granted["analysis_request_key"] = lease.request_key
        else:
            removed += ("analysis_request_key",)
        condition = when.can_be_edited() & condition
        if job is None:
            condition = condition & when.no_tracing_lease()
        else:
            condition = condition & when.job_is_stale(job, now)
            granted |= _failed(Failure("worker_lost"), now)
            removed += JOB
        return self._change(movie_id, Update(set=granted, remove=removed), condition)

    async def grant(self, movie_id: str, lease: AnalysisLease, now: int, condition: Condition) -> None:
        """Grant where no job is on the row. Raises ConditionFailed with the row as it is, OutcomeUnknown."""
        await self._db.write(self.grant_write(movie_id, lease, now, condition))

    async def renew_analysis(
        self, movie_id: str, lease_id: str, user_id: str, now: int, right: Condition
    ) -> tuple[int, int]:
        """Extend a live lease of a movie of which `right` is true.

        Returns its new expiry and when it was renewed before this.
        Raises ConditionFailed with the row as it is.
        """
        expires = now + self._policy.lease_seconds
        renewed = Update(set={"analysis_heartbeat_at": now, "analysis_expires_at": expires})
        condition = when.holds_live_analysis_lease(lease_id, now) & when.started_by(user_id) & right
        former = await self._db.write(self._change(movie_id, renewed, condition), former=True) or {}
        return expires, int(former.get("analysis_heartbeat_at") or now)

    async def release_analysis(self, movie_id: str, lease_id: str, user_id: str) -> bool:
        """Remove the lease with this token, and no other. False if it was not there."""
        try:
            await self._db.write(self.release_write(movie_id, lease_id, user_id))
        except ConditionFailed:
            return False
        return True

    def release_write(self, movie_id: str, lease_id: str, user_id: str) -> Change:
        condition = when.analysis_lease_is(lease_id) & when.started_by(user_id)
        return self._change(movie_id, Update(remove=ANALYSIS), condition)

    # edits

    def edit_write(self, movie: Movie, lease_id: str, now: int, changed: Update, edit_id: str) -> Change:
        """A person's change, fenced by the live analysis lease and by the edits that the caller has seen.

        `edit_id` names this very edit, so that its maker knows it again after a lost reply.
        """
        update = Update(
            set={
                **changed.set,
                "edit_seq": movie.edit_seq + 1,
                "edit_id": edit_id,
                "former_edit_ids": former_edit_ids(movie.row),
                "last_activity_at": now,
            },
            add=changed.add,
            remove=changed.remove,
        )
        condition = when.may_edit_now(lease_id, now) & when.edits_are(movie.edit_seq)
        return self._change(movie.movie_id, update, condition)

    async def set_details(
        self, movie_id: str, details: Mapping[str, Any], condition: Condition, *, removed: Sequence[str] = ()
    ) -> Movie:
        """Attributes that need no lease (title, published, ...). Raises ConditionFailed."""
        update = Update(set=details, remove=tuple(removed))
        row = await self._db.write(self._change(movie_id, update, when.movie_exists() & condition))
        return movie_from_row(row or {})

    # jobs

    def start_write(
        self,
        movie: Movie,
        job: TracingLease,
        now: int,
        condition: Condition,
        hidden: tuple[Hidden, ...],
        span: tuple[int, int] | None = None,
    ) -> Change:
        """Queue a job: its lease replaces the starter's analysis lease (and a stale job's), old failure fields go.

        `span`: first and last frame of a trace, so that its progress can be told.
        """
        started: dict[str, Any] = {
            "status": TRACING if job.kind == "trace" else PROCESSING,
            "trace_job_id": job.job_id,
            "trace_job_kind": job.kind,
            "trace_receipt_id": job.receipt_id,
            "tracing_state": "queued",
            "tracing_attempt": job.attempt,
            "tracing_started_at": job.started_at,
            "tracing_heartbeat_at": job.heartbeat_at,
            "tracing_expires_at": job.expires_at,
            "tracing_started_by_user_id": job.user_id,
            "tracing_started_by_user_name": job.user_name,
            "tracing_announced_at": job.announced_at,
            "tracing_failures": 0,
            "sweep_shard": self._shard(movie.movie_id),
            "sweep_due_at": job.due_at,
            "last_activity_at": now,
        }
        if span is not None:
            started |= {"tracing_frame_start": span[0], "tracing_frame_end": span[1]}
        started |= hidden_row(hidden)
        if span is not None or hidden:
            started["last_frame_tracked"] = span[0] if span else max(0, hidden[-1].first - 1)
        former = when.job_is_stale(movie.tracing, now) if movie.tracing else when.no_tracing_lease()
        condition = condition & former & when.edits_are(movie.edit_seq)
        return self._change(movie.movie_id, Update(set=started, remove=(*ANALYSIS, *JOB, *FAILURE)), condition)

    async def announce(self, movie_id: str, job: TracingLease, now: int) -> bool:
        """Note an announcement and renew the queued lease. False if somebody else announced or claimed it.

        In doubt True: a message too many is a no-op, one too few costs a wait.
        """
        due = job.next_due(now, self._policy.announce_first, self._policy.announce_longest)
        noted = Update(
            set={
                "tracing_announced_at": now,
                "tracing_expires_at": now + self._policy.lease_seconds,
                "sweep_due_at": due,
            }
        )
        try:
            await self._db.write(self._change(movie_id, noted, when.was_announced_at(job)))
        except ConditionFailed as refusal:
            return refusal.item is not None and refusal.item.get("tracing_announced_at") == now
        except OutcomeUnknown:
            return True
        return True

    async def claim(self, movie_id: str, job_id: str, attempt: int, claim_id: str, now: int) -> Movie:
        """Take a queued attempt. Raises ConditionFailed with the row as it is, OutcomeUnknown."""
        expires = now + self._policy.lease_seconds
        taken = Update(
            set={
                "tracing_state": "running",
                "tracing_claim_id": claim_id,
                "tracing_heartbeat_at": now,
                "tracing_expires_at": expires,
                "sweep_due_at": expires,
            }
        )
        row = await self._db.write(self._change(movie_id, taken, when.may_be_claimed(job_id, attempt)))
        return movie_from_row(row or {})

    async def renew_tracing(self, fence: Fence, now: int) -> None:
        """Extend a running job's lease. Raises ConditionFailed when it is no longer this worker's."""
        await self._db.write(self._change(fence.movie_id, self._renewed(now), when.holds_fence(fence, now)))

    def progress_write(self, fence: Fence, now: int, last_frame: int, checkpoint: int | None) -> Change:
        """The fence of a chunk: progress, and a renewal."""
        renewed = self._renewed(now)
        progress: dict[str, Any] = {**renewed.set, "last_frame_tracked": last_frame}
        if checkpoint is not None:
            progress["tracing_checkpoint_frame"] = checkpoint
        # Whatever writes frames goes forwards again.
        update = Update(set=progress, remove=("tracing_backward_frame",))
        return self._change(fence.movie_id, update, when.holds_fence(fence, now))

    async def note_progress(self, fence: Fence, now: int, last_frame: int) -> None:
        """Progress of a job that writes no frames. Raises ConditionFailed when the fence is lost."""
        await self._db.write(self.progress_write(fence, now, last_frame, None))

    async def note_backward(self, fence: Fence, now: int, frame: int) -> None:
        """How far down the pass backwards of a retrace is. Raises ConditionFailed when the fence is lost."""
        renewed = self._renewed(now)
        told = Update(set={**renewed.set, "tracing_backward_frame": frame})
        await self._db.write(self._change(fence.movie_id, told, when.holds_fence(fence, now)))

    async def drop_hidden(self, fence: Fence, now: int) -> None:
        """The hidden span has been cleaned. Raises ConditionFailed when the fence is lost."""
        update = Update(set=self._renewed(now).set, remove=HIDDEN)
        await self._db.write(self._change(fence.movie_id, update, when.holds_fence(fence, now)))

    def completed_write(self, fence: Fence, now: int, changed: Mapping[str, Any], status: str) -> Change:
        """Publish a result and drop the job's own lease."""
        update = Update(set={**changed, "status": status, "last_activity_at": now}, remove=(*JOB, *FAILURE))
        return self._change(fence.movie_id, update, when.holds_fence(fence, now))

    def failed_write(self, movie_id: str, kind: str, failure: Failure, now: int, condition: Condition) -> Change:
        """End a job without a result and drop its lease."""
        told = _failed(failure, now) if kind == "trace" else _unusable(failure, now)
        return self._change(movie_id, Update(set=told, remove=JOB), condition)

    def requeue_write(self, movie_id: str, job: TracingLease, now: int, condition: Condition, failures: int) -> Change:
        """Back to the queue as the next attempt, announced now."""
        queued = Update(
            set={
                "tracing_state": "queued",
                "tracing_attempt": job.attempt + 1,
                "tracing_failures": failures,
                "tracing_heartbeat_at": now,
                "tracing_expires_at": now + self._policy.lease_seconds,
                "tracing_announced_at": now,
                "sweep_due_at": now + self._policy.announce_first,
            },
            remove=("tracing_claim_id",),
        )
        return self._change(movie_id, queued, condition)

    def _renewed(self, now: int) -> Update:
        expires = now + self._policy.lease_seconds
        return Update(set={"tracing_heartbeat_at": now, "tracing_expires_at": expires, "sweep_due_at": expires})

    @staticmethod
    def _change(movie_id: str, update: Update, condition: Condition) -> Change:
        return Change(MOVIES, {"movie_id": movie_id}, update, condition)


def _failed(failure: Failure, now: int) -> dict[str, Any]:
    return {
        "status": FAILED,
        "failure_code": failure.code,
        "tracing_failure_summary": failure.summary,
        "tracing_failed_at": now,
        "last_activity_at": now,
    }


def _unusable(failure: Failure, now: int) -> dict[str, Any]:
    return {
        "status": UNUSABLE,
        "failure_code": failure.code,
        "status_reason": failure.summary,
        "last_activity_at": now,
    }
