"""Events of the audit trail: which there are, and what each holds. Never a secret, a signed URL, a path or a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

EventType = Literal[
    "movie.upload.completed",
    "movie.inspection.started",
    "movie.inspection.completed",
    "movie.inspection.failed",
    "movie.tracing.started",
    "movie.tracing.completed",
    "movie.tracing.failed",
    "movie.lease.taken-over",
    "course.created",
    "course.admin.assigned",
    "course.admin.removed",
]

OPERATOR = "operator"
"""Who acted, if it was a command on the machine and nobody's key."""

ENDED = {
    ("trace", True): "movie.tracing.completed",
    ("trace", False): "movie.tracing.failed",
    ("inspect", True): "movie.inspection.completed",
    ("inspect", False): "movie.inspection.failed",
}
"""(job kind, did it succeed) -> the event of its end."""


def event(
    log_id: str,
    event_type: str,
    now: int,
    *,
    user_id: str,
    movie_id: str | None = None,
    course_id: str | None = None,
    ipaddr: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """One item of `logs`. `fields` are those of the contract (trace_job_id, request_key, attempt, frames, ...).

    Events of courses that concern another person name him as `subject_user_id`.
    """
    item = {
        "log_id": log_id,
        "event_type": event_type,
        "time_t": now,
        "user_id": user_id,
        "movie_id": movie_id,
        "course_id": course_id,
        "ipaddr": ipaddr,
        **fields,
    }
    return {name: value for name, value in item.items() if value is not None and value != ""}


_FOR_READERS = frozenset(
    {
        "log_id", "event_type", "time_t", "user_id", "subject_user_id", "course_id", "movie_id", "trace_job_id",
        "attempt", "elapsed_seconds", "frames",
    }
)  # fmt: skip


def for_readers(event: Mapping[str, Any]) -> dict[str, Any]:
    """What others may know of somebody's doing: what was done and when, not from which address or by which request.

    A failure is told in the sentence alone.
    """
    return {name: value for name, value in event.items() if name in _FOR_READERS}
