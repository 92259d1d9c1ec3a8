"""Courses, who administers them, who is in them, and how they stand: the routes of administrators and superusers."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from service.domain.errors import OutcomeUnknown
from service.store.expressions import Update
from service.store.schema import LOGS, MOVIES
from service.store.table import Change
from service.usecases import people
from tests.support.service import Lab, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def new_course(lab: Lab, course_id: str, **more: Any) -> dict[str, Any]:
    answer = await lab.post("/api/admin/courses", lab.people.root, course_id=course_id, **more)
    assert answer.status_code == 201, answer.text
    course: dict[str, Any] = answer.json()["course"]
    return course


async def administer(lab: Lab, verb: str, course: str, user: str, who: Person | None = None) -> httpx.Response:
    path = f"/api/admin/courses/{quote(course, safe='')}/administrators/{quote(user, safe='')}"
    return await lab.http.request(verb, path, headers=(who or lab.people.root).headers)


async def events(lab: Lab, course_id: str) -> list[dict[str, Any]]:
    found = [event async for event in lab.runtime.stores.audit.of("course_id", course_id)]
    return sorted(found, key=lambda event: event["log_id"])


async def test_a_superadmin_makes_a_course_whose_key_lets_students_in(lab: Lab) -> None:
    course = await new_course(lab, " plants 7/8 ".replace("/", "-"), course_name="Plants", max_enrollment=3)
    assert (course["course_id"], course["course_name"], course["max_enrollment"]) == ("plants 7-8", "Plants", 3)
    assert len(course["course_key"]) == 10
    answer = await lab.post("/api/register", course_key=course["course_key"], email="p@plants.example")
    assert answer.json()["course_id"] == "plants 7-8"
    (made,) = await events(lab, "plants 7-8")
    assert (made["event_type"], made["user_id"], made["ipaddr"]) == (
        "course.created", lab.people.root.user_id, "127.0.0.1",
    )  # fmt: skip


async def test_a_course_id_is_given_once_also_at_one_instant_and_each_course_has_one_event(lab: Lab) -> None:
    asked = [lab.post("/api/admin/courses", lab.people.root, course_id="once") for _ in range(6)]
    answers = await asyncio.gather(*asked)
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"course_taken"}
    assert [event["event_type"] for event in await events(lab, "once")] == ["course.created"]


@pytest.mark.parametrize("course_id", ["", " ", "a/b", "a\nb", "a?b", "a\\b", "x" * 101, "a#b"])
async def test_a_course_id_can_stand_in_an_address(lab: Lab, course_id: str) -> None:
    answer = await lab.http.post("/api/admin/courses", json={"course_id": course_id}, headers=lab.people.root.headers)
    assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, "course_id")


async def test_an_administrator_is_made_and_unmade_and_each_change_is_told_once(lab: Lab) -> None:
    """The course's name stands in the address as it is, and the person by id or by mail."""
    await new_course(lab, "Ökologie 2/3".replace("/", " "))
    ben, ada = lab.people.ben, lab.people.ada
    for user, changed in ((ben.user_id, True), ("BEN@school.test", False)):
        told = (await administer(lab, "PUT", "Ökologie 2 3", user)).json()
        assert (told["changed"], told["user"]["admin_of"]) == (changed, ["Ökologie 2 3"])
    assert (await lab.post("/api/list-users", ben, course_id="Ökologie 2 3")).json()["users"][0]["user_name"] == "Ben"
    assert (await lab.post("/api/list-users", ada, course_id="Ökologie 2 3")).status_code == 403
    for changed in (True, False):
        told = (await administer(lab, "DELETE", "Ökologie 2 3", ben.user_id)).json()
        assert (told["changed"], told["user"]["admin_of"], told["user"]["courses"]) == (
            changed, [], ["bio", "Ökologie 2 3"],
        )  # fmt: skip
    assert (await lab.post("/api/list-users", ben, course_id="Ökologie 2 3")).status_code == 403, "at once"
    told_of = {(e["event_type"], e.get("subject_user_id")) for e in await events(lab, "Ökologie 2 3")}
    assert told_of == {
        ("course.created", None), ("course.admin.assigned", ben.user_id), ("course.admin.removed", ben.user_id),
    }  # fmt: skip
    assert len(await events(lab, "Ökologie 2 3")) == 3


async def test_an_administrator_may_edit_the_movies_of_his_course_from_then_on(lab: Lab) -> None:
    movie_id = await lab.movie()
    eve = lab.people.eve
    body = {"set_movie_id": movie_id, "property": "title", "value": "By Eve"}
    assert (await lab.post("/api/set-metadata", eve, **body)).status_code == 403
    await administer(lab, "PUT", "bio", eve.user_id)
    assert (await lab.post("/api/set-metadata", eve, **body)).status_code == 200
    await administer(lab, "DELETE", "bio", eve.user_id)
    answer = await lab.post("/api/set-metadata", eve, **body)
    assert answer.status_code == 403, "the key that was known as an administrator's is looked up again at once"


