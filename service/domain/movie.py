"""The movie row as a frozen record, and what a reader may believe of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.failures import WORKER_LOST, sentence
from service.domain.lease import AnalysisLease, TracingLease
from service.domain.markers import identified

UPLOADING = "uploading"
PROCESSING = "processing"
READY = "ready"
TRACING = "tracing"
COMPLETED = "tracing completed"
FAILED = "tracing failed"
UNUSABLE = "unusable"

ORIGIN = "lower-left"
"""Where the coordinates of stored points begin, as the row says it of itself."""

EDITABLE = (READY, COMPLETED, FAILED, TRACING)
"""Stored states in which a movie can be edited or traced, if no live lease says otherwise.

`tracing` is among them: a stale tracing lease must never cost the movie anything."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A span of frames that a start transaction cleared logically and no worker has cleaned yet.

    `job_id` is the job that hid it; `edit_seq` the row's edit counter then; `keep_placed` whether points that a
    person placed stay.
    """

    first: int
    last: int
    job_id: str
    edit_seq: int
    keep_placed: bool


@dataclass(frozen=True, slots=True)
class Movie:
    """One item of the `movies` table. `row` keeps every attribute as stored, for readers that show them."""

    movie_id: str
    user_id: str
    course_id: str
    status: str
    published: bool
    deleted: bool
    edit_seq: int
    total_frames: int
    analysis: AnalysisLease | None
    tracing: TracingLease | None
    hidden: tuple[Hidden, ...]
    """What stands in the frames and counts no more, in the order in which it was hidden."""
    row: Mapping[str, Any]

    @property
    def turn(self) -> str:
        """With whom the movie's jobs wait in turn: with its course's, or with its owner's if it has none.

        A hash, since a queue takes only some characters and a log of the queue should name nobody.
        """
        who = f"course {self.course_id}" if self.course_id else f"person {self.user_id}"
        return hashlib.sha256(who.encode()).hexdigest()[:32]

    @property
    def trim_start(self) -> int:
        return int(self.row.get("trim_start_frame") or 0)

    @property
    def trim_end(self) -> int:
        """The last frame inside the trim, inclusive."""
        stored = self.row.get("trim_end_frame")
        return int(stored) if stored is not None else max(0, self.total_frames - 1)

    @property
    def frame_size(self) -> tuple[int, int]:
        """Width and height of the analysis frame, whose longer side is 640; (0, 0) while nothing is known.

        Rows of the older service carry only the movie's own size, in square pixels.
        """
        width, height = int(self.row.get("width") or 0), int(self.row.get("height") or 0)
        if self.row.get("frame_width") and self.row.get("frame_height"):
            return int(self.row["frame_width"]), int(self.row["frame_height"])
        if width <= 0 or height <= 0:
            return 0, 0
        scale = 640 / max(width, height)
        return max(1, round(width * scale)), max(1, round(height * scale))

    @property
    def rotation(self) -> int:
        """Degrees clockwise by which a person turned the movie: 0, 90, 180 or 270.

        The older service kept it as text, "090" and "NaN" among it; what is no quarter turn counts as none.
        """
        text = str(self.row.get("rotation") or 0)
        turned = int(text) % 360 if text.isdecimal() else 0
        return turned if turned % 90 == 0 else 0

    @property
    def frame_height(self) -> int:
        return self.frame_size[1]


def movie_from_row(row: Mapping[str, Any]) -> Movie:
    """Read a stored item. Attributes that older versions did not write get their defaults."""
    return Movie(
        movie_id=row["movie_id"],
        user_id=row.get("user_id", ""),
        course_id=row.get("course_id", ""),
        status=row.get("status", UPLOADING),
        published=bool(row.get("published")),
        deleted=bool(row.get("deleted")),
        edit_seq=int(row.get("edit_seq") or 0),
        total_frames=int(row.get("total_frames") or 0),
        analysis=_analysis(row),
        tracing=_tracing(row),
        hidden=_hidden(row),
        row=row,
    )


def _analysis(row: Mapping[str, Any]) -> AnalysisLease | None:
    if not row.get("analysis_lease_id"):
        return None
    return AnalysisLease(
        lease_id=row["analysis_lease_id"],
        user_id=row.get("analysis_started_by_user_id", ""),
        user_name=row.get("analysis_started_by_user_name", ""),
        started_at=int(row.get("analysis_started_at") or 0),
        heartbeat_at=int(row.get("analysis_heartbeat_at") or 0),
        expires_at=int(row.get("analysis_expires_at") or 0),
        request_key=row.get("analysis_request_key"),
    )


def _tracing(row: Mapping[str, Any]) -> TracingLease | None:
    if not row.get("trace_job_id"):
        return None
    checkpoint = row.get("tracing_checkpoint_frame")
    return TracingLease(
        job_id=row["trace_job_id"],
        kind=row.get("trace_job_kind", "trace"),
        state=row.get("tracing_state", "queued"),
        attempt=int(row.get("tracing_attempt") or 1),
        claim_id=row.get("tracing_claim_id"),
        receipt_id=row.get("trace_receipt_id", ""),
        user_id=row.get("tracing_started_by_user_id", ""),
        user_name=row.get("tracing_started_by_user_name", ""),
        started_at=int(row.get("tracing_started_at") or 0),
        heartbeat_at=int(row.get("tracing_heartbeat_at") or 0),
        expires_at=int(row.get("tracing_expires_at") or 0),
        announced_at=int(row.get("tracing_announced_at") or 0),
        failures=int(row.get("tracing_failures") or 0),
        due_at=int(row.get("sweep_due_at") or 0),
        checkpoint_frame=int(checkpoint) if checkpoint is not None else None,
    )


def _hidden(row: Mapping[str, Any]) -> tuple[Hidden, ...]:
    if row.get("hidden_from") is None:
        return ()
    return tuple(_span(stored) for stored in (*row.get("hidden_earlier", ()), row))


def _span(stored: Mapping[str, Any]) -> Hidden:
    return Hidden(
        first=int(stored["hidden_from"]),
        last=int(stored["hidden_to"]),
        job_id=stored.get("hidden_job_id", ""),
        edit_seq=int(stored.get("hidden_edit_seq") or 0),
        keep_placed=bool(stored.get("hidden_keep_placed")),
    )


def hidden_row(spans: tuple[Hidden, ...]) -> dict[str, Any]:
    """The attributes of the row that say so: the latest span in its own, those before it in a list."""

    def told(span: Hidden) -> dict[str, Any]:
        return {
            "hidden_from": span.first,
            "hidden_to": span.last,
            "hidden_job_id": span.job_id,
            "hidden_edit_seq": span.edit_seq,
            "hidden_keep_placed": span.keep_placed,
        }

    if not spans:
        return {}
    return {"hidden_earlier": [told(span) for span in spans[:-1]], **told(spans[-1])}


def hide(earlier: tuple[Hidden, ...], new: Hidden) -> tuple[Hidden, ...]:
    """The spans that hide what all of these hide, each only what was there when it was made.

    They must not be made one: the counter of the new span lies behind edits that an earlier one left alone, and its
    frames are not theirs. A span without frames hides nothing; one whose every frame is hidden again needs no telling.
    """
    if new.first > new.last:
        return earlier
    left = tuple(
        span
        for span in earlier
        if not (new.first <= span.first and span.last <= new.last and (span.keep_placed or not new.keep_placed))
    )
    return (*left, new)


def hiding(item: Mapping[str, Any], spans: tuple[Hidden, ...]) -> tuple[Hidden, ...]:
    """Those of the spans that hide something of this stored frame, in their order.

    A frame of a span's own job is hidden by later spans only; what a person wrote, by those that were made after it.
    """
    if not spans:
        return ()
    number, job_id, edit_seq = int(item["frame_number"]), item.get("job_id"), int(item.get("edit_seq") or 0)
    own = [place for place, span in enumerate(spans) if span.job_id == job_id]
    later = spans[own[-1] + 1 if own else 0 :]
    return tuple(span for span in later if span.first <= number <= span.last and edit_seq <= span.edit_seq)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a reader is told: derived from the leases, not trusted from the row."""

    status: str
    failure_code: str | None = None
    failure_summary: str | None = None
    resuming: bool = False


