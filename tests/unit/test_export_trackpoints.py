"""The three exports (A01, A17, A19, B25, B29)."""

from __future__ import annotations

import csv
import io
import json
import locale
from decimal import Decimal
from typing import Any

import openpyxl
import pytest

from service.domain.attachment import content_disposition
from service.usecases.export_trackpoints import csv_lines, json_document, json_pieces, xlsx_file
from service.usecases.trackpoint_sheet import sheet_of

MOVIE = {"title": "=Movie", "width": 480, "height": 360, "total_frames": 9, "fps": "20", "fpm": "2",
         "trim_start_frame": 1, "trim_end_frame": 3}  # fmt: skip


def point(frame: int, label: str, x: float, y: float, status: int = 1) -> dict[str, Any]:
    return {"frame_number": frame, "label": label, "x": x, "y": y, "status": status, "err": 0.25, "color": "#ff0000"}


def rows(frames: int = 6) -> list[dict[str, Any]]:
    made = [point(n, "Ruler 10mm", 200, 150) for n in range(frames)]
    made += [point(n, "Apex", 100 + n, 50.5, status=0 if n == 2 else 1) for n in reversed(range(frames))]
    return made + [point(n, "Ruler 0mm", 200, 100) for n in range(frames)]


def read_csv(movie: dict[str, Any], points: list[dict[str, Any]]) -> list[list[str]]:
    return list(csv.reader(io.StringIO("".join(csv_lines(sheet_of(movie, points))), newline="")))


def test_the_csv_has_sorted_labels_units_and_the_frames_of_the_trim() -> None:
    table = read_csv(MOVIE, rows())
    assert table[0] == ["frame_number", "Apex x (mm)", "Apex y (mm)", "Ruler 0mm x (px)", "Ruler 0mm y (px)",
                        "Ruler 10mm x (px)", "Ruler 10mm y (px)"]  # fmt: skip
    assert [line[0] for line in table[1:]] == ["1", "2", "3"]
    assert table[1][1:5] == ["20.2000", "10.1000", "200", "100"]


def test_every_line_ends_with_crlf_and_there_is_no_byte_order_mark() -> None:
    """B25: decided and kept."""
    lines = list(csv_lines(sheet_of(MOVIE, rows())))
    assert all(line.endswith("\r\n") and line.count("\n") == 1 for line in lines)
    assert lines[0].startswith("frame_number")


def test_a_lost_marker_keeps_its_row_but_shows_no_measurement() -> None:
    """A01: flagged, not dropped; a carried position is no measurement."""
    table = read_csv(MOVIE, rows())
    assert table[2] == ["2", "", "", "200", "100", "200", "150"]
    lost = [p for p in json_document(MOVIE, sheet_of(MOVIE, rows()))["trackpoint_dicts"] if p["status"] == 0]
    assert [(p["frame_number"], p["label"], p["x"]) for p in lost] == [(2, "Apex", 102)]


def test_without_calibration_everything_is_pixels() -> None:
    table = read_csv(MOVIE, [point(1, "Apex", 12.3, 45.67)])
    assert table == [["frame_number", "Apex x (px)", "Apex y (px)"], ["1", "12.3", "45.67"]]


def test_rulers_at_their_default_places_leave_pixels() -> None:
    untouched = [point(1, "Ruler 0mm", 50, 380), point(1, "Ruler 10mm", 50, 330), point(1, "Apex", 1, 2)]
    assert read_csv(MOVIE, untouched)[0][1] == "Apex x (px)"


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1"])
def test_a_formula_in_a_label_is_only_text(label: str) -> None:
    movie, made = {**MOVIE, "title": "=HYPERLINK(1)"}, [point(1, label, 1, 2)]
    assert read_csv(movie, made)[0][1] == f"'{label} x (px)"
    book = workbook(movie, made)
    assert book["Trackpoints"]["B1"].value == f"'{label} x (px)"
    assert all(cell.data_type != "f" for sheet in book for line in sheet.iter_rows() for cell in line)


def test_labels_with_commas_quotes_and_accents_survive() -> None:
    """B25."""
    label = 'Spitze "ä", Łukasz'
    assert read_csv(MOVIE, [point(1, label, 1, 2)])[0][1] == f"{label} x (px)"
    assert workbook(MOVIE, [point(1, label, 1, 2)])["Markers"]["A2"].value == label


def workbook(movie: dict[str, Any], made: list[dict[str, Any]]) -> Any:
    out = io.BytesIO()
    xlsx_file(movie, sheet_of(movie, made), out)
    return openpyxl.load_workbook(io.BytesIO(out.getvalue()))


def test_the_workbook_has_five_sheets_numbers_as_numbers_and_two_charts() -> None:
    book = workbook(MOVIE, rows())
    assert book.sheetnames == ["Trackpoints", "Metadata", "Markers", "Chart Data", "Charts"]
    first = [cell.value for cell in book["Trackpoints"][2]]
    assert first[:4] == [1, pytest.approx(20.2), pytest.approx(10.1), "seen"]
    assert [cell.value for cell in book["Trackpoints"][3]][1:4] == [None, None, "lost"]
    assert len(book["Charts"]._charts) == 2
    metadata = {line[0].value: line[1].value for line in book["Metadata"].iter_rows()}
    assert metadata["mm_per_px"] == pytest.approx(0.2)
    assert metadata["title"] == "'=Movie"


def test_a_chart_of_the_workbook_has_one_unit() -> None:
    """Rulers stand in pixels, hundreds of them: on one axis with millimetres the tip would be a flat line."""
    lines = {
        len(made): [
            [series.tx.strRef.f for series in chart.series] for chart in workbook(MOVIE, made)["Charts"]._charts
        ]
        for made in (rows(), [point(1, "Apex", 1, 2), point(1, "Leaf", 3, 4)])
    }
    assert lines[len(rows())] == [["'Chart Data'!$B$1"], ["'Chart Data'!$E$1"]], "Apex x, Apex y"
    assert [len(chart) for chart in lines[2]] == [2, 2], "without a scale all are in pixels"


