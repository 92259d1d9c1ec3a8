"""The XLSX export: one workbook with the numbers, what they mean, and native line charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import xlsxwriter

from service.usecases.trackpoint_sheet import Sheet, harmless, seen

_CHARTED = 24  # markers in one chart; more lines than that tell nobody anything


def write_workbook(out: BinaryIO, sheet: Sheet, movie: Mapping[str, object], results: Mapping[str, object]) -> None:
    """Write all five sheets to `out`. Rows go to a temporary file as they come, so memory stays flat.

    Text is written as text: nothing in it becomes a formula or a link.
    """
    plain = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(out, plain) as book:
        labels = sorted(sheet.labels)
        _trackpoints(book.add_worksheet("Trackpoints"), sheet, labels)
        _pairs(book.add_worksheet("Metadata"), {**movie, **_flat(results)})
        _markers(book.add_worksheet("Markers"), sheet, labels)
        _chart_data(book.add_worksheet("Chart Data"), sheet, labels)
        _charts(book, book.add_worksheet("Charts"), sheet, labels)


def _trackpoints(page: Any, sheet: Sheet, labels: list[str]) -> None:
    header = ["frame_number"]
    for label in labels:
        header += [f"{label} {axis} ({sheet.unit(label)})" for axis in "xy"] + [f"{label} status"]
    if sheet.times:
        header.append("time (s)")
    _row(page, 0, header)
    page.freeze_panes(1, 1)
    for row, frame in enumerate(sheet.frames, 1):
        page.write_number(row, 0, frame)
        for n, label in enumerate(labels):
            place, point = sheet.place(frame, label), sheet.cells.get((frame, label))
            if place is not None:
                page.write_number(row, 1 + 3 * n, place[0])
                page.write_number(row, 2 + 3 * n, place[1])
            if point is not None:
                page.write_string(row, 3 + 3 * n, "seen" if seen(point) else "lost")
        if frame in sheet.times:
            page.write_number(row, 1 + 3 * len(labels), sheet.times[frame])


def _markers(page: Any, sheet: Sheet, labels: list[str]) -> None:
    _row(page, 0, ["label", "color", "frames seen", "frames lost", "first x (px)", "first y (px)"])
    tracks = {track.label: track for track in sheet.tracks()}
    for row, label in enumerate(labels, 1):
        track = tracks[label]
        color = sheet.cells[int(track.frames[0]), label].get("color")
        lost = len(track.frames) - int(track.seen.sum())
        _row(page, row, [label, color, int(track.seen.sum()), lost, *(float(v) for v in track.points[0])])


def _chart_data(page: Any, sheet: Sheet, labels: list[str]) -> None:
    """x of every marker, then y of every marker, so that each chart reads one block of columns."""
    _row(page, 0, ["frame_number", *(f"{label} {axis} ({sheet.unit(label)})" for axis in "xy" for label in labels)])
    for row, frame in enumerate(sheet.frames, 1):
        page.write_number(row, 0, frame)
        for n, label in enumerate(labels):
            place = sheet.place(frame, label)
            if place is not None:
                page.write_number(row, 1 + n, place[0])
                page.write_number(row, 1 + len(labels) + n, place[1])


def _charts(book: Any, page: Any, sheet: Sheet, labels: list[str]) -> None:
    last = len(sheet.frames)
    for block, axis in enumerate("xy"):
        chart = book.add_chart({"type": "line"})
        for n in range(min(len(labels), _CHARTED) if last else 0):
            column = 1 + block * len(labels) + n
            chart.add_series(
                {
                    "name": ["Chart Data", 0, column],
                    "categories": ["Chart Data", 1, 0, last, 0],
                    "values": ["Chart Data", 1, column, last, column],
                }
            )
        chart.set_title({"name": f"{axis} by frame"})
        chart.set_x_axis({"name": "frame"})
        chart.set_y_axis({"name": f"{axis} (px or mm, see the column's name)"})
        chart.show_blanks_as("gap")
        chart.set_size({"width": 900, "height": 420})
        if last and labels:  # a chart without a series would make the file unreadable
            page.insert_chart(block * 22, 0, chart)


def _pairs(page: Any, told: Mapping[str, object]) -> None:
    page.set_column(0, 1, 34)
    for row, (name, value) in enumerate(told.items()):
        _row(page, row, [name, value])


def _flat(told: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in told.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name} "))
        elif isinstance(value, list):
            flat[prefix + name] = "; ".join(map(str, value))
        else:
            flat[prefix + name] = value
    return flat


def _row(page: Any, row: int, values: list[Any]) -> None:
    for column, value in enumerate(values):
        if value is None:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            page.write_number(row, column, value)
        else:
            page.write_string(row, column, harmless(str(value)))