async def test_two_changes_at_one_instant_are_both_made(lab: Lab) -> None:
    await new_course(lab, "both-1")
    await new_course(lab, "both-2")
    who = lab.people.ben.user_id
    answers = await asyncio.gather(*(administer(lab, "PUT", f"both-{1 + n % 2}", who) for n in range(6)))
    assert {answer.status_code for answer in answers} == {200}
    user = await lab.runtime.stores.people.user(who, consistent=True)
    assert user is not None
    assert {"both-1", "both-2"} <= set(user["admin_of"])
    for course_id in ("both-1", "both-2"):
        assert sorted(event["event_type"] for event in await events(lab, course_id)) == [
            "course.admin.assigned", "course.created",
        ]  # fmt: skip
        assert (await lab.runtime.stores.people.course(course_id, consistent=True))["enrolled"] == 1


async def test_unknown_people_and_courses_are_said(lab: Lab) -> None:
    nobody = "u00000000-0000-4000-8000-000000000000"
    for course, user, status, code in (
        ("bio", nobody, 404, "user_not_found"),
        ("bio", "nobody@school.test", 404, "user_not_found"),
        ("no-course", lab.people.ben.user_id, 404, "course_not_found"),
        ("bio", "neither", 400, "invalid_parameter"),
    ):
        for verb in ("PUT", "DELETE"):
            answer = await administer(lab, verb, course, user)
            assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_an_event_that_cannot_be_written_takes_its_change_with_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One transaction: neither is there without the other."""
    taken = lab.runtime.stores.ids.log_id(0)
    await lab.runtime.stores.database.write(
        lab.runtime.stores.audit.event_write({"log_id": taken, "event_type": "course.created", "time_t": 0})
    )
    monkeypatch.setattr(type(lab.runtime.stores.ids), "log_id", lambda *_: taken)
    assert await people.add_course(lab.runtime.stores, "eventless", "Eventless") is None
    answer = await administer(lab, "PUT", "bio", lab.people.eve.user_id)
    assert (answer.status_code, answer.json()["code"]) == (409, "changed_meanwhile")
    assert await lab.runtime.stores.people.courses(["eventless"]) == []
    assert "bio" not in ((await lab.runtime.stores.people.user(lab.people.eve.user_id)) or {})["admin_of"]


async def test_everybody_sees_himself_and_an_administrator_his_courses(lab: Lab) -> None:
    people_ = lab.people
    key = "course_key"
    ada = (await lab.post("/api/list-users", people_.ada)).json()
    assert [user["user_id"] for user in ada["users"]] == [people_.ada.user_id]
    assert [course["course_id"] for course in ada["courses"]] == ["bio"]
    assert key not in ada["courses"][0], "the key lets others in"
    teacher = (await lab.get("/api/list-users-courses", people_.teacher)).json()
    assert {"Ada", "Ben", "Teacher"} <= {user["user_name"] for user in teacher["users"]}
    assert "Root" not in {user["user_name"] for user in teacher["users"]}
    assert teacher["courses"][0][key]
    ben = next(user for user in teacher["users"] if user["user_name"] == "Ben")
    assert ben["courses"] == ["bio"], "his other courses are none of this administrator's business"
    auditor = (await lab.post("/api/list-users", people_.auditor)).json()
    assert {"Ada", "Eve", "Root"} <= {user["user_name"] for user in auditor["users"]}
    assert not any(key in course for course in auditor["courses"]), "who only looks lets nobody in"
    root = (await lab.post("/api/list-users", people_.root)).json()
    assert all(course[key] for course in root["courses"])
    for told in (ada, teacher, auditor, root):
        text = str(told)
        for person in (people_.ada, people_.ben, people_.eve, people_.root):
            assert person.api_key not in text


async def test_a_list_comes_in_pages_that_hold_everybody_once(lab: Lab) -> None:
    seen, offset = [], 0
    while offset is not None:
        told = (await lab.post("/api/list-users", lab.people.root, count=2, offset=offset)).json()
        assert len(told["users"]) <= 2
        seen += [user["user_id"] for user in told["users"]]
        offset = told["next_offset"]
    assert len(seen) == len(set(seen)) == told["total"] >= 6
    assert (await lab.post("/api/list-users", lab.people.root, count=0)).status_code == 400
    assert (await lab.post("/api/list-users", lab.people.root, count=1001)).status_code == 400


async def test_a_person_works_in_the_course_that_he_chose(lab: Lab) -> None:
    ben = lab.people.ben
    await new_course(lab, "chosen", course_name="Chosen")
    await administer(lab, "PUT", "chosen", ben.user_id)
    for path, course_id in (("/api/default-course", "chosen"), ("/api/current-course", "bio")):
        answer = await lab.http.patch(path, json={"course_id": course_id}, headers=ben.headers)
        assert (answer.status_code, answer.json()["course_id"]) == (200, course_id)
        who = (await lab.post("/api/check-api_key", ben)).json()
        assert (who["user"]["course_id"], who["course_context"]["course_id"]) == (course_id, course_id)
    for course_id, status in (("chem", 403), ("no-course", 403), ("", 400)):
        answer = await lab.http.patch("/api/default-course", data={"course_id": course_id}, headers=ben.headers)
        assert answer.status_code == status
    auditor = await lab.http.patch("/api/default-course", json={"course_id": "bio"}, headers=lab.people.auditor.headers)
    assert (auditor.status_code, auditor.json()["code"]) == (403, "no_right"), "seeing is not belonging"
    root = await lab.http.patch("/api/default-course", json={"course_id": "no-course"}, headers=lab.people.root.headers)
    assert root.status_code == 404


async def test_a_new_name_is_seen_at_once(lab: Lab) -> None:
    eve = lab.people.eve
    await lab.post("/api/set-metadata", eve, set_user_id=eve.user_id, property="user_name", value="Eve Bloom")
    assert (await lab.post("/api/check-api_key", eve)).json()["user"]["user_name"] == "Eve Bloom"


async def test_the_summary_counts_movies_as_readers_see_them(lab: Lab) -> None:
    course = await new_course(lab, "counted")
    await lab.post("/api/register", course_key=course["course_key"], email="c@counted.example")
    await lab.movie(course_id="counted", total_bytes=1000)
    await lab.movie(course_id="counted", total_bytes=500, status="tracing completed", last_activity_at=7)
    await lab.movie(course_id="counted", status="tracing")  # no live job: it reads as failed
    await lab.movie(course_id="counted", deleted=True, total_bytes=9)
    told = (await lab.get("/api/admin/summary", lab.people.auditor, count=1000)).json()
    entry = next(entry for entry in told["courses"] if entry["course_id"] == "counted")
    assert entry["movies_by_status"] == {"ready": 1, "tracing completed": 1, "tracing failed": 1}
    assert (entry["members"], entry["movies"], entry["movies_deleted"], entry["total_bytes"]) == (1, 3, 1, 1509)
    ids = [entry["course_id"] for entry in told["courses"]]
    assert ids == sorted(ids)
    page = (await lab.get("/api/admin/summary", lab.people.root, count=2, offset=1)).json()
    assert [entry["course_id"] for entry in page["courses"]] == ids[1:3]
    assert (page["total"], page["next_offset"]) == (len(ids), 3)


async def test_what_lies_in_the_store_is_compared_with_what_the_row_says(lab: Lab) -> None:
    movie_id = await lab.movie(total_bytes=4)
    stores = lab.runtime.stores
    urn = await lab.archive(movie_id, {0: b"jpeg"})
    await stores.objects.put(f"movies/{movie_id}/movie", b"film", "video/mp4")
    await stores.objects.put(f"movies/{movie_id}/left-over", b"", "video/mp4")
    await stores.database.write(Change(MOVIES, {"movie_id": movie_id}, Update(set={"movie_zipfile_urn": urn})))
    base = f"/api/admin/movies/{movie_id}"
    health = (await lab.get(f"{base}/storage-health", lab.people.teacher)).json()
    assert (health["healthy"], health["problems"]) == (True, [])
    assert health["strays"] == [f"movies/{movie_id}/left-over"]
    files = (await lab.get(f"{base}/media", lab.people.auditor)).json()["media"]
    assert {(entry["kind"], entry["exists"]) for entry in files} == {("movie_data", True), ("movie_zipfile", True)}
    async with httpx.AsyncClient() as outside:
        link = next(entry["url"] for entry in files if entry["kind"] == "movie_data")
        assert (await outside.get(link)).content == b"film"
    await stores.objects.put(f"movies/{movie_id}/movie", b"torn!", "video/mp4")
    await stores.objects.delete(stores.objects.key_of(urn))
    health = (await lab.get(f"{base}/storage-health", lab.people.root)).json()
    assert health["healthy"] is False
    assert health["problems"] == [
        "movie_zipfile is named by the movie but does not exist",
        "movie_data has 5 bytes instead of 4",
    ]
    files = (await lab.get(f"{base}/media", lab.people.root)).json()["media"]
    assert "url" not in next(entry for entry in files if entry["kind"] == "movie_zipfile")
    for bad, status in (("m12", 400), ("m00000000-0000-4000-8000-000000000000", 404)):
        assert (await lab.get(f"/api/admin/movies/{bad}/media", lab.people.root)).status_code == status


async def test_an_outcome_that_nobody_can_learn_is_not_called_a_success(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unknown(*_: Any) -> None:
        raise OutcomeUnknown

    monkeypatch.setattr(lab.runtime.stores.database, "transact", unknown)
    answer = await lab.post("/api/admin/courses", lab.people.root, course_id="unknown-outcome")
    assert (answer.status_code, answer.json()["code"]) == (503, "outcome_unknown")


async def test_no_event_of_these_tests_holds_a_secret(lab: Lab) -> None:
    secrets = [person.api_key for person in (lab.people.root, lab.people.ben, lab.people.teacher)]
    keys = [course["course_key"] async for course in lab.runtime.stores.people.every_course()]
    text = str([event async for event in lab.runtime.stores.database.scan(LOGS)])
    assert not [secret for secret in (*secrets, *keys) if secret in text]
