"""An event of the audit trail in one sentence for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from service.domain.audit import OPERATOR
from service.domain.failures import CANCELLED
from service.domain.visible import is_blank, without_embeddings

Named = Callable[[str, str], str | None]
"""(`user`, `movie` or `course`; id) -> what people call it, or None for what is gone or unknown."""

_SENTENCES = {
    "movie.upload.completed": "{who} uploaded {movie}.",
    "movie.inspection.started": "{who} had {movie} inspected.",
    "movie.inspection.completed": "The inspection of {movie} ended well: it has {frames}.",
    "movie.inspection.failed": "{movie} cannot be used: {why}",
    "movie.tracing.started": "{who} started to trace {movie}.",
    "movie.tracing.completed": "The trace of {movie} ended well{after}: {frames} followed.",
    "movie.tracing.failed": "The trace of {movie} ended without a result{after}: {why}",
    "movie.tracing.cancelled": "{who} cancelled the trace of {movie}{after}.",
    "movie.lease.taken-over": "{who} took over editing {movie}.",
    "course.created": "{who} made the course {course}.",
    "course.admin.assigned": "{who} made {subject} an administrator of {course}.",
    "course.admin.removed": "{who} took from {subject} the right to administer {course}.",
}


def sentence(event: Mapping[str, Any], named: Named) -> str:
    """What happened, in words. Who and what is unknown is called somebody, a movie, a course."""

    def called(kind: str, id_name: str, otherwise: str) -> str:
        identity = event.get(id_name)
        name = without_embeddings(named(kind, identity) or "") if identity else ""
        return otherwise if is_blank(name) else name

    who = "An operator" if event.get("user_id") == OPERATOR else called("user", "user_id", "Somebody")
    movie = called("movie", "movie_id", "")
    course = called("course", "course_id", "")
    text = _SENTENCES.get(_told_as(event), "{who} did something that this version does not know.")
    told = text.format(
        who=who,
        subject=called("user", "subject_user_id", "somebody"),
        movie=f"“{movie}”" if movie else "a movie",
        course=f"“{course}”" if course else "a course",
        frames=_counted(event.get("frames"), "frame"),
        after=_after(event.get("elapsed_seconds")),
        why=event.get("error_summary") or "the reason is not known.",
    )
    return told[0].upper() + told[1:]


def _told_as(event: Mapping[str, Any]) -> str:
    """A trace that somebody stopped on purpose is stored as failed, but nothing went wrong."""
    kind: str = event["event_type"]
    if kind == "movie.tracing.failed" and event.get("error_type") == CANCELLED:
        return "movie.tracing.cancelled"
    return kind


def _counted(number: Any, word: str) -> str:
    if not isinstance(number, int):
        return f"{word}s that nobody counted"
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _after(seconds: Any) -> str:
    """Empty where nobody measured it, or where it was no time at all."""
    if not isinstance(seconds, int | float) or seconds < 0.5:
        return ""
    if seconds < 120:
        return f" after {_counted(round(seconds), 'second')}"
    return f" after {_counted(round(seconds / 60), 'minute')}"
