"""Trackpoints as files that leave the house: CSV, XLSX and JSON. Pure; the caller reads the rows and sends the bytes.

Rows are trackpoints as they are stored: pixels of the analysis frame, origin at the lower left. Only frames inside
the trim are told. A lost marker was carried, not measured: its CSV and XLSX cells stay empty, its JSON row says
status 0.

The columns of the CSV are what programs of many years read, so a frame's time is told elsewhere: as `time` in JSON
rows and as the last column of the XLSX sheet Trackpoints, in seconds from the movie's first frame by its own
timestamps, where it has them. That is the movie's clock; between two pictures of a time-lapse passed 1 / fpm minutes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO
from urllib.parse import quote

from service.usecases.trackpoint_sheet import (
    Trackpoint,
    fpm_of,
    frame_size,
    harmless,
    number_or_none,
    sheet_of,
    trim_of,
)
from service.usecases.trackpoint_workbook import write_workbook
from tracer.measures import results


def csv_lines(movie: Mapping[str, Any], rows: Iterable[Trackpoint]) -> Iterator[str]:
    """The lines of the CSV file, each with its CRLF.

    UTF-8 without a byte order mark, since programs that read these files take the first header as it stands; people
    with a spreadsheet are better served by XLSX. Pixels as stored, millimetres with four decimals.
    """
    sheet = sheet_of(movie, rows)
    labels = sorted(sheet.labels)
    header = ["frame_number"]
    for label in labels:
        header += [f"{label} {axis} ({sheet.unit(label)})" for axis in "xy"]
    yield _line(quoted(harmless(text)) for text in header)
    for frame in sheet.frames:
        cells = [str(frame)]
        for label in labels:
            place = sheet.place(frame, label)
            cells += ["", ""] if place is None else [_number(value, sheet.unit(label)) for value in place]
        yield _line(cells)


def json_document(movie: Mapping[str, Any], rows: Iterable[Trackpoint]) -> dict[str, Any]:
    """The JSON export: analysis-frame pixels in full precision, and the results in the calibrated unit."""
    sheet = sheet_of(movie, rows)
    frame_width, frame_height = frame_size(movie)
    first, last = trim_of(movie)
    fpm = fpm_of(movie)
    points = [
        {
            "frame_number": frame,
            "label": label,
            "x": float(point["x"]),
            "y": float(point["y"]),
            "status": int(point.get("status", 1)),
            "err": float(point.get("err") or 0.0),
            "color": point.get("color"),
            **({"time": sheet.times[frame]} if frame in sheet.times else {}),
        }
        for frame in sheet.frames
        for label in sheet.labels
        if (point := sheet.cells.get((frame, label))) is not None
    ]
    told = {
        "width": movie.get("width"),
        "height": movie.get("height"),
        "frame_width": frame_width,
        "frame_height": frame_height,
        "frames": movie.get("total_frames"),
        "fps": number_or_none(movie.get("fps")),
        "fpm": fpm,
        "trim": {"start": first, "end": last},
        "inspection": movie.get("inspection"),
    }
    return {
        "error": False,
        "movie": told,
        "trackpoint_dicts": points,
        "results": results(sheet.tracks(), sheet.scale, fpm),
    }


def xlsx_file(movie: Mapping[str, Any], rows: Iterable[Trackpoint], out: BinaryIO) -> None:
    """Write the workbook: Trackpoints, Metadata, Markers, Chart Data, Charts. Rows stream to disk while it grows."""
    sheet = sheet_of(movie, rows)
    document = {key: movie.get(key) for key in ("title", "movie_id", "width", "height", "total_frames", "fps")}
    document["frame_width"], document["frame_height"] = frame_size(movie)
    document["fpm"] = fpm_of(movie)
    document["trim_start_frame"], document["trim_end_frame"] = trim_of(movie)
    write_workbook(out, sheet, document, results(sheet.tracks(), sheet.scale, fpm_of(movie)))


def content_disposition(filename: str) -> str:
    """`attachment` with the name twice, as RFC 6266 asks: plain ASCII for old clients, UTF-8 for the others.

    Control characters, quotes, slashes and backslashes are gone from both; an empty name becomes "download".
    """
    clean = "".join(c for c in filename if c.isprintable() and c not in '"\\/').strip(" .") or "download"
    plain = unicodedata.normalize("NFKD", clean).encode("ascii", "ignore").decode().strip() or "download"
    plain = plain.replace("%", "_").replace(";", "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(clean, safe='')}"


def quoted(text: str) -> str:
    """One CSV cell, quoted where RFC 4180 asks for it."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


def _line(cells: Iterable[str]) -> str:
    return ",".join(cells) + "\r\n"


def _number(value: float, unit: str) -> str:
    return f"{value:.4f}" if unit == "mm" else f"{value:.10g}"
