"""A movie as pages poll it: what is told to whom, and what a poll that learns nothing costs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.local.emulator import Emulator
from service.metrics import REGISTRY
from service.store.objects import SIGNED_SECONDS
from service.store.schema import FRAMES, MOVIES
from service.store.table import Put
from tests.support.service import Lab, Person, serving_lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ = "/api/get-movie-metadata"


async def poll(lab: Lab, movie_id: str, person: Person | None = None, tag: str = "", **query: Any) -> httpx.Response:
    headers = {"if-none-match": tag} if tag else {}
    return await lab.get(READ, person or lab.people.ada, headers=headers, movie_id=movie_id, **query)


async def traced_movie(lab: Lab, **row: Any) -> str:
    """Ten frames, one marker that goes up by a pixel a frame, as a trace left it."""
    movie_id = await lab.movie(status="tracing completed", last_frame_tracked=9, results_job_id="j", **row)
    write = lab.runtime.stores.database.write
    labels = {"m1": {"label": "Apex", "color": "#0072B2"}}
    await write(Put(FRAMES, {"movie_id": movie_id, "frame_number": -100, "markers": labels}))
    for n in range(10):
        points = [{"marker_id": "m1", "x": 50.0, "y": 100.5 + n, "status": 1, "err": 0.1, "placed": "trace"}]
        await write(Put(FRAMES, {"movie_id": movie_id, "frame_number": n, "trackpoints": points, "job_id": "j"}))
    return movie_id


async def test_no_token_of_any_kind_is_ever_told(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    row = await lab.row(movie_id)
    for person in (lab.people.ada, lab.people.teacher, lab.people.auditor, lab.people.root):
        for answer in (await poll(lab, movie_id, person), await lab.post("/api/list-movies", person, course_id="bio")):
            assert lease_id not in answer.text
            assert movie_id in answer.text
            for name in row:
                assert (
                    name == "analysis_lock"
                    or not name.startswith(("analysis_", "trace_", "tracing_", "sweep_"))
                    or (f'"{name}"' not in answer.text)
                ), name


async def test_a_poll_says_who_edits_and_whether_it_is_this_page(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    own = (await poll(lab, movie_id, analysis_lease_id=lease_id)).json()["metadata"]
    other = (await poll(lab, movie_id, lab.people.teacher)).json()["metadata"]
    assert (own["analysis_lock"]["owned"], own["can_edit"]) == (True, True)
    assert (own["can_take_over"], other["can_take_over"]) == (False, True)
    assert (other["analysis_lock"]["owned"], other["analysis_lock"]["started_by_user_name"]) == (False, "Ada")


async def test_an_untouched_movie_shows_its_default_markers(lab: Lab) -> None:
    told = (await poll(lab, await lab.movie(), frame_start=0, frame_count=3)).json()
    assert list(told["frames"]) == ["0"]
    assert [(p["label"], p["x"], p["y"]) for p in told["frames"]["0"]["markers"]] == [
        ("Apex", 50.0, 430.0), ("Ruler 0mm", 50.0, 380.0), ("Ruler 10mm", 50.0, 330.0),
    ]  # fmt: skip


async def test_frame_count_frames_are_told_and_not_one_more(lab: Lab) -> None:
    movie_id = await traced_movie(lab)
    told = (await poll(lab, movie_id, frame_start=3, frame_count=4)).json()
    assert list(told["frames"]) == ["3", "4", "5", "6"]
    marker = told["frames"]["3"]["markers"][0]
    assert marker == {
        "frame_number": 3, "marker_id": "m1", "label": "Apex", "x": 50.0, "y": 103.5, "status": 1, "err": 0.1,
        "color": "#0072B2", "undeletable": False, "placed": "trace",
    }  # fmt: skip
    assert "frames" not in (await poll(lab, movie_id)).json()


async def test_a_finished_trace_is_told_whole_on_request(lab: Lab) -> None:
    told = (await poll(lab, await traced_movie(lab), get_all_if_tracking_completed="1")).json()
    assert len(told["frames"]) == 10
    unfinished = (await poll(lab, await lab.movie(), get_all_if_tracking_completed="true")).json()
    assert "frames" not in unfinished


@pytest.mark.parametrize(
    ("query", "name"),
    [({"frame_start": 0}, "frame_count"), ({"frame_count": 1}, "frame_start"),
     ({"frame_start": -1, "frame_count": 1}, "frame_start"), ({"frame_start": 0, "frame_count": 0}, "frame_count"),
     ({"frame_start": 0, "frame_count": 10_001}, "frame_count"),
     ({"frame_start": "x", "frame_count": 1}, "frame_start"),
     ({"frame_start": "1.0", "frame_count": 1}, "frame_start"), ({"frame_start": "", "frame_count": 1}, "frame_start"),
     ({"get_all_if_tracking_completed": "perhaps"}, "get_all_if_tracking_completed")],
)  # fmt: skip
async def test_a_span_that_makes_no_sense_is_refused_by_name(lab: Lab, query: dict[str, Any], name: str) -> None:
    movie_id = await lab.movie()
    answer = await poll(lab, movie_id, **query)
    assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, name)
    same = await lab.post(READ, lab.people.ada, movie_id=movie_id, **query)
    assert same.json() == answer.json()


async def test_a_poll_that_learns_nothing_is_304_and_empty(lab: Lab) -> None:
    movie_id = await traced_movie(lab)
    for query in ({}, {"frame_start": 0, "frame_count": 2}):
        first = await poll(lab, movie_id, **query)
        again = await poll(lab, movie_id, tag=first.headers["etag"], **query)
        weak = await poll(lab, movie_id, tag=f'"x", W/{first.headers["etag"]}', **query)
        assert (again.status_code, again.content, weak.status_code) == (304, b"", 304)
        assert first.headers["cache-control"] == again.headers["cache-control"] == "private, no-cache"
        assert again.headers["etag"] == first.headers["etag"]


async def test_whatever_a_reader_would_see_differently_changes_the_tag(lab: Lab) -> None:
    movie_id = await traced_movie(lab, published=True)
    tags = [(await poll(lab, movie_id, frame_start=0, frame_count=1)).headers["etag"]]

    async def changed(what: str, person: Person | None = None, **query: Any) -> None:
        answer = await poll(lab, movie_id, person, tag=", ".join(tags), **{"frame_start": 0, "frame_count": 1, **query})
        assert answer.status_code == 200, what
        tags.append(answer.headers["etag"])

    await changed("another person's rights", lab.people.ben)
    await changed("another span", frame_count=2)
    lease_id = await lab.lease(movie_id)
    await changed("somebody edits")
    await changed("it is this page", analysis_lease_id=lease_id)
    await lab.post(
        "/api/put-frame-trackpoints", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, frame_number=0,
        trackpoints=json.dumps([{"label": "Apex", "x": 1, "y": 1}]),
    )  # fmt: skip
    await changed("a point was moved")
    await lab.post(
        "/api/rename-marker", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, old_label="Apex",
        new_label="Tip",
    )  # fmt: skip
    await changed("a marker has another name")
    await lab.post("/api/set-metadata", lab.people.ada, set_movie_id=movie_id, property="title", value="New")
    await changed("it has another title")
    lab.clock.ahead += 901
    await changed("the lease ran out and nobody wrote anything")
    lab.clock.ahead += SIGNED_SECONDS // 2
    await changed("its links would soon stop working")


async def test_many_pages_that_poll_at_once_share_their_reads(lab: Lab) -> None:
    movie_id = await lab.movie()
    other = await lab.movie()
    await poll(lab, movie_id)
    calls = REGISTRY.get_sample_value

    def reads() -> float:
        names = ("GetItem", "BatchGetItem")
        return sum(
            calls("tiptrace_store_calls_total", {"service": "dynamodb", "operation": name}) or 0 for name in names
        )

    before = reads()
    answers = await asyncio.gather(*(poll(lab, asked) for asked in [movie_id, other] * 25))
    assert {answer.json()["metadata"]["movie_id"] for answer in answers} == {movie_id, other}
    assert 1 <= reads() - before < 15


async def test_a_stale_trace_is_told_as_lost_without_anybody_having_swept(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await lab.post("/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    tag = (await poll(lab, movie_id)).headers["etag"]
    lab.clock.ahead += 901
    told = (await poll(lab, movie_id, tag=tag)).json()["metadata"]
    assert (told["status"], told["failure_code"], told["resuming"]) == ("tracing failed", "worker_lost", True)
    assert "tracking_lock" not in told


async def test_signed_links_lead_to_what_exists(lab: Lab) -> None:
    movie_id = await lab.movie()
    await lab.runtime.stores.objects.put(f"movies/{movie_id}/movie", b"0123456789", "video/mp4")
    metadata = (await poll(lab, movie_id)).json()["metadata"]
    assert "movie_zipfile_url" not in metadata
    async with httpx.AsyncClient() as store:
        part = await store.get(metadata["movie_data_url"], headers={"range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, b"234")


async def test_a_labelled_movie_is_saved_under_its_movies_title_and_the_source_under_its_own_name(lab: Lab) -> None:
    movie_id = await lab.movie(title='Bean: "blue" ü')
    objects = lab.runtime.stores.objects
    key = f"movies/{movie_id}/job/traced.mp4"
    for stored in (key, f"movies/{movie_id}/movie"):
        await objects.put(stored, b"0123456789", "video/mp4")
    named = await lab.row(movie_id) | {"movie_traced_urn": objects.urn(key)}
    await lab.runtime.stores.database.write(Put(MOVIES, named))
    metadata = (await poll(lab, movie_id)).json()["metadata"]
    async with httpx.AsyncClient() as store:
        labelled, source = [await store.get(metadata[f"movie_{kind}_url"]) for kind in ("traced", "data")]
    assert labelled.headers["content-disposition"].endswith("filename*=UTF-8''Bean%3A%20blue%20%C3%BC%20traced.mp4")
    assert "content-disposition" not in source.headers


async def test_a_row_of_the_older_service_can_be_read(lab: Lab) -> None:
    movie_id = lab.runtime.stores.ids.movie_id()
    old = {
        "movie_id": movie_id, "user_id": lab.people.ada.user_id, "course_id": "bio", "status": "tracing",
        "published": 1, "deleted": 0, "total_frames": 3, "tags": frozenset({"b", "a"}), "blob": b"\x00",
    }  # fmt: skip
    await lab.runtime.stores.database.write(Put(MOVIES, old))
    told = (await poll(lab, movie_id)).json()["metadata"]
    assert (told["status"], told["failure_code"], told["tags"]) == ("tracing failed", "worker_lost", ["a", "b"])


async def test_a_list_shows_own_movies_and_the_courses_published_ones_newest_first(
    emulator: Emulator, tmp_path: Path
) -> None:
    async with serving_lab(emulator.endpoint, tmp_path) as lab:
        people = lab.people
        hidden = await lab.movie(people.ada, created_at=1)
        shown = await lab.movie(people.ada, created_at=3, published=True)
        bens = await lab.movie(people.ben, created_at=2)
        eves = await lab.movie(people.eve, created_at=4, published=True)
        await lab.lease(hidden)

        async def listed(person: Person, **query: Any) -> list[str]:
            answer = await lab.post("/api/list-movies", person, **query)
            assert answer.json()["error"] is False, answer.text
            return [movie["movie_id"] for movie in answer.json()["movies"]]

        assert await listed(people.ada) == [shown, hidden]
        assert await listed(people.ben) == [shown, bens]
        assert await listed(people.teacher) == [shown, bens, hidden]
        assert await listed(people.eve) == [eves]
        assert await listed(people.root, course_id="bio") == [shown, bens, hidden]
        told = (await lab.post("/api/list-movies", people.teacher)).json()
        assert told["course_context"] == {"course_id": "bio", "course_name": "Bio 101", "course_admin": True}
        locks = {movie["movie_id"]: movie.get("analysis_lock") for movie in told["movies"]}
        assert locks[hidden]["started_by_user_name"] == "Ada"
        assert locks[hidden]["acquired_at"]
        assert locks[shown] is None


async def test_another_courses_list_is_refused_and_an_unknown_one_is_not_there(lab: Lab) -> None:
    foreign = await lab.post("/api/list-movies", lab.people.ada, course_id="chem")
    unknown = await lab.post("/api/list-movies", lab.people.root, course_id="none")
    long = await lab.post("/api/list-movies", lab.people.root, course_id="x" * 3000)
    assert (foreign.status_code, foreign.json()["code"]) == (403, "no_right")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "course_not_found")
    assert long.status_code == 400
