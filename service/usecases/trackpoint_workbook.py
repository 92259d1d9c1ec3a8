"""The XLSX export: one workbook with the numbers, what they mean, and native line charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import xlsxwriter

from service.usecases.trackpoint_sheet import Sheet, harmless

Columns = list[tuple[str, int]]
"""Labels in sorted order, each with its place in the sheet."""

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
        labels = sorted((label, column) for column, label in enumerate(sheet.labels))
        _trackpoints(book.add_worksheet("Trackpoints"), sheet, labels)
        _pairs(book.add_worksheet("Metadata"), {**movie, **_flat(results)})
        _markers(book.add_worksheet("Markers"), sheet, labels)
        _chart_data(book.add_worksheet("Chart Data"), sheet, labels)
        _charts(book, book.add_worksheet("Charts"), sheet, labels)


def _trackpoints(page: Any, sheet: Sheet, labels: Columns) -> None:
    header = ["frame_number"]
    for label, _ in labels:
        header += [f"{label} {axis} ({sheet.unit(label)})" for axis in "xy"] + [f"{label} status"]
    if sheet.times:
        header.append("time (s)")
    _row(page, 0, header)
    page.freeze_panes(1, 1)
    told = [(1 + 3 * n, column, sheet.factor(label)) for n, (label, column) in enumerate(labels)]
    number, text = page.write_number, page.write_string
    for row, frame in enumerate(sheet.frames, 1):
        number(row, 0, frame)
        cells = sheet.cells(row - 1)
        for at, column, factor in told:
            cell = cells[column]
            if cell is None:
                continue
            if cell.status:
                number(row, at, cell.x * factor)
                number(row, at + 1, cell.y * factor)
            text(row, at + 2, "seen" if cell.status else "lost")
        if frame in sheet.times:
            number(row, 1 + 3 * len(labels), sheet.times[frame])


def _markers(page: Any, sheet: Sheet, labels: Columns) -> None:
    _row(page, 0, ["label", "color", "frames seen", "frames lost", "first x (px)", "first y (px)"])
    tracks = sheet.tracks()
    for row, (label, column) in enumerate(labels, 1):
        track = tracks[column]
        first = sheet.cells(int(np.argmax(sheet.status[:, column] >= 0)))[column]
        seen = int(track.seen.sum())
        color = first.color if first else None
        _row(page, row, [label, color, seen, len(track.frames) - seen, *(float(v) for v in track.points[0])])


def _chart_data(page: Any, sheet: Sheet, labels: Columns) -> None:
    """x of every marker, then y of every marker, so that each chart reads one block of columns."""
    _row(page, 0, ["frame_number", *(f"{label} {axis} ({sheet.unit(label)})" for axis in "xy" for label, _ in labels)])
    told = [(column, sheet.factor(label)) for label, column in labels]
    number = page.write_number
    for row, frame in enumerate(sheet.frames, 1):
        number(row, 0, frame)
        cells = sheet.cells(row - 1)
        places = [(n, cell, factor) for n, (column, factor) in enumerate(told, 1) if (cell := cells[column])]
        for n, cell, factor in places:
            if cell.status:
                number(row, n, cell.x * factor)
        for n, cell, factor in places:
            if cell.status:
                number(row, n + len(labels), cell.y * factor)


def _charts(book: Any, page: Any, sheet: Sheet, labels: Columns) -> None:
    """One axis has one unit: beside markers in millimetres the rulers, which are told in pixels, are left out."""
    last = len(sheet.frames)
    unit = sheet.scale.unit
    charted = [n for n, (label, _) in enumerate(labels) if sheet.unit(label) == unit][:_CHARTED]
    for block, axis in enumerate("xy"):
        chart = book.add_chart({"type": "line"})
        for n in charted if last else ():
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
        chart.set_y_axis({"name": f"{axis} ({unit})"})
        chart.show_blanks_as("gap")
        chart.set_size({"width": 900, "height": 420})
        if last and charted:  # a chart without a series would make the file unreadable
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
