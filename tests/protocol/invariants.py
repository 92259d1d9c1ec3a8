"""The invariants of the protocol as checks over stored rows. Each raises AssertionError with the rows it disliked."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from service.domain.movie import Movie, frame_shows
from service.domain.receipt import TERMINAL, Receipt
from service.store.movies import ANALYSIS, HIDDEN, JOB
from service.store.table import Item
from tests.support.lab import Lab

_NOT_ALWAYS = {
    "tracing_claim_id",
    "tracing_checkpoint_frame",
    "tracing_backward_frame",
    "tracing_frame_start",
    "tracing_frame_end",
}
_ALWAYS = set(JOB) - _NOT_ALWAYS


@dataclass
class Rows:
    """Everything that is stored about one movie."""

    movie: Movie
    receipts: list[Receipt]
    events: list[Item]
    frames: dict[int, Item]


@dataclass
class Admitted:
    """A job that the service accepted, as its submitter was told."""

    job_id: str
    receipt_id: str
    frame_start: int
    frame_end: int


@dataclass
class Known:
    """What people were told about one movie, in order."""

    jobs: list[Admitted] = field(default_factory=list)
    fpm: str | None = None
    edit_seq: int = 0


async def read_rows(lab: Lab, movie_id: str, known: Known) -> Rows:
    receipts = [await lab.stores.receipts.get(job.receipt_id) for job in known.jobs]
    assert None not in receipts, "a receipt that was handed out is gone"
    return Rows(
        movie=await lab.movie(movie_id),
        receipts=[receipt for receipt in receipts if receipt],
        events=[event async for event in lab.stores.audit.of("movie_id", movie_id)],
        frames={
            item["frame_number"]: item async for item in lab.stores.frames.span(movie_id, 0, 10_000, consistent=True)
        },
    )


def check(rows: Rows, known: Known) -> None:
    one_token_and_whole_leases(rows.movie)
    one_open_receipt_per_job_on_the_row(rows)
    one_start_and_one_end_per_job(rows, known)
    no_reader_sees_two_jobs_mixed(rows, known)
    acknowledged_edits_are_there(rows.movie, known)


def one_token_and_whole_leases(movie: Movie) -> None:
    """I1: never tokens of both kinds; a lease is there with all its attributes or with none."""
    row = movie.row
    job, analysis = _ALWAYS & set(row), set(ANALYSIS) & set(row)
    assert not (movie.tracing and movie.analysis), f"both leases: {row}"
    assert job in (set(), _ALWAYS), f"half a job: {sorted(job)}"
    assert not analysis or analysis | {"analysis_request_key"} == set(ANALYSIS), f"half a lease: {sorted(analysis)}"
    assert ("tracing_claim_id" in row) == (row.get("tracing_state") == "running"), row
    assert (row["status"] == "tracing") == (movie.tracing is not None), row
    hidden = set(HIDDEN) & set(row)
    assert hidden in (set(), set(HIDDEN)), f"half a span: {sorted(hidden)}"


def one_open_receipt_per_job_on_the_row(rows: Rows) -> None:
    """I3, I6, I7: a receipt is open exactly while its job is on the row."""
    still_open = [receipt.job_id for receipt in rows.receipts if receipt.state not in TERMINAL]
    on_row = [rows.movie.tracing.job_id] if rows.movie.tracing else []
    assert still_open == on_row, (still_open, on_row)
    done = {receipt.job_id for receipt in rows.receipts if receipt.state == "done"}
    published = rows.movie.row.get("results_job_id")
    assert published is None or published in done, (published, done)


def one_start_and_one_end_per_job(rows: Rows, known: Known) -> None:
    """I10: exactly one started event per job, and one of completed or failed once its receipt says so."""
    told: Counter[tuple[str, str]] = Counter(
        (event["trace_job_id"], event["event_type"].removeprefix("movie.tracing."))
        for event in rows.events
        if event["event_type"].startswith("movie.tracing.")
    )
    expected: Counter[tuple[str, str]] = Counter()
    for job, receipt in zip(known.jobs, rows.receipts, strict=True):
        assert receipt.job_id == job.job_id, "the receipt of one key names another job now"
        expected[job.job_id, "started"] += 1
        if receipt.state in TERMINAL:
            expected[job.job_id, "completed" if receipt.state == "done" else "failed"] += 1
    assert told == expected, (told - expected, expected - told)


def no_reader_sees_two_jobs_mixed(rows: Rows, known: Known) -> None:
    """I5: behind the source frame of the latest job a reader sees that job's frames and people's points only."""
    if not known.jobs:
        return
    latest = known.jobs[-1]
    for number, item in rows.frames.items():
        points = frame_shows(rows.movie, item)
        if points and latest.frame_start < number <= latest.frame_end:
            owner = item.get("job_id")
            placed: set[Any] = {point.get("placed") for point in points}
            assert owner in (None, latest.job_id) or placed == {"user"}, (number, owner, latest)
    if rows.movie.row.get("results_job_id") == latest.job_id and not rows.movie.row.get("needs_retracing"):
        span = set(range(latest.frame_start, latest.frame_end + 1))
        assert span <= set(rows.frames), "a completed trace has holes"


def acknowledged_edits_are_there(movie: Movie, known: Known) -> None:
    """I12: what was acknowledged is stored, what was refused is not."""
    assert movie.row.get("fpm") == known.fpm, (movie.row.get("fpm"), known.fpm)
    assert movie.edit_seq == known.edit_seq, (movie.edit_seq, known.edit_seq)
