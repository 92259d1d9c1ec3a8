"""Trackpoints as files."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable
from typing import Any, BinaryIO, cast

from flask import Blueprint, Response, send_file

from service.domain.attachment import called_after
from service.usecases.export_trackpoints import csv_lines, json_pieces, xlsx_file
from service.usecases.read_movie import readable, trackpoints
from service.usecases.trackpoint_sheet import Gathering, Sheet
from service.web.auth import caller
from service.web.context import stores
from service.web.schemas import Export, parsed

exports = Blueprint("exports", __name__, url_prefix="/api")

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_PIECE = 64 * 1024
_IN_MEMORY = 1 << 20


@exports.route("/get-movie-trackpoints", methods=["GET", "POST"])
async def get_movie_trackpoints() -> Response:
    """All trackpoints inside the trim as a file: CSV, XLSX or JSON.

    The rows are read on the loop; making the file costs processor time and happens in threads, as the client takes it.
    """
    actor, asked = await caller(), parsed(Export)
    movie = await readable(stores(), actor, asked.movie_id, course_id=asked.course_id, consistent=True)
    about = {**movie.row, "trim_start_frame": movie.trim_start, "trim_end_frame": movie.trim_end}
    gathering = Gathering(about)
    async for point in trackpoints(stores(), movie):
        gathering.add(point)
    sheet = gathering.sheet()
    if asked.format == "csv":
        answer = Response(_pieces(csv_lines(sheet)), mimetype="text/csv")
    elif asked.format == "xlsx":
        answer = send_file(await asyncio.to_thread(_workbook, about, sheet), mimetype=_XLSX, etag=False)
    else:
        answer = Response(_pieces(json_pieces(about, sheet, points=asked.points)), mimetype="application/json")
    answer.headers["Content-Disposition"] = called_after(movie.row.get("title"), f"trackpoints.{asked.format}")
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _pieces(lines: Iterable[str]) -> Iterable[bytes]:
    """Lines gathered into pieces worth sending; drawn by the server, in a thread, as the client takes them."""
    gathered: list[str] = []
    size = 0
    for line in lines:
        gathered.append(line)
        size += len(line)
        if size >= _PIECE:
            yield "".join(gathered).encode()
            gathered, size = [], 0
    yield "".join(gathered).encode()


def _workbook(about: dict[str, Any], sheet: Sheet) -> BinaryIO:
    out = cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115  the response closes it
    xlsx_file(about, sheet, out)
    out.seek(0)
    return out
