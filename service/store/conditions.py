"""Every condition of the protocol, named in English. All of them are judged by the database inside the write itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.domain.access import Actor
from service.domain.lease import Fence, TracingLease
from service.domain.movie import EDITABLE, ORIGIN, Hidden
from service.domain.receipt import TERMINAL
from service.store.expressions import (
    Condition,
    above,
    absent,
    at_most,
    below_attribute,
    contains,
    differs,
    equals,
    one_of,
    present,
)


def movie_exists() -> Condition:
    return present("movie_id")


def not_deleted() -> Condition:
    return differs("deleted", True)


def can_be_edited() -> Condition:
    """The movie is there, not deleted, and past its inspection."""
    return movie_exists() & not_deleted() & one_of("status", EDITABLE)


def editable_by(actor: Actor, course_id: str | None) -> Condition:
    """The rule of `may_edit`, judged by the row itself; of this course if one is named."""
    right = equals("user_id", actor.user_id)
    if "superadmin" in actor.roles:
        right = movie_exists()
    elif actor.admin_of:
        right = right | one_of("course_id", sorted(actor.admin_of))
    return right & equals("course_id", course_id) if course_id else right


def no_live_analysis_lease(now: int) -> Condition:
    return absent("analysis_lease_id") | at_most("analysis_expires_at", now)


def no_live_tracing_lease(now: int) -> Condition:
    return absent("trace_job_id") | at_most("tracing_expires_at", now)


def no_tracing_lease() -> Condition:
    return absent("trace_job_id")


def analysis_lease_is(lease_id: str) -> Condition:
    return equals("analysis_lease_id", lease_id)


def holds_live_analysis_lease(lease_id: str, now: int) -> Condition:
    return analysis_lease_is(lease_id) & above("analysis_expires_at", now)


def started_by(user_id: str) -> Condition:
    return equals("analysis_started_by_user_id", user_id)


def edits_are(edit_seq: int) -> Condition:
    """Nobody edited since `edit_seq` was read. A row that was never edited has no counter."""
    unchanged = equals("edit_seq", edit_seq)
    return unchanged | absent("edit_seq") if edit_seq == 0 else unchanged


def may_edit_now(lease_id: str, now: int) -> Condition:
    """The one condition of every edit: the caller holds the live analysis lease and no tracing lease is live."""
    return can_be_edited() & holds_live_analysis_lease(lease_id, now) & no_live_tracing_lease(now)


def job_is(job: TracingLease) -> Condition:
    """The row still carries exactly this job, in this attempt and state."""
    same = (
        equals("trace_job_id", job.job_id)
        & equals("tracing_attempt", job.attempt)
        & equals("tracing_state", job.state)
        & equals("tracing_expires_at", job.expires_at)
    )
    return same & (equals("tracing_claim_id", job.claim_id) if job.claim_id else absent("tracing_claim_id"))


def job_is_stale(job: TracingLease, now: int) -> Condition:
    return job_is(job) & at_most("tracing_expires_at", now)


def job_is_named(job_id: str) -> Condition:
    return equals("trace_job_id", job_id)


def waits_to_be_claimed(job_id: str, attempt: int) -> Condition:
    """Liveness is not needed: a job that waited long in the queue is still wanted."""
    return equals("trace_job_id", job_id) & equals("tracing_attempt", attempt) & equals("tracing_state", "queued")


def may_be_claimed(job_id: str, attempt: int) -> Condition:
    """It waits, and its movie was not put away meanwhile. An inspection only looks, and goes on."""
    return waits_to_be_claimed(job_id, attempt) & (not_deleted() | equals("trace_job_kind", "inspect"))


def was_announced_at(job: TracingLease) -> Condition:
    return waits_to_be_claimed(job.job_id, job.attempt) & equals("tracing_announced_at", job.announced_at)


def holds_fence(fence: Fence, now: int) -> Condition:
    """Job, attempt and claim are the row's, and the lease is live: a worker that slept past its expiry is out."""
    return (
        equals("trace_job_id", fence.job_id)
        & equals("tracing_attempt", fence.attempt)
        & equals("tracing_claim_id", fence.claim_id)
        & equals("tracing_state", "running")
        & above("tracing_expires_at", now)
    )


def upload_is_open() -> Condition:
    return movie_exists() & not_deleted() & equals("status", "uploading")


def inspection_may_start(now: int) -> Condition:
    """The upload is open, or an inspection ended for a reason that is not the file's fault."""
    return movie_exists() & not_deleted() & one_of("status", ("uploading", "unusable")) & no_live_tracing_lease(now)


def only_own_lease_is_live(lease_id: str | None, now: int) -> Condition:
    """No live lease other than the caller's own exists."""
    free = no_live_analysis_lease(now)
    if lease_id:
        free = free | analysis_lease_is(lease_id)
    return movie_exists() & free & no_live_tracing_lease(now)


def receipt_is_new_or_retired(now: int) -> Condition:
    """No receipt answers for this key: there is none, or it is terminal and past its time."""
    return absent("receipt_id") | (one_of("state", TERMINAL) & at_most("expires_at", now))


def receipt_is_open(job_id: str) -> Condition:
    """The receipt is this job's and not yet terminal."""
    return equals("job_id", job_id) & one_of("state", ("accepted", "running"))


def event_is_new() -> Condition:
    return absent("log_id")


def frame_is_hidden_by(span: Hidden) -> Condition:
    """The stored frame belongs to what the span hides: another job's frame, or an edit older than the span."""
    older = absent("edit_seq") | at_most("edit_seq", span.edit_seq)
    return differs("job_id", span.job_id) & older


def frame_is_as_read(item: Mapping[str, Any] | None) -> Condition:
    """No edit and no job has written the frame (or the marker map) since: it names the same, or is still not there."""
    if item is None:
        return absent("frame_number")
    condition = present("frame_number")
    for name in ("edit_seq", "job_id", "attempt", "plan_version"):
        condition &= equals(name, item[name]) if name in item else absent(name)
    return condition


def frame_is_of_the_older_service() -> Condition:
    """The frame is there and names neither an edit nor a job: its points have not been turned."""
    return present("frame_number") & absent("edit_seq") & absent("job_id")


def points_are_not_all_turned() -> Condition:
    return differs("trackpoint_origin", ORIGIN)


def attribute_is_as_read(name: str, row: Mapping[str, Any]) -> Condition:
    return equals(name, row[name]) if name in row else absent(name)


def is_new(attribute: str) -> Condition:
    """No item with this key exists."""
    return absent(attribute)


def course_exists() -> Condition:
    return present("course_id")


def has_a_seat() -> Condition:
    """The course is there, its members have been counted, and it may have one more."""
    unlimited = absent("max_enrollment")
    return course_exists() & present("enrolled") & (unlimited | below_attribute("enrolled", "max_enrollment"))


def members_are_counted() -> Condition:
    return course_exists() & present("enrolled")


def members_are_not_counted() -> Condition:
    """The course comes from an older service, which kept no number."""
    return course_exists() & absent("enrolled")


def courses_are_as_read(courses_seq: int) -> Condition:
    """Nobody changed the courses of this person since the counter was read. Older rows have none."""
    unchanged = equals("courses_seq", courses_seq)
    return user_exists() & (unchanged | absent("courses_seq") if courses_seq == 0 else unchanged)


def belongs_to(course_id: str) -> Condition:
    """The person is a member or an administrator of the course."""
    return present("user_id") & (contains("courses", course_id) | contains("admin_of", course_id))


def user_exists() -> Condition:
    return present("user_id")


def key_exists() -> Condition:
    return present("api_key")
