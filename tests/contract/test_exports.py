"""Exports over HTTP: as long as there are data, whole, in every script, and however long names and lists grow."""

from __future__ import annotations

import csv
import io
import json

import openpyxl
import pytest

from service.store.schema import FRAMES, MOVIES
from service.store.table import Put
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXPORT = "/api/get-movie-trackpoints"


async def test_names_with_accents_reach_every_format_and_the_csv_has_no_mark_in_front_b25(lab: Lab) -> None:
    """UTF-8 without a byte order mark: programs take the first header as it stands. XLSX is for spreadsheets."""
    movie_id = await lab.movie(title="Łukasz’ Bohne – grün")
    labels = {"a": "Spitze ä", "b": "葉 1"}
    map_item = {marker: {"label": label, "color": "#000000"} for marker, label in labels.items()}
    write = lab.runtime.stores.database.write
    await write(Put(FRAMES, {"movie_id": movie_id, "frame_number": -100, "markers": map_item}))
    points = [{"marker_id": marker, "x": 1.5, "y": 2.5, "status": 1, "err": 0.0} for marker in labels]
    await write(Put(FRAMES, {"movie_id": movie_id, "frame_number": 0, "job_id": "j", "trackpoints": points}))
    told = {
        kind: await lab.get(EXPORT, lab.people.ada, movie_id=movie_id, format=kind) for kind in ("csv", "xlsx", "json")
    }
    assert told["csv"].content.startswith(b"frame_number,Spitze \xc3\xa4 x (px)")
    book = openpyxl.load_workbook(io.BytesIO(told["xlsx"].content))
    assert [row[0].value for row in book["Markers"].iter_rows(min_row=2)] == ["Spitze ä", "葉 1"]
    assert {point["label"] for point in told["json"].json()["trackpoint_dicts"]} == set(labels.values())
    for kind, answer in told.items():
        name = answer.headers["content-disposition"]
        assert name.endswith(
            f"filename*=UTF-8''%C5%81ukasz%E2%80%99%20Bohne%20%E2%80%93%20gr%C3%BCn%20trackpoints.{kind}"
        )
        assert f'filename="ukasz Bohne  grun trackpoints.{kind}"' in name


async def test_results_can_be_fetched_until_there_are_others_also_after_a_failed_trace_a16(lab: Lab) -> None:
    movie_id, _ = await lab.marked_movie(status="tracing completed")
    first = await lab.get(EXPORT, lab.people.ada, movie_id=movie_id)
    assert len(first.text.splitlines()) == 2
    row = await lab.row(movie_id)
    failed = {**row, "status": "tracing failed", "failure_code": "worker_lost"}
    await lab.runtime.stores.database.write(Put(MOVIES, failed))
    again = await lab.get(EXPORT, lab.people.ada, movie_id=movie_id)
    assert (again.status_code, again.text) == (200, first.text)


async def test_as_many_markers_as_a_movie_may_have_with_the_longest_names_fit_c29(lab: Lab) -> None:
    """Frames lie outside the movie's row, and names outside the frames: neither grows with the other."""
    movie_id = await lab.movie()
    lease_id = await lab.lease(movie_id)
    names = [f"{n:02d}" + "葉" * 98 for n in range(50)]
    points = json.dumps([{"label": name, "x": n, "y": 400 - n} for n, name in enumerate(names)])
    before = len(repr(await lab.row(movie_id)))
    for frame in (0, 9):
        answer = await lab.post(
            "/api/put-frame-trackpoints", lab.people.ada,
            movie_id=movie_id, analysis_lease_id=lease_id, frame_number=frame, trackpoints=points,
        )  # fmt: skip
        assert answer.status_code == 200, answer.text
    assert len(repr(await lab.row(movie_id))) < before + 300
    stored = await lab.runtime.stores.frames.get(movie_id, 9)
    assert len(json.dumps(stored)) < 20_000
    table = list(csv.reader(io.StringIO((await lab.get(EXPORT, lab.people.ada, movie_id=movie_id)).text)))
    assert [len(line) for line in table] == [101, 101, 101]
    assert [line[0] for line in table] == ["frame_number", "0", "9"]
