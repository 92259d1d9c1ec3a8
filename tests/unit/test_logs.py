"""The log's lines are JSON, carry the ids and the traceback, and hold no secret."""

from __future__ import annotations

import io
import json
import logging
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from service import logs

LEASE = uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF).hex
JOB = "0f" * 16
KEY = "a" + "0123456789abcdef" * 2
URL = (
    "https://b.s3.amazonaws.com/movies/m1.mp4?response-content-type=video&X-Amz-Credential=AKIA%2F20260101"
    "&X-Amz-Signature=deadbeef&x-id=GetObject"
)


@pytest.fixture
def lines() -> Iterator[Any]:
    """A reader of the lines logged so far; structlog and the root logger are put back afterwards."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    former = structlog.get_config()
    structlog.contextvars.clear_contextvars()
    logs.configure("info", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    structlog.configure(**former)
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_is_one_json_object_with_event_level_time_and_bound_ids(lines: Any) -> None:
    with structlog.contextvars.bound_contextvars(job_id=JOB, movie_id="m1"):
        structlog.get_logger("x").info("job_claimed", attempt=2)
    structlog.get_logger("x").info("after")
    first, after = lines()
    time = first.pop("time")
    assert first == {"event": "job_claimed", "level": "info", "attempt": 2, "job_id": JOB, "movie_id": "m1"}
    assert time.endswith("Z")
    assert "job_id" not in after


def test_lines_below_the_level_are_dropped_and_an_unknown_level_is_refused(lines: Any) -> None:
    structlog.get_logger().debug("quiet")
    logging.getLogger("other").debug("quiet")
    assert lines() == []
    with pytest.raises(ValueError, match="loud"):
        logs.configure("loud")


def test_the_full_traceback_is_in_the_exception_field_without_the_secrets_it_names(lines: Any) -> None:
    try:
        raise ValueError(f"GET {URL} by {KEY} failed")
    except ValueError:
        structlog.get_logger().exception("download_failed", job_id=JOB)
    (line,) = lines()
    assert line["exception"].startswith("Traceback (most recent call last):")
    assert "test_logs.py" in line["exception"]
    assert (
        "ValueError: GET https://b.s3.amazonaws.com/movies/m1.mp4?[redacted] by [redacted] failed" in line["exception"]
    )
    assert line["job_id"] == JOB


def test_lines_of_other_libraries_take_the_same_way(lines: Any) -> None:
    with structlog.contextvars.bound_contextvars(movie_id="m1"):
        logging.getLogger("uvicorn.error").error("cannot fetch %s", URL)
    (line,) = lines()
    assert line["event"] == "cannot fetch https://b.s3.amazonaws.com/movies/m1.mp4?[redacted]"
    assert (line["level"], line["logger"], line["movie_id"]) == ("error", "uvicorn.error", "m1")


def test_configuring_twice_does_not_write_twice(lines: Any) -> None:
    again = io.StringIO()
    logs.configure("INFO", again)
    logging.getLogger("other").warning("once")
    structlog.get_logger().warning("once")
    assert lines() == []
    assert len(again.getvalue().splitlines()) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"analysis_lease_id={LEASE}&x=1",
        f'{{"analysis_lease_id": "{LEASE}"}}',
        f"{{'analysis_lease_id': {{'S': '{LEASE}'}}}}",
        f'{{\\"lease_id\\":\\"{LEASE}\\"}}',
        f"POST /api/x?analysis_lease_id={LEASE}",
    ],
)
def test_a_lease_id_is_told_by_the_name_in_front_of_it(text: str) -> None:
    cleaned = logs.clean(f"{text} job {JOB}")
    assert LEASE not in cleaned
    assert "lease_id" in cleaned
    assert JOB in cleaned


@pytest.mark.parametrize("text", [KEY, f"x-api-key: {KEY}", f"Bearer {KEY},", f"user_{KEY}", f"/ver?api_key={KEY}&a=1"])
def test_an_api_key_is_told_by_its_shape(text: str) -> None:
    assert KEY not in logs.clean(text)


@pytest.mark.parametrize(
    "text", [JOB, "a" + JOB + "0", "ba" + JOB, "s3://bucket/key", "https://lab.example/?page=2", "a cat"]
)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert logs.clean(text) == text


@pytest.mark.parametrize(
    "text",
    [URL, URL.replace("https://b.s3.amazonaws.com", ""), "X-Amz-Signature=deadbeef", "'x-amz-signature': 'deadbeef'"],
)
def test_a_presigned_query_is_removed(text: str) -> None:
    cleaned = logs.clean(text)
    assert "deadbeef" not in cleaned
    assert "AKIA" not in cleaned


def test_a_text_of_question_marks_is_read_once_and_what_is_signed_behind_them_is_removed() -> None:
    """Read again from each question mark it would take minutes."""
    marks = "?" * 300_000
    assert logs.clean(f"{marks} and {marks}x-amz-signature=abc") == f"{marks} and {marks}[redacted]"


def test_the_value_of_a_secret_field_is_removed_wherever_it_appears_in_the_event() -> None:
    class Holder:
        def __repr__(self) -> str:
            return f"<holder of {LEASE}>"

    event = {
        "event": f"lost {LEASE}",
        "analysis_lease_id": LEASE,
        "nested": [{"note": f"again {LEASE}", LEASE: 1}],
        "object": Holder(),
        "count": 3,
        "ok": True,
        "job_id": JOB,
    }
    cleaned = logs.redact(None, "info", dict(event))
    assert LEASE not in json.dumps(cleaned)
    assert (cleaned["count"], cleaned["ok"], cleaned["job_id"]) == (3, True, JOB)
    assert cleaned["event"] == "lost [redacted]"


def test_a_secret_field_deep_inside_a_list_is_found() -> None:
    cleaned = logs.redact(None, "info", {"event": f"x {LEASE}", "rows": [{"fields": {"x-amz-signature": LEASE}}]})
    assert cleaned == {"event": "x [redacted]", "rows": [{"fields": {"x-amz-signature": "[redacted]"}}]}


def test_a_short_value_in_a_secret_field_does_not_blot_out_the_line() -> None:
    cleaned = logs.redact(None, "info", {"event": "1 of 10", "analysis_lease_id": "1", "api_key": None})
    assert cleaned == {"event": "1 of 10", "analysis_lease_id": "[redacted]", "api_key": None}
