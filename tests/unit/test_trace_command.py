"""`tiptrace trace` and `tiptrace demo-movie` from the outside."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import av
import openpyxl
import pytest
from click.testing import CliRunner, Result

from service.cli.trace import demo_movie, trace
from tests.support.movies import sliding, textured, write_movie
from tracer.media import open_movie


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_movie(tmp_path_factory.mktemp("t") / "bean.mp4", sliding(320, 240, 8, (2, 1)))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(trace, [str(argument) for argument in arguments])


def test_all_outputs_are_written_and_agree(movie: Path, tmp_path: Path) -> None:
    out = {kind: tmp_path / f"out.{kind}" for kind in ("csv", "xlsx", "json", "mp4")}
    files = [item for kind, path in out.items() for item in (f"--{kind}", path)]
    rulers = ["--marker", "Ruler 0mm=250,200", "--marker", "Ruler 10mm=250,150"]
    result = run(movie, "--marker", "Apex=160,120", *rulers, "--start", 2, "--end", 6, "--fpm", 2, *files)
    assert result.exit_code == 0, result.output
    assert "10 mm between Ruler 0mm and Ruler 10mm are 100.0 px." in result.output

    document = json.loads(out["json"].read_text())
    apex = [p for p in document["trackpoint_dicts"] if p["label"] == "Apex"]
    assert [p["frame_number"] for p in apex] == [2, 3, 4, 5, 6]
    assert (apex[0]["x"], apex[0]["y"]) == (320.5, 239.5)  # source pixel centres, twice as large, from below
    assert apex[-1]["x"] == pytest.approx(320.5 - 16, abs=0.6)
    assert apex[-1]["y"] == pytest.approx(239.5 + 8, abs=0.6)
    assert document["results"]["time_unit"] == "minute"

    with out["csv"].open(newline="", encoding="utf-8") as lines:
        table = list(csv.reader(lines))
    assert table[0][:3] == ["frame_number", "Apex x (mm)", "Apex y (mm)"]
    assert float(table[1][1]) == pytest.approx(32.05)
    assert openpyxl.load_workbook(out["xlsx"]).sheetnames[0] == "Trackpoints"
    with av.open(str(out["mp4"])) as labelled:
        assert sum(1 for _ in labelled.decode(video=0)) == 5


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--marker", "Apex"], "LABEL=X,Y"),
        (["--marker", "=1,2"], "LABEL=X,Y"),
        (["--marker", "Apex=nan,2"], "LABEL=X,Y"),
        (["--marker", "Apex=1,2,3"], "LABEL=X,Y"),
        (["--marker", "Apex=400,2"], "outside the picture"),
        (["--marker", "A=1,2", "--marker", "A=3,4"], "same label"),
        (["--marker", "A=1,2", "--start", "5", "--end", "4"], "before the first"),
        (["--marker", "A=1,2", "--rotation", "45"], "45"),
        (["--marker", "A=1,2", "--fpm", "0"], "fpm"),
        ([], "--marker"),
    ],
)  # fmt: skip
def test_bad_arguments_end_with_2(movie: Path, arguments: list[str], word: str) -> None:
    result = run(movie, *arguments)
    assert result.exit_code == 2
    assert word in result.stderr
    assert "Traceback" not in result.output


def test_an_output_never_replaces_the_movie_or_another_output(movie: Path, tmp_path: Path) -> None:
    before = movie.read_bytes()
    assert run(movie, "--marker", "A=160,120", "--mp4", movie).exit_code == 2
    assert movie.read_bytes() == before
    twice = run(movie, "--marker", "A=160,120", "--csv", tmp_path / "o", "--json", tmp_path / "o")
    assert twice.exit_code == 2
    assert not (tmp_path / "o").exists()


def test_a_label_in_brackets_is_shown_as_it_is(movie: Path) -> None:
    result = run(movie, "--marker", "[bold]tip[/bold]=160,120")
    assert result.exit_code == 0
    assert "[bold]tip[/bold]" in result.stdout


def test_a_label_may_hold_an_equals_sign(movie: Path, tmp_path: Path) -> None:
    assert run(movie, "--marker", "a=b=160,120", "--json", tmp_path / "o.json").exit_code == 0
    assert json.loads((tmp_path / "o.json").read_text())["trackpoint_dicts"][0]["label"] == "a=b"


def test_what_cannot_be_read_ends_with_1_and_one_line(movie: Path, tmp_path: Path) -> None:
    """No traceback, no path of the machine, no half labelled movie."""
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no movie")
    result = run(broken, "--marker", "A=1,2", "--mp4", tmp_path / "half.mp4")
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: This file cannot be read as a movie. It may be damaged or cut off;")
    cut = run(movie, "--marker", "A=1,2", "--end", 20, "--mp4", tmp_path / "half.mp4")
    assert cut.exit_code == 1
    assert "The movie ends after frame 7 of 8" in cut.stderr
    assert not (tmp_path / "half.mp4").exists()


def test_an_output_that_cannot_be_written_ends_with_1(movie: Path, tmp_path: Path) -> None:
    result = run(movie, "--marker", "A=160,120", "--csv", tmp_path / "no" / "such" / "folder.csv")
    assert result.exit_code == 1
    assert "folder.csv cannot be written" in result.stderr
    assert str(tmp_path) not in result.stderr


def test_rotation_is_the_persons_turn_on_top_of_the_files(tmp_path: Path) -> None:
    """B06: a marker is given in the upright frame."""
    path = write_movie(tmp_path / "r.mov", [textured(160, 96)] * 3, rotation=90)
    result = run(path, "--marker", "Apex=20,90", "--rotation", 90, "--json", tmp_path / "o.json")
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "o.json").read_text())["movie"]
    assert (told["width"], told["height"]) == (160, 96)
    assert told["inspection"]["rotation"] == 90
    assert run(path, "--marker", "Apex=20,120").exit_code == 0
    assert run(path, "--marker", "Apex=120,20").exit_code == 2


def test_uneven_timestamps_reach_json_rates_and_the_labelled_movie(tmp_path: Path) -> None:
    """B03, B04: one second passes between two of the frames of a phone that takes twenty-five a second."""
    times = [0, 40, 80, 120, 1120, 1160, 1200, 1240]
    pictures = sliding(320, 240, 8, (2, 1))
    path = write_movie(tmp_path / "vfr.mp4", pictures, times=times, time_base=Fraction(1, 1000))
    options = ["--json", tmp_path / "o.json", "--mp4", tmp_path / "o.mp4", "--fpm", 1500]
    result = run(path, "--marker", "Apex=160,120", *options)
    assert result.exit_code == 0, result.output
    document = json.loads((tmp_path / "o.json").read_text())
    seconds = [time / 1000 for time in times]
    assert [point["time"] for point in document["trackpoint_dicts"]] == pytest.approx(seconds)
    results = document["results"]
    assert results["clock"] == "timestamps"
    assert results["gravitropism"]["rate"] == pytest.approx(results["gravitropism"]["distance"] / (1.24 / 60), rel=1e-6)
    with open_movie(tmp_path / "o.mp4") as labelled:
        assert [frame.time for frame in labelled.frames()] == pytest.approx(seconds, abs=1e-3)
    assert "The frame rate varies" in result.stdout


def test_a_movie_that_ends_early_says_how_much_of_it_was_read(tmp_path: Path) -> None:
    """B01: everything that can be read is traced, the rest is named, in the summary and in the file."""
    path = write_movie(tmp_path / "whole.mp4", sliding(320, 240, 30, (2, 1)), options={"bf": "0"}, front=True)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    result = run(path, "--marker", "Apex=160,120", "--json", tmp_path / "o.json")
    assert result.exit_code == 0, result.output
    inspection = json.loads((tmp_path / "o.json").read_text())["movie"]["inspection"]
    read, promised = inspection["decoded_frames"], inspection["promised_frames"]
    assert 0 < read < promised == 30
    assert f"Only {read} of 30 promised frames can be read." in " ".join(result.stdout.split())
    asked = run(path, "--marker", "Apex=160,120", "--end", 29)
    assert asked.exit_code == 1
    assert f"The movie ends after frame {read - 1} of 30" in asked.stderr


def test_a_demonstration_movie_comes_with_its_truth(tmp_path: Path) -> None:
    out, truth = tmp_path / "d.mp4", tmp_path / "d.csv"
    options = ["--scene", "gravitropism", "--frames", "6", "--size", "320x240", "--truth", str(truth)]
    result = CliRunner().invoke(demo_movie, [str(out), *options])
    assert result.exit_code == 0, result.output
    with truth.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 6 * 5
    assert set(rows[0]) == {"frame_number", "label", "x", "y", "visible"}
    markers = [part for part in result.output.splitlines()[-1].split("'") if "=" in part]
    assert len(markers) == 5
    assert run(out, *(item for marker in markers for item in ("--marker", marker))).exit_code == 0
    for size in ("320", "0x0", "321x240", "99999x2"):
        assert CliRunner().invoke(demo_movie, [str(out), "--size", size]).exit_code == 2