def test_an_empty_movie_still_gives_files_that_open() -> None:
    assert read_csv(MOVIE, []) == [["frame_number"]]
    assert workbook(MOVIE, [])["Trackpoints"]["A1"].value == "frame_number"
    assert json_document(MOVIE, sheet_of(MOVIE, []))["trackpoint_dicts"] == []


def test_the_json_document_is_plain_json_with_results() -> None:
    stored = [{**p, "x": Decimal(str(p["x"])), "y": Decimal(str(p["y"])), "err": Decimal("0.3")} for p in rows()]
    document = json.loads(json.dumps(json_document(MOVIE, sheet_of(MOVIE, stored))))
    assert document["error"] is False
    assert document["movie"] | {"inspection": 0} == {
        "width": 480, "height": 360, "frame_width": 640, "frame_height": 480, "frames": 9, "fps": 20.0, "fpm": 2.0,
        "trim": {"start": 1, "end": 3}, "inspection": 0,
    }  # fmt: skip
    assert document["results"]["unit"] == "mm"
    assert document["results"]["circumnutation"]["amplitude"] == pytest.approx(0.2)
    assert set(document["trackpoint_dicts"][0]) == {"frame_number", "label", "x", "y", "status", "err", "color"}


def test_the_streamed_json_is_the_document() -> None:
    for made in ([], rows(), [{**point(1, 'Ł "ä"', 1.25, 2), "color": None, "time": Decimal("0.5")}]):
        sheet = sheet_of(MOVIE, made)
        assert json.loads("".join(json_pieces(MOVIE, sheet))) == json_document(MOVIE, sheet)
        alone = {**json_document(MOVIE, sheet), "trackpoint_dicts": []}
        assert json.loads("".join(json_pieces(MOVIE, sheet, points=False))) == alone, "the results without the points"


def test_of_two_points_for_one_cell_the_later_counts_and_a_missing_one_stays_missing() -> None:
    sheet = sheet_of(MOVIE, [point(1, "Apex", 1, 2), point(2, "Leaf", 5, 6), point(1, "Apex", 3, 4)])
    assert (sheet.labels, sheet.frames) == (("Apex", "Leaf"), (1, 2))
    (apex, leaf), (no_apex, _) = sheet.cells(0), sheet.cells(1)
    assert apex is not None
    assert (apex.x, apex.y, leaf, no_apex) == (3, 4, None, None)


def test_numbers_are_written_alike_in_every_locale() -> None:
    """A comma for a decimal point would break every program that reads the file."""
    before = "".join(csv_lines(sheet_of(MOVIE, rows())))
    former = locale.setlocale(locale.LC_ALL)
    named = [name for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8") if _can_speak(name)]
    try:
        for name in named:
            locale.setlocale(locale.LC_ALL, name)
            assert "".join(csv_lines(sheet_of(MOVIE, rows()))) == before
    finally:
        locale.setlocale(locale.LC_ALL, former)
    assert named


def _can_speak(name: str) -> bool:
    former = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, former)
    return True


def test_a_frames_time_is_told_in_json_and_xlsx_and_leaves_the_csv_alone() -> None:
    """B03, B04: uneven timestamps, as the movie has them."""
    times = {0: 0.0, 1: 0.04, 2: 0.08, 3: 2.08, 4: 2.12, 5: 2.16}
    made = [{**p, "time": Decimal(str(times[p["frame_number"]]))} for p in rows()]
    assert read_csv(MOVIE, made) == read_csv(MOVIE, rows())
    document = json_document(MOVIE, sheet_of(MOVIE, made))
    assert {(p["frame_number"], p["time"]) for p in document["trackpoint_dicts"]} == {(1, 0.04), (2, 0.08), (3, 2.08)}
    told = [cell.value for cell in workbook(MOVIE, made)["Trackpoints"][4]]
    header = [cell.value for cell in workbook(MOVIE, made)["Trackpoints"][1]]
    assert (header[-1], told[-1]) == ("time (s)", 2.08)


def test_frames_behind_a_cut_enter_no_exported_result() -> None:
    """A03: the trim that is offered and no trim at all give the same results."""
    carried = [point(n, label, 400, 300, status=0) for n in (4, 5) for label in ("Apex", "Ruler 0mm", "Ruler 10mm")]
    whole = json_document(
        {**MOVIE, "trim_start_frame": 0, "trim_end_frame": 5},
        sheet_of({**MOVIE, "trim_start_frame": 0, "trim_end_frame": 5}, rows(4) + carried),
    )["results"]
    trimmed = json_document(
        {**MOVIE, "trim_start_frame": 0, "trim_end_frame": 3},
        sheet_of({**MOVIE, "trim_start_frame": 0, "trim_end_frame": 3}, rows(4) + carried),
    )["results"]
    assert whole | {"frames": 0} == trimmed | {"frames": 0}
    assert whole["frames"]["lost"] == 3


def test_a_file_name_is_told_twice_and_cannot_break_the_header() -> None:
    """A17: an attachment whatever the title holds."""
    header = content_disposition('a"b\r\nX: y/Łukasz ä;%.csv')
    assert header.startswith('attachment; filename="')
    assert "\r" not in header
    assert "\n" not in header
    assert header.isascii()
    assert header.endswith("filename*=UTF-8''abX%3A%20y%C5%81ukasz%20%C3%A4%3B%25.csv")
    assert content_disposition("///") == "attachment; filename=\"download\"; filename*=UTF-8''download"