def condition(movie: Movie, now: int, max_attempts: int) -> Condition:
    """The truth about a movie at `now`, even if nobody has swept it yet.

    A live job reads as `tracing` (or `processing`); a stale one as failed, code `worker_lost`, with `resuming` telling
    whether another attempt will follow by itself.
    """
    job = movie.tracing
    if job is None:
        stored = movie.status
        if stored == TRACING:  # a legacy row: the old service left the status behind
            return Condition(FAILED, WORKER_LOST, sentence(WORKER_LOST))
        if stored == FAILED:
            return Condition(FAILED, movie.row.get("failure_code"), movie.row.get("tracing_failure_summary"))
        if stored == UNUSABLE:
            return Condition(UNUSABLE, movie.row.get("failure_code"), movie.row.get("status_reason"))
        return Condition(stored)
    if job.live(now):
        return Condition(TRACING if job.kind == "trace" else PROCESSING)
    resuming = job.resumes(max_attempts)
    if job.kind == "inspect":
        if resuming:
            return Condition(PROCESSING, resuming=True)
        return Condition(UNUSABLE, WORKER_LOST, sentence(WORKER_LOST))
    return Condition(FAILED, WORKER_LOST, sentence(WORKER_LOST), resuming)


_NO_MARKERS: Mapping[str, Mapping[str, Any]] = {}


def frame_shows(
    movie: Movie, item: Mapping[str, Any], labels: Mapping[str, Mapping[str, Any]] = _NO_MARKERS
) -> list[dict[str, Any]]:
    """The trackpoints of one stored frame item that a reader may see, each with its marker id.

    `labels` is the movie's marker map; label-only points of the older service mean its markers.

    Inside a hidden span only the hiding job's own frames, edits made after it began, and (if it keeps them) points
    that a person placed are shown.
    """
    points = turned_points(movie, item, labels)
    for span in hiding(item, movie.hidden):
        points = [p for p in points if p.get("placed") == "user"] if span.keep_placed else []
    return points


def is_legacy_frame(movie: Movie, item: Mapping[str, Any]) -> bool:
    """Was this frame stored by the older service, its points measured from the upper left corner?

    Every frame that this service writes names a job or an edit; a movie whose points were all turned says so itself.
    """
    ours = "job_id" in item or "edit_seq" in item
    return not ours and movie.row.get("trackpoint_origin") != ORIGIN


def turned_points(
    movie: Movie, item: Mapping[str, Any], labels: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """All points of a stored frame, hidden or not, as this service stores them: turned, each with its marker id."""
    return identified(_turned(movie, item), labels)


def _turned(movie: Movie, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stored points with their origin at the lower left. Nothing is written: reading twice cannot turn twice.

    Points of a movie of unknown height stay as they are stored: there is nothing to turn them by.
    """
    points: list[dict[str, Any]] = item.get("trackpoints") or []
    if not points or not movie.frame_height or not is_legacy_frame(movie, item):
        return points
    return [{**point, "y": round(movie.frame_height - float(point["y"]), 1)} for point in points]
