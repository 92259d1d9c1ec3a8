"""What a description of AWS means for the service: the judgements of `tiptrace admin doctor`, without AWS."""

from __future__ import annotations

from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from service.domain.finding import Finding, all_well
from service.settings import Settings
from service.sound_settings import judge_settings
from service.store.cors import FOR_BROWSERS, lets, missing
from service.store.schema import MOVIES, TABLES, definition
from service.usecases.judge_deployment import judge_clock, judge_lifecycle, judge_table, skew_of

LAB = "https://lab.example"
SHAPE = next(shape for shape in TABLES if shape.name == MOVIES)


def described(**changed: Any) -> dict[str, Any]:
    return {"TableStatus": "ACTIVE", **definition(SHAPE, "p-"), **changed}


def said(findings: list[Finding]) -> str:
    return " ".join(finding.said for finding in findings)


def test_a_table_as_the_schema_has_it_is_nothing_to_tell_of() -> None:
    assert judge_table(SHAPE, "p-movies", described()) == []


def test_every_way_in_which_a_table_differs_is_a_fault() -> None:
    key = described(KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}])
    assert "has the key id and must have movie_id" in said(judge_table(SHAPE, "p-movies", key))
    kinds = described(AttributeDefinitions=[{"AttributeName": "sweep_due_at", "AttributeType": "S"}])
    assert "sweep_due_at of p-movies is of type S" in said(judge_table(SHAPE, "p-movies", kinds))
    without = described(GlobalSecondaryIndexes=described()["GlobalSecondaryIndexes"][1:])
    (finding,) = judge_table(SHAPE, "p-movies", without)
    assert (finding.verdict, "lacks the index course_id_idx" in finding.said) == ("fault", True)
    assert "tiptrace admin migrate" in finding.todo
    indexes = described()["GlobalSecondaryIndexes"]
    indexes[0] = {**indexes[0], "Projection": {"ProjectionType": "KEYS_ONLY"}, "IndexStatus": "CREATING"}
    told = said(judge_table(SHAPE, "p-movies", described(GlobalSecondaryIndexes=indexes)))
    assert "does not hold whole rows" in told
    assert "is CREATING" in told


@pytest.mark.parametrize(
    ("ahead", "verdict"), [(0, "well"), (-1.4, "well"), (5, "advice"), (-5, "advice"), (60, "fault")]
)
def test_clocks_may_differ_by_two_seconds_and_never_by_ten(ahead: float, verdict: str) -> None:
    now = 1_800_000_000.5
    finding = judge_clock(skew_of(formatdate(now - ahead, usegmt=True), now - 0.02, now + 0.02), 900)
    assert finding.verdict == verdict
    if verdict != "well":
        assert ("ahead of" if ahead > 0 else "behind") in finding.said


def test_a_rule_about_origins_is_read_as_s3_reads_it() -> None:
    own = [{"AllowedOrigins": ["https://*.example"], "AllowedMethods": ["GET"], "AllowedHeaders": ["Range"]}]
    assert lets(own, LAB, "GET", ["range"])
    assert not lets(own, LAB, "GET", ["range", "x-other"])
    assert not lets(own, "https://lab.example.evil.test", "GET", ["range"])
    assert not lets(own, None, "GET")
    assert missing(own, LAB) == ["POST"]
    assert missing([FOR_BROWSERS], None) == missing([FOR_BROWSERS], LAB) == []
    # Two rules that together would do are none that does: one must allow all of a request.
    apart = [{"AllowedOrigins": [LAB], "AllowedMethods": ["GET"]}, {"AllowedOrigins": ["*"], "AllowedHeaders": ["*"]}]
    assert missing(apart, LAB) == ["GET", "POST"]


@pytest.mark.parametrize(
    ("rule", "harm"),
    [
        ({"Filter": {"Prefix": "uploads/"}, "Expiration": {"Days": 2}}, False),
        ({"Filter": {"Prefix": "movies/"}, "Expiration": {"Days": 90}}, True),
        ({"Prefix": "", "Expiration": {"Days": 90}}, True),
        ({"Filter": {"Prefix": "movies/"}, "Expiration": {"ExpiredObjectDeleteMarker": True}}, False),
        ({"Filter": {"Tag": {"Key": "a", "Value": "b"}}, "Expiration": {"Days": 1}}, False),
    ],
)
def test_a_lifecycle_that_ends_movies_is_a_fault_and_one_that_ends_uploads_is_wanted(
    rule: dict[str, Any], harm: bool
) -> None:
    found = judge_lifecycle("b", [{"Status": "Enabled", **rule}])
    assert all_well(found) is not harm
    assert judge_lifecycle("b", [{"Status": "Disabled", **rule}])[0].verdict == "advice"


def test_settings_that_cannot_be_safe_on_aws_are_faults_and_tell_no_secret(tmp_path: Path) -> None:
    def judged(**changed: Any) -> list[Finding]:
        given = {"backend": "aws", "public_url": LAB, "secret_key": "s" * 40, "trusted_proxies": 1, **changed}
        return judge_settings(Settings(_env_file=None, data=tmp_path, smtp_url="smtp://u:hush@m.test", **given))

    assert {finding.verdict for finding in judged()} == {"well"}
    short = judged(secret_key="too short")
    assert not all_well(short)
    assert "too short" not in said(short)
    assert not all_well(judged(secret_key=None))
    assert not all_well(judged(public_url="http://lab.example"))
    assert not all_well(judged(public_url="lab.example"))
    assert all_well(judged(trusted_proxies=0))
    assert "hush" not in said(judged(trusted_proxies=0, sweep_seconds=5000))


def test_a_secret_that_others_may_read_is_a_fault(tmp_path: Path) -> None:
    settings = Settings(_env_file=None, data=tmp_path)
    (tmp_path / "secret-key").write_text("x")
    (tmp_path / "secret-key").chmod(0o644)
    assert "may read secret-key" in said(judge_settings(settings))
    (tmp_path / "secret-key").chmod(0o600)
    assert all_well(judge_settings(settings))
