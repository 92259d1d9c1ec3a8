"""What may be changed about a movie without an editing lease."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.service import Lab, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")

DELETE = "/api/delete-movie"
SET = "/api/set-metadata"
RESEARCH = "/api/set-research-metadata"


async def set_property(lab: Lab, person: Person, movie_id: str, name: str, value: Any) -> httpx.Response:
    return await lab.post(SET, person, set_movie_id=movie_id, property=name, value=value)


async def test_a_movie_goes_and_comes_back(lab: Lab) -> None:
    movie_id = await lab.movie(published=True)
    gone = await lab.post(DELETE, lab.people.ada, movie_id=movie_id, delete=1)
    assert (gone.status_code, gone.json()["deleted"]) == (200, True)
    assert (await lab.get("/api/get-movie-metadata", lab.people.ben, movie_id=movie_id)).status_code == 403
    refused = await lab.post("/api/acquire-movie-analysis-lease", lab.people.ada, movie_id=movie_id)
    assert refused.json()["code"] == "movie_deleted"
    back = await lab.post(DELETE, lab.people.ada, movie_id=movie_id, delete=0)
    assert back.json()["deleted"] is False
    assert (await lab.get("/api/get-movie-metadata", lab.people.ben, movie_id=movie_id)).status_code == 200


async def test_a_movie_that_somebody_works_on_stays(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    without = await lab.post(DELETE, lab.people.ada, movie_id=movie_id, delete=1)
    others = await lab.post(DELETE, lab.people.teacher, movie_id=movie_id, delete=1, analysis_lease_id="0" * 32)
    assert (without.status_code, without.json()["code"]) == (409, "being_edited")
    assert (others.status_code, others.json()["code"]) == (409, "being_edited")
    await lab.post("/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    traced = await lab.post(DELETE, lab.people.ada, movie_id=movie_id, delete=1, analysis_lease_id=lease_id)
    assert (traced.status_code, traced.json()["code"]) == (409, "being_traced")
    assert (await lab.row(movie_id))["deleted"] is False
    lab.clock.ahead += 901
    stale = await lab.post(DELETE, lab.people.ada, movie_id=movie_id, delete=1)
    assert stale.status_code == 200, "a stale lease costs nobody anything"


async def test_whoever_edits_a_movie_may_delete_it_with_his_own_lease(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    answer = await lab.post(DELETE, lab.people.ada, movie_id=movie_id, delete=1, analysis_lease_id=lease_id)
    assert answer.status_code == 200
    edit = await lab.post("/api/set-movie-fpm", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, fpm=1)
    assert (edit.status_code, edit.json()["code"]) == (409, "movie_deleted")


@pytest.mark.parametrize("value", ["2", "", "yes please", "-1"])
async def test_deleting_needs_a_clear_word(lab: Lab, value: str) -> None:
    movie_id = await lab.movie()
    answer = await lab.post(DELETE, lab.people.ada, movie_id=movie_id, delete=value)
    assert (answer.status_code, answer.json()["message"][:8]) == (400, "delete: ")
    assert (await lab.row(movie_id))["deleted"] is False


async def test_deleting_without_a_word_deletes_as_the_address_says(lab: Lab) -> None:
    answer = await lab.post(DELETE, lab.people.ada, movie_id=await lab.movie())
    assert answer.json()["deleted"] is True


async def test_words_are_changed_by_whoever_may_edit_and_need_no_lease(lab: Lab) -> None:
    movie_id, _ = await lab.marked_movie()
    for person, name, value in (
        (lab.people.ada, "title", " Bohne = 3 🌱 "),
        (lab.people.teacher, "description", "two\nlines"),
        (lab.people.root, "description", ""),
    ):
        answer = await set_property(lab, person, movie_id, name, value)
        assert answer.json()["metadata"][name] == value.strip(), answer.text
    refused = await set_property(lab, lab.people.eve, movie_id, "title", "Mine")
    assert (refused.status_code, (await lab.row(movie_id))["title"]) == (403, "Bohne = 3 🌱")


async def test_an_owner_may_hide_and_only_an_administrator_may_show(lab: Lab) -> None:
    movie_id = await lab.movie()

    async def publish(person: Person, value: int) -> int:
        return (await set_property(lab, person, movie_id, "published", value)).status_code

    assert await publish(lab.people.ada, 1) == 403
    assert await publish(lab.people.teacher, 1) == 200
    assert (await lab.row(movie_id))["published"] is True
    assert await publish(lab.people.ben, 0) == 403
    assert await publish(lab.people.ada, 0) == 200
    assert (await lab.row(movie_id))["published"] is False


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [("status", "ready", "property"), ("user_id", "me", "property"), ("deleted", "1", "property"),
     ("analysis_lease_id", "x", "property"), ("", "x", "property"), (None, "x", "property"),
     ("user_name", "Me", "property"), ("title", None, "value"), ("title", "x" * 201, "value"),
     ("description", "x" * 4001, "value"), ("title", "a\x00", "value"), ("published", "maybe", "value"),
     ("published", "", "value")],
)  # fmt: skip
async def test_another_property_or_an_unusable_value_is_refused(
    lab: Lab, name: str | None, value: str | None, fault: str
) -> None:
    movie_id = await lab.movie()
    before = await lab.row(movie_id)
    answer = await lab.post(SET, lab.people.ada, set_movie_id=movie_id, property=name, value=value)
    assert (answer.status_code, answer.json()["message"].partition(":")[0]) == (400, fault)
    assert await lab.row(movie_id) == before


async def test_a_person_changes_his_own_name_and_nobody_elses(lab: Lab) -> None:
    ben, eve = lab.people.ben, lab.people.eve
    own = await lab.post(SET, ben, set_user_id=ben.user_id, property="user_name", value="Ben B.")
    other = await lab.post(SET, eve, set_user_id=ben.user_id, property="user_name", value="Nobody")
    both = await lab.post(
        SET, ben, set_user_id=ben.user_id, set_movie_id=await lab.movie(ben), property="title", value="x"
    )
    email = await lab.post(SET, ben, set_user_id=ben.user_id, property="email", value="x@y.org")
    assert own.json() == {"error": False, "user_id": ben.user_id, "user_name": "Ben B."}
    assert (other.status_code, both.status_code, email.status_code) == (403, 400, 400)
    lab.clock.ahead += 6
    assert (await lab.post("/api/check-api_key", ben)).json()["user"]["user_name"] == "Ben B."


async def test_a_deleted_movie_keeps_its_words(lab: Lab) -> None:
    movie_id = await lab.movie(deleted=True)
    answer = await set_property(lab, lab.people.ada, movie_id, "title", "New")
    assert (answer.status_code, answer.json()["code"]) == (409, "movie_deleted")


async def test_only_the_uploader_decides_about_research(lab: Lab) -> None:
    movie_id = await lab.movie()
    answer = await lab.post(
        RESEARCH, lab.people.ada, movie_id=movie_id, research_use=1, credit_by_name="0", attribution_name=" Ada L. "
    )
    row = await lab.row(movie_id)
    assert answer.status_code == 200
    assert (row["research_use"], row["credit_by_name"], row["attribution_name"]) == (1, 0, "Ada L.")
    for person in (lab.people.teacher, lab.people.root, lab.people.eve):
        refused = await lab.post(RESEARCH, person, movie_id=movie_id, research_use=0)
        assert (refused.status_code, refused.json()["code"]) == (403, "no_right")
    partly = await lab.post(RESEARCH, lab.people.ada, movie_id=movie_id, credit_by_name=1)
    nothing = await lab.post(RESEARCH, lab.people.ada, movie_id=movie_id)
    assert (partly.json()["metadata"]["research_use"], nothing.status_code) == (1, 400)
