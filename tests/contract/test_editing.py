"""What a person changes in Analyze: every write is fenced by the editing lease, and every value is checked."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

PUT = "/api/put-frame-trackpoints"
RENAME = "/api/rename-marker"
RESET = "/api/reset-movie-tracing"
TRIM = "/api/set-movie-trim"
FPM = "/api/set-movie-fpm"
EDITS: list[tuple[str, dict[str, Any]]] = [
    (PUT, {"frame_number": 0, "trackpoints": '[{"label": "Apex", "x": 1, "y": 2}]'}),
    (RENAME, {"old_label": "Apex", "new_label": "Tip"}),
    (RESET, {}),
    (TRIM, {"trim_end_frame": 5}),
    (FPM, {"fpm": "0.25"}),
]


async def edit(lab: Lab, path: str, movie_id: str, lease_id: str | None, **fields: Any) -> httpx.Response:
    return await lab.post(path, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, **fields)


async def frame(lab: Lab, movie_id: str, number: int) -> dict[str, Any]:
    answer = await lab.get(
        "/api/get-movie-metadata", lab.people.ada, movie_id=movie_id, frame_start=number, frame_count=1
    )
    found: dict[str, Any] = answer.json()["frames"]
    return found.get(str(number), {"markers": []})


async def test_every_edit_needs_the_live_lease_and_nothing_is_written_without(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    before = await lab.row(movie_id)
    for path, fields in EDITS:
        for shown, code in ((None, "lease_required"), ("", "lease_required"), (" ", "lease_required"),
                            ("0" * 32, "lease_lost"), ("é", "lease_lost"), ("x" * 100_000, "lease_lost")):  # fmt: skip
            answer = await edit(lab, path, movie_id, shown, **fields)
            assert (answer.status_code, answer.json()["code"]) == (409, code), (path, shown)
        teacher = await lab.post(path, lab.people.teacher, movie_id=movie_id, analysis_lease_id="1" * 32, **fields)
        assert (teacher.status_code, teacher.json()["code"]) == (409, "lease_lost")
    assert await lab.row(movie_id) == before
    for path, fields in EDITS:
        answer = await edit(lab, path, movie_id, lease_id, **fields)
        assert answer.status_code == 200, (path, answer.text)
        assert answer.json()["metadata"]["movie_id"] == movie_id
        assert answer.json()["metadata"]["analysis_lock"]["owned"] is True
        assert lease_id not in answer.text


async def test_a_lease_that_has_run_out_edits_nothing(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    lab.clock.ahead += 900
    for path, fields in EDITS:
        answer = await edit(lab, path, movie_id, lease_id, **fields)
        assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost"), path


async def test_a_movie_that_is_being_traced_is_edited_by_nobody(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await lab.post("/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    for path, fields in EDITS:
        answer = await edit(lab, path, movie_id, lease_id, **fields)
        assert (answer.status_code, answer.json()["code"]) == (409, "being_traced"), path


async def test_put_replaces_the_whole_set_of_one_frame(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    apex = (await frame(lab, movie_id, 0))["markers"][0]
    points = [{"marker_id": apex["marker_id"], "x": 101.26, "y": "7.04"}, {"label": "Spitze ü", "x": 0, "y": 479.9}]
    answer = await edit(lab, PUT, movie_id, lease_id, frame_number="3", trackpoints=json.dumps(points))
    assert answer.json()["metadata"]["needs_retracing"] is True
    shown = (await frame(lab, movie_id, 3))["markers"]
    assert [(p["label"], p["x"], p["y"], p["status"], p["placed"]) for p in shown] == [
        ("Apex", 101.3, 7.0, 1, "user"),
        ("Spitze ü", 0.0, 479.9, 1, "user"),
    ]
    await edit(lab, PUT, movie_id, lease_id, frame_number=3, trackpoints="[]")
    assert (await frame(lab, movie_id, 3))["markers"] == []
    assert len((await frame(lab, movie_id, 0))["markers"]) == 2


async def test_json_may_send_the_list_as_a_list(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    body = {"movie_id": movie_id, "analysis_lease_id": lease_id, "frame_number": 1,
            "trackpoints": [{"label": "Apex", "x": 5, "y": 6}]}  # fmt: skip
    assert (await lab.http.post(PUT, json=body, headers=lab.people.ada.headers)).status_code == 200
    assert (await frame(lab, movie_id, 1))["markers"][0]["x"] == 5.0


def point(**changed: Any) -> str:
    return json.dumps([{"label": "Apex", "x": 1, "y": 2, **changed}])


@pytest.mark.parametrize(
    "trackpoints",
    [
        "", "{", "null", "12", '"text"', "{}", "[1]", "[null]", point(x=None), point(x="NaN"), point(x="inf"),
        point(x=1e308), point(x=True), point(x=[1]), point(x="1 2"), '[{"label": "A", "x": NaN, "y": 1}]',
        '[{"label": "A", "x": 1e999, "y": 1}]', point(label=""), point(label=" "), point(label="x" * 101),
        point(label="a\x00b"), point(label="a\nb"), point(label=7), point(label=None),
        '[{"label": "\\ud800", "x": 1, "y": 1}]', '[{"x": 1, "y": 1}]', '[{"label": "A", "x": 1}]',
        json.dumps([{"label": f"m{n}", "x": 1, "y": 1} for n in range(51)]),
        json.dumps([{"label": "Same", "x": 1, "y": 1}, {"label": "Same", "x": 2, "y": 2}]),
        "[" * 50_000, '[{"label": "A", "x": 1' + "0" * 400 + "}]",
    ],
    ids=lambda text: text[:30].encode("unicode_escape").decode() or "empty",
)  # fmt: skip
async def test_points_that_make_no_sense_are_refused_and_nothing_is_written(
    lab: Lab, marked: tuple[str, str], trackpoints: str
) -> None:
    movie_id, lease_id = marked
    before = await lab.row(movie_id)
    answer = await edit(lab, PUT, movie_id, lease_id, frame_number=0, trackpoints=trackpoints)
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == "label_taken" or answer.json()["message"].startswith("trackpoints")
    assert await lab.row(movie_id) == before


@pytest.mark.parametrize(
    ("number", "status"),
    [(None, 400), ("", 400), ("1.5", 400), ("NaN", 400), ("-1", 400), ("abc", 400), ("10", 404), (str(2**31), 400),
     ("1" * 400, 400), ("0x1", 400), ("1e1", 400), ("-100", 400)],
)  # fmt: skip
async def test_a_frame_that_the_movie_does_not_have_is_refused(
    lab: Lab, marked: tuple[str, str], number: str | None, status: int
) -> None:
    movie_id, lease_id = marked
    answer = await edit(lab, PUT, movie_id, lease_id, frame_number=number, trackpoints=point())
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["message"].startswith("frame_number: ")


async def test_a_rename_shows_everywhere_and_frees_the_old_name(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await edit(lab, PUT, movie_id, lease_id, frame_number=4, trackpoints=point())
    answer = await edit(lab, RENAME, movie_id, lease_id, old_label="Apex", new_label="  Sproßspitze ")
    told = answer.json()
    assert (answer.status_code, told["frames_updated"], told["trackpoints_updated"]) == (200, 2, 2)
    for number in (0, 4):
        assert (await frame(lab, movie_id, number))["markers"][0]["label"] == "Sproßspitze"
    assert (await edit(lab, PUT, movie_id, lease_id, frame_number=5, trackpoints=point())).status_code == 200
    taken = await edit(lab, RENAME, movie_id, lease_id, old_label="Ruler 0mm", new_label="Apex")
    assert (taken.status_code, taken.json()["code"]) == (400, "label_taken")


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [("Apex", "", "new_label"), ("Apex", "   ", "new_label"), ("Apex", "x" * 101, "new_label"),
     (None, "B", "old_label"), ("Apex", None, "new_label"),
     ("Nobody", "B", "old_label"), ("Apex", "a\x07", "new_label")],
)  # fmt: skip
async def test_a_rename_that_makes_no_sense_is_refused(
    lab: Lab, marked: tuple[str, str], old: str | None, new: str | None, name: str
) -> None:
    movie_id, lease_id = marked
    answer = await edit(lab, RENAME, movie_id, lease_id, old_label=old, new_label=new)
    assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, name)


async def test_the_trim_is_inclusive_and_a_new_start_takes_the_markers_along(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    moved = await edit(lab, TRIM, movie_id, lease_id, trim_start_frame=2)
    ended = await edit(lab, TRIM, movie_id, lease_id, trim_end_frame="9")
    assert moved.json()["metadata"]["trim_start_frame"] == 2
    assert (ended.json()["metadata"]["trim_start_frame"], ended.json()["metadata"]["trim_end_frame"]) == (2, 9)
    assert [p["label"] for p in (await frame(lab, movie_id, 2))["markers"]] == ["Apex", "Ruler 0mm"]


@pytest.mark.parametrize(
    ("fields", "name"),
    [({}, "trim_start_frame"), ({"trim_start_frame": 1, "trim_end_frame": 2}, "trim_start_frame"),
     ({"trim_end_frame": 10}, "trim_end_frame"), ({"trim_start_frame": 10}, "trim_start_frame"),
     ({"trim_start_frame": -1}, "trim_start_frame"), ({"trim_end_frame": "5.0"}, "trim_end_frame"),
     ({"trim_end_frame": ""}, "trim_end_frame")],
)  # fmt: skip
async def test_a_trim_that_makes_no_sense_is_refused(
    lab: Lab, marked: tuple[str, str], fields: dict[str, Any], name: str
) -> None:
    movie_id, lease_id = marked
    answer = await edit(lab, TRIM, movie_id, lease_id, **fields)
    assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, name)


@pytest.mark.parametrize(("fpm", "kept"), [("0.05", "0.05"), ("6000", "6000"), ("1e-3", "0.001"), (" 2 ", "2")])
async def test_a_capture_interval_may_be_a_fraction_and_needs_no_retracing(
    lab: Lab, marked: tuple[str, str], fpm: str, kept: str
) -> None:
    movie_id, lease_id = marked
    answer = await edit(lab, FPM, movie_id, lease_id, fpm=fpm)
    assert answer.json()["metadata"]["fpm"] == kept


@pytest.mark.parametrize("fpm", [None, "", "0", "-1", "6000.1", "NaN", "inf", "1e9", "1_0", "0x1", "1,5", "٣"])
async def test_a_capture_interval_that_makes_no_sense_is_refused(
    lab: Lab, marked: tuple[str, str], fpm: str | None
) -> None:
    movie_id, lease_id = marked
    answer = await edit(lab, FPM, movie_id, lease_id, fpm=fpm)
    assert (answer.status_code, answer.json()["message"][:5]) == (400, "fpm: ")


async def test_a_reset_leaves_the_first_frame_alone(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await edit(lab, PUT, movie_id, lease_id, frame_number=4, trackpoints=point())
    answer = await edit(lab, RESET, movie_id, lease_id)
    assert answer.json()["metadata"]["needs_retracing"] is True
    assert len((await frame(lab, movie_id, 0))["markers"]) == 2
    assert (await frame(lab, movie_id, 4))["markers"] == []
