"""Pictures, links and exported files."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import httpx
import openpyxl
import pytest
import pytest_asyncio

from service.store.schema import FRAMES, MOVIES
from service.store.table import Put
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

FRAME = "/resize-api/v1/frame"
DATA = "/resize-api/v1/movie-data"
EXPORT = "/api/get-movie-trackpoints"


def jpeg(number: int) -> bytes:
    """Bytes that nobody decodes here, each picture with its own, one of them with an end-of-archive mark inside."""
    return b"\xff\xd8" + struct.pack("<I", number) * (50 + number) + b"PK\x05\x06" * (number == 3) + b"\xff\xd9"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def movie_id(lab: Lab) -> str:
    made = await lab.movie()
    urn = await lab.archive(made, {n: jpeg(n) for n in range(10)})
    return await lab.movie(movie_zipfile_urn=urn, title='=Béan "1"; 100 %/..')


async def test_a_frame_is_read_out_of_the_archive(lab: Lab, movie_id: str) -> None:
    for number in (0, 3, 9):
        answer = await lab.get(FRAME, lab.people.ada, movie_id=movie_id, frame_number=number)
        assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, "image/jpeg", jpeg(number))
    first = await lab.get("/resize-api/v1/first-frame", lab.people.ada, movie_id=movie_id)
    assert first.content == jpeg(0)


async def test_a_picture_that_the_browser_holds_is_not_sent_again(lab: Lab, movie_id: str) -> None:
    first = await lab.get(FRAME, lab.people.ada, movie_id=movie_id, frame_number=1)
    tag = {"if-none-match": first.headers["etag"]}
    again = await lab.get(FRAME, lab.people.ada, headers=tag, movie_id=movie_id, frame_number=1)
    other = await lab.get(FRAME, lab.people.ada, headers=tag, movie_id=movie_id, frame_number=2)
    assert (again.status_code, again.content, other.status_code) == (304, b"", 200)
    assert first.headers["cache-control"] == "private, no-cache"


async def test_an_image_tag_asks_with_the_cookie_alone(lab: Lab, movie_id: str) -> None:
    headers = {"cookie": f"api_key={lab.people.ada.api_key}"}
    answer = await lab.get(FRAME, headers=headers, movie_id=movie_id, frame_number=0)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("number", "status"), [(None, 400), ("", 400), ("-1", 400), ("1.0", 400), ("x", 400), ("10", 404), ("99999", 404)]
)
async def test_a_picture_that_is_not_there_is_said_so(lab: Lab, movie_id: str, number: str | None, status: int) -> None:
    query = {} if number is None else {"frame_number": number}
    answer = await lab.get(FRAME, lab.people.ada, movie_id=movie_id, **query)
    assert (answer.status_code, answer.json()["error"]) == (status, True)


async def test_a_movie_without_an_archive_or_with_a_lost_one_has_no_pictures(lab: Lab) -> None:
    for row in ({}, {"movie_zipfile_urn": lab.runtime.stores.objects.urn("movies/lost.zip")},
                {"movie_zipfile_urn": "s3://another-bucket/archive.zip"}):  # fmt: skip
        answer = await lab.get(FRAME, lab.people.ada, movie_id=await lab.movie(**row), frame_number=0)
        assert (answer.status_code, answer.json()["code"]) == (404, "frame_not_found")


async def test_movie_data_gives_links_or_leads_there(lab: Lab, movie_id: str) -> None:
    told = (await lab.get(DATA, lab.people.ada, movie_id=movie_id, format="json")).json()
    assert set(told) == {"error", "movie_id", "movie_data_url", "movie_zipfile_url"}
    for kind, part in (("zip", "archive-"), ("redirect", "/movie?")):
        answer = await lab.get(DATA, lab.people.ada, movie_id=movie_id, format=kind)
        assert (answer.status_code, part in answer.headers["location"]) == (302, True)
        assert answer.headers["cache-control"] == "no-store"
    async with httpx.AsyncClient() as store:
        assert (await store.get(told["movie_zipfile_url"])).content[:2] == b"PK"
    missing = await lab.get(DATA, lab.people.ada, movie_id=await lab.movie(), format="zip")
    unknown = await lab.get(DATA, lab.people.ada, movie_id=movie_id, format="tar")
    assert (missing.status_code, missing.json()["code"]) == (404, "file_not_found")
    assert (unknown.status_code, unknown.json()["message"][:8]) == (400, "format: ")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def traced(lab: Lab) -> str:
    """Six frames, trimmed to 1..4, calibrated: 100 px are 10 mm."""
    made = await lab.movie(
        title='=Béan; "1"\r\nx', status="tracing completed", total_frames=6, trim_start_frame=1, trim_end_frame=4
    )
    write = lab.runtime.stores.database.write
    labels = {"a": "=cmd()", "r0": "Ruler 0mm", "r10": "Ruler 10mm"}
    map_item = {marker: {"label": label, "color": "#000000"} for marker, label in labels.items()}
    await write(Put(FRAMES, {"movie_id": made, "frame_number": -100, "markers": map_item}))
    for n in range(6):
        points = [
            {"marker_id": "a", "x": 100.0 + n, "y": 200.5, "status": int(n != 3), "err": 0.0},
            {"marker_id": "r0", "x": 300.0, "y": 100.0, "status": 1, "err": 0.0},
            {"marker_id": "r10", "x": 400.0, "y": 100.0, "status": 1, "err": 0.0},
        ]
        await write(Put(FRAMES, {"movie_id": made, "frame_number": n, "job_id": "j", "trackpoints": points}))
    return made


async def test_csv_has_the_trim_in_order_with_units_and_nothing_that_calculates(lab: Lab, traced: str) -> None:
    for answer in (
        await lab.get(EXPORT, lab.people.ada, movie_id=traced),
        await lab.post(EXPORT, lab.people.ada, movie_id=traced, format="csv"),
    ):
        lines = answer.content.decode().split("\r\n")
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        assert lines[0].split(",")[:3] == ["frame_number", "'=cmd() x (mm)", "'=cmd() y (mm)"]
        assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3", "4", ""]
        assert lines[1].split(",")[1:3] == ["10.1000", "20.0500"]
        assert lines[3].split(",")[1:3] == ["", ""], "a lost marker was not measured"


async def test_a_file_is_called_what_the_movie_is_called_a17(lab: Lab, traced: str) -> None:
    for kind in ("csv", "xlsx", "json"):
        answer = await lab.get(EXPORT, lab.people.ada, movie_id=traced, format=kind)
        name = answer.headers["content-disposition"]
        assert name.startswith("attachment; ")
        assert "filename*=UTF-8''%3DB%C3%A9an%3B%201" in name
        assert name.isascii()
        assert f"trackpoints.{kind}" in name
        assert answer.headers["cache-control"] == "no-store"


async def test_xlsx_opens_and_holds_text_as_text(lab: Lab, traced: str) -> None:
    answer = await lab.get(EXPORT, lab.people.ada, movie_id=traced, format="xlsx")
    book = openpyxl.load_workbook(io.BytesIO(answer.content))
    assert book.sheetnames == ["Trackpoints", "Metadata", "Markers", "Chart Data", "Charts"]
    assert [row[0].value for row in book["Trackpoints"].iter_rows(min_row=2)] == [1, 2, 3, 4]
    assert all(cell.data_type != "f" for page in book for row in page.iter_rows() for cell in row)


async def test_json_tells_points_in_full_and_results(lab: Lab, traced: str) -> None:
    told: dict[str, Any] = (await lab.get(EXPORT, lab.people.ada, movie_id=traced, format="json")).json()
    assert told["error"] is False
    assert told["movie"]["trim"] == {"start": 1, "end": 4}
    first = told["trackpoint_dicts"][0]
    assert (first["frame_number"], first["label"], first["x"], first["y"], first["status"]) == (
        1, "=cmd()", 101.0, 200.5, 1,
    )  # fmt: skip
    assert told["results"]


async def test_a_movie_that_was_traced_is_read_by_its_frames_numbers_and_tells_the_same(lab: Lab, traced: str) -> None:
    """Frames that are missing in between are missing in the file too."""
    stores, row = lab.runtime.stores, await lab.row(traced)
    other = stores.ids.movie_id()
    await stores.database.write(Put(MOVIES, {**row, "movie_id": other, "last_frame_tracked": 5}))
    for number in (-100, 0, 1, 2, 4, 5):
        item = await stores.frames.get(traced, number)
        assert item
        await stores.database.write(Put(FRAMES, {**item, "movie_id": other}))
    told = [(await lab.get(EXPORT, lab.people.ada, movie_id=one)).text.splitlines() for one in (traced, other)]
    assert len(told[1]) == 4
    assert told[1] == [line for line in told[0] if not line.startswith("3,")]


async def test_an_untouched_movie_exports_an_empty_table(lab: Lab) -> None:
    movie_id = await lab.movie()
    for kind in ("csv", "xlsx", "json"):
        assert (await lab.get(EXPORT, lab.people.ada, movie_id=movie_id, format=kind)).status_code == 200
    assert (await lab.get(EXPORT, lab.people.ada, movie_id=movie_id)).text == "frame_number\r\n"
    assert (await lab.get(EXPORT, lab.people.ada, movie_id=movie_id, format="pdf")).status_code == 400


async def test_a_movie_can_be_exported_while_it_is_being_traced(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await lab.post("/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    answer = await lab.get(EXPORT, lab.people.ada, movie_id=movie_id, format="json")
    assert {point["label"] for point in answer.json()["trackpoint_dicts"]} == {"Apex", "Ruler 0mm"}
    assert json.loads(answer.content) == answer.json()
