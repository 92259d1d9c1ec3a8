"""Trackpoints as files that leave the house: CSV, XLSX and JSON. Pure; the caller gathers the rows and sends the bytes.

Rows are trackpoints as they are stored: pixels of the analysis frame, origin at the lower left. Only frames inside
the trim are told. A lost marker was carried, not measured: its CSV and XLSX cells stay empty, its JSON row says
status 0.

The columns of the CSV are what programs of many years read, so a frame's time is told elsewhere: as `time` in JSON
rows and as the last column of the XLSX sheet Trackpoints, in seconds from the movie's first frame by its own
timestamps, where it has them. That is the movie's clock; between two pictures of a time-lapse passed 1 / fpm minutes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from service.usecases.trackpoint_sheet import (
    Sheet,
    fpm_of,
    frame_size,
    harmless,
    number_or_none,
    trim_of,
)
from service.usecases.trackpoint_workbook import write_workbook
from tracer.measures import results


def csv_lines(sheet: Sheet) -> Iterator[str]:
    """The lines of the CSV file, each with its CRLF.

    UTF-8 without a byte order mark, since programs that read these files take the first header as it stands; people
    with a spreadsheet are better served by XLSX. Pixels as stored, millimetres with four decimals. The same in every
    locale.
    """
    labels = sorted((label, column) for column, label in enumerate(sheet.labels))
    header = ["frame_number"]
    for label, _ in labels:
        header += [f"{label} {axis} ({sheet.unit(label)})" for axis in "xy"]
    yield _line(quoted(harmless(text)) for text in header)
    told = [(column, sheet.unit(label), sheet.factor(label)) for label, column in labels]
    for row, frame in enumerate(sheet.frames):
        places, cells = sheet.cells(row), [str(frame)]
        for column, unit, factor in told:
            place = places[column]
            if place is None or not place.status:
                cells += ["", ""]
            else:
                cells += [_number(place.x * factor, unit), _number(place.y * factor, unit)]
        yield _line(cells)


def json_document(movie: Mapping[str, Any], sheet: Sheet) -> dict[str, Any]:
    """The JSON export: analysis-frame pixels in full precision, and the results in the calibrated unit."""
    return {
        "error": False,
        "movie": _about(movie),
        "trackpoint_dicts": list(_points(sheet)),
        "results": results(sheet.tracks(), sheet.scale, fpm_of(movie)),
    }


def json_pieces(movie: Mapping[str, Any], sheet: Sheet, *, points: bool = True) -> Iterator[str]:
    """The text of `json_document`, a trackpoint at a time, so that it is never whole in memory.

    Without `points` its list of them is empty: of a long movie they are tens of megabytes, the results some hundred
    bytes.
    """
    end = _json(results(sheet.tracks(), sheet.scale, fpm_of(movie)))  # first: what can fail fails before a byte is sent
    yield f'{{"error": false, "movie": {_json(_about(movie))}, "trackpoint_dicts": ['
    for number, point in enumerate(_points(sheet) if points else ()):
        yield f"{', ' if number else ''}{_json(point)}"
    yield f'], "results": {end}}}'


def _about(movie: Mapping[str, Any]) -> dict[str, Any]:
    frame_width, frame_height = frame_size(movie)
    first, last = trim_of(movie)
    return {
        "width": movie.get("width"),
        "height": movie.get("height"),
        "frame_width": frame_width,
        "frame_height": frame_height,
        "frames": movie.get("total_frames"),
        "fps": number_or_none(movie.get("fps")),
        "fpm": fpm_of(movie),
        "trim": {"start": first, "end": last},
        "inspection": movie.get("inspection"),
    }


def _points(sheet: Sheet) -> Iterator[dict[str, Any]]:
    for row, frame in enumerate(sheet.frames):
        time = {"time": sheet.times[frame]} if frame in sheet.times else {}
        for label, cell in zip(sheet.labels, sheet.cells(row), strict=True):
            if cell is not None:
                yield {"frame_number": frame, "label": label, **cell._asdict(), **time}


def _json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, allow_nan=False, default=str)


def xlsx_file(movie: Mapping[str, Any], sheet: Sheet, out: BinaryIO) -> None:
    """Write the workbook: Trackpoints, Metadata, Markers, Chart Data, Charts. Rows stream to disk while it grows."""
    document = {key: movie.get(key) for key in ("title", "movie_id", "width", "height", "total_frames", "fps")}
    document["frame_width"], document["frame_height"] = frame_size(movie)
    document["fpm"] = fpm_of(movie)
    document["trim_start_frame"], document["trim_end_frame"] = trim_of(movie)
    write_workbook(out, sheet, document, results(sheet.tracks(), sheet.scale, fpm_of(movie)))


def quoted(text: str) -> str:
    """One CSV cell, quoted where RFC 4180 asks for it."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


def _line(cells: Iterable[str]) -> str:
    return ",".join(cells) + "\r\n"


def _number(value: float, unit: str) -> str:
    return f"{value:.4f}" if unit == "mm" else f"{value:.10g}"
