"""`tiptrace bench trace` and `tiptrace bench job`: what they tell, and when they end with what."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from service.bench.jobs import Spent
from service.bench.stages import STAGES
from service.cli.bench import bench
from service.cli.bench_job import report
from tests.support.movies import sliding, textured, write_movie


def test_a_trace_is_told_stage_by_stage_as_multiples_of_decoding(tmp_path: Path) -> None:
    movie = write_movie(tmp_path / "bean.mp4", sliding(160, 120, 6, (1, 1)))
    result = CliRunner().invoke(bench, ["trace", "--movie", str(movie), "--points", "2", "--rounds", "1", "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["movie"] == {"name": "bean.mp4", "frames": 6, "width": 160, "height": 120, "codec": "h264"}
    stages = {row["stage"]: row for row in told["stages"]}
    assert list(stages) == [*STAGES, "all"]
    assert stages["decode"]["times_decoding"] == 1.0
    assert stages["all"]["seconds"] == pytest.approx(sum(stages[name]["seconds"] for name in STAGES), abs=0.001)
    assert all(row["frames_per_second"] > 0 for row in told["stages"])
    assert (told["markers"], told["rounds"]) == (2, 1)
    assert 20 < told["peak_megabytes"] < 400
    assert {"processor", "cores", "memory_megabytes", "load", "python", "libraries"} <= set(told["machine"])


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [(["--size", "12"], 2, "WxH"), (["--size", "3x3"], 2, "--size"), (["--rounds", "0"], 2, "rounds")],
)
def test_bad_arguments_end_with_2(arguments: list[str], code: int, word: str) -> None:
    for command in ("trace", "job"):
        result = CliRunner().invoke(bench, [command, *arguments])
        assert result.exit_code == code
        assert word in result.stderr


def test_what_cannot_be_measured_ends_with_1_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(b"no movie")
    plain = write_movie(tmp_path / "plain.mp4", [textured(160, 120) * 0 + 90] * 2)
    for command, path in (("trace", tmp_path / "broken.mp4"), ("job", tmp_path / "broken.mp4"), ("job", plain)):
        result = CliRunner().invoke(bench, [command, "--movie", str(path), "--rounds", "1"])
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1


def spent(frames: int, calls: int, read: int, written: int = 2) -> Spent:
    stored = Counter(GetObject=read, PutObject=written)
    return Spent(2.0, frames, Counter(UpdateItem=calls), stored, {"trace": 1.5, "clear": 0.0})


def test_a_job_that_asks_too_much_of_the_store_is_a_violation() -> None:
    """At most 0.05 database calls a frame, and three storage requests for each file."""

    def told(*numbers: int) -> dict[str, object]:
        measured = {"inspection": spent(600, 1, 1), "trace": spent(*numbers)}
        return report("m", 2, 1, 0.1, {**measured, "engine_megabytes": 99.0, "service_megabytes": 99.0})

    fine = told(600, 30, 10)
    assert fine["violations"] == []
    assert fine["trace"]["database_calls_per_frame"] == 0.05  # type: ignore[index]
    assert fine["trace"]["times_decoding"] == 10.0  # type: ignore[index]
    assert "16.0 database calls for 300 frames" in told(600, 32, 10)["violations"][0]  # type: ignore[index]
    assert "7.0 storage requests for 2.0 files" in told(600, 30, 12)["violations"][0]  # type: ignore[index]
    assert told(600, 30, 24, 20)["violations"] == []  # many checkpoints of two long jobs


@pytest.mark.long
def test_whole_jobs_are_run_and_told(tmp_path: Path) -> None:
    """Two at once through the embedded default."""
    movie = write_movie(tmp_path / "bean.mp4", sliding(160, 120, 12, (1, 1)))
    options = ["--points", "2", "--movies", "2", "--workers", "2", "--rounds", "1", "--json"]
    result = CliRunner().invoke(bench, ["job", "--movie", str(movie), *options])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["movie"] == {"name": "bean.mp4", "frames": 12}
    assert {"fetch", "trace", "store", "publish"} <= set(told["trace"]["stage_seconds"])
    assert told["trace"]["database_calls"]["TransactWriteItems"] >= 4
    assert told["trace"]["storage_requests"]["PutObject"] == 2
    assert told["violations"] == []
