"""The audit trail over HTTP: who may read which event, in which order, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from service.domain.audit import event
from tests.support.service import Lab, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")

BEGAN = 1_700_000_000


@dataclass
class Trail:
    """Ada's, Eve's and the teacher's doings, one each second from BEGAN on; `ids` in the order of time."""

    lab: Lab
    bean: str
    pea: str
    ids: list[str]

    async def read(self, person: Person, **wanted: Any) -> list[dict[str, Any]]:
        wanted = {"start_time": BEGAN, "end_time": BEGAN + 1000, **wanted}
        answer = await self.lab.post("/api/get-logs", person, **wanted)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["logs"]
        return found

    async def numbers(self, person: Person, **wanted: Any) -> list[int]:
        return [self.ids.index(entry["log_id"]) for entry in await self.read(person, **wanted)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def trail(lab: Lab) -> Trail:
    people, stores = lab.people, lab.runtime.stores
    bean, pea = await lab.movie(title="Bean"), await lab.movie(people.eve, title="Pea {who}")
    ada, eve, teacher, root = (p.user_id for p in (people.ada, people.eve, people.teacher, people.root))
    done: list[tuple[str, str, str | None, str, dict[str, Any]]] = [
        ("movie.upload.completed", ada, bean, "bio", {}),
        ("movie.tracing.started", ada, bean, "bio", {"frames": 10}),
        ("movie.tracing.completed", ada, bean, "bio", {"frames": 10, "elapsed_seconds": 3}),
        ("movie.upload.completed", eve, pea, "chem", {"ipaddr": "192.0.2.7"}),
        ("movie.tracing.failed", eve, pea, "chem", {"error_type": "cut_off", "error_summary": "It looks cut off.",
                                                    "elapsed_seconds": 600}),
        ("movie.tracing.started", teacher, bean, "bio", {"frames": 1}),
        ("course.admin.assigned", root, None, "chem", {"subject_user_id": ada}),
        ("movie.lease.taken-over", teacher, bean, "bio", {}),
    ]  # fmt: skip
    ids = []
    for number, (kind, user, movie, course, fields) in enumerate(done):
        now = BEGAN + number
        ids.append(stores.ids.log_id(now))
        item = event(ids[-1], kind, now, user_id=user, movie_id=movie, course_id=course, **fields)
        await stores.database.write(stores.audit.event_write(item))
    return Trail(lab, bean, pea, ids)


async def test_each_person_reads_what_he_may_newest_first(trail: Trail) -> None:
    people = trail.lab.people
    assert await trail.numbers(people.ada) == [7, 5, 2, 1, 0], "what others did with her movie too"
    assert await trail.numbers(people.ben) == [], "the movie is hidden from him"
    assert await trail.numbers(people.eve) == [6, 4, 3], "what happened to her course too"
    assert await trail.numbers(people.teacher) == [7, 5, 2, 1, 0]
    for superuser in (people.auditor, people.root):
        assert await trail.numbers(superuser) == [7, 6, 5, 4, 3, 2, 1, 0]


async def test_filters_never_widen_what_a_person_may_read(trail: Trail) -> None:
    people = trail.lab.people
    ada, eve, teacher, root = people.ada, people.eve, people.teacher, people.root
    assert await trail.numbers(ada, movie_id=trail.bean) == [7, 5, 2, 1, 0]
    assert await trail.numbers(ada, log_user_id=teacher.user_id) == [7, 5]
    assert await trail.numbers(people.ben, movie_id=trail.bean) == []
    assert await trail.numbers(ada, movie_id=trail.pea) == []
    assert await trail.numbers(ada, log_user_id=eve.user_id) == []
    assert await trail.numbers(ada, course_id="chem") == [6], "it concerns her"
    assert await trail.numbers(teacher, log_user_id=ada.user_id) == [2, 1, 0]
    assert await trail.numbers(teacher, course_id="chem") == []
    assert await trail.numbers(root, course_id="chem") == [6, 4, 3]
    assert await trail.numbers(root, course_id="chem", movie_id=trail.pea, log_user_id=eve.user_id) == [4, 3]
    assert await trail.numbers(root, course_id="bio", movie_id=trail.pea) == []


async def test_a_movie_that_is_shown_to_the_course_takes_its_history_along(lab: Lab) -> None:
    """Read in pages, the members' pages hold what is theirs to read and nothing twice."""
    stores, people = lab.runtime.stores, lab.people
    shown, hidden = await lab.movie(published=True), await lab.movie()
    ids = []
    for number in range(12):
        now = BEGAN + 5000 + number
        ids.append(stores.ids.log_id(now))
        movie_id = shown if number % 3 == 0 else hidden
        item = event(ids[-1], "movie.tracing.started", now, user_id=people.ada.user_id, movie_id=movie_id,
                     course_id="bio", ipaddr="192.0.2.7", request_key="a-wish")  # fmt: skip
        await stores.database.write(stores.audit.event_write(item))
    span = {"start_time": BEGAN + 5000, "end_time": BEGAN + 5100, "course_id": "bio"}
    found: list[dict[str, Any]] = []
    offset: int | None = 0
    while offset is not None:
        told = (await lab.get("/api/get-logs", people.ben, **span, count=2, offset=offset)).json()
        assert len(told["logs"]) <= 2
        found, offset = found + told["logs"], told["next_offset"]
    assert [ids.index(entry["log_id"]) for entry in found] == [9, 6, 3, 0]
    assert all(not {"ipaddr", "request_key"} & entry.keys() for entry in found)
    own = (await lab.get("/api/get-logs", people.ada, **span)).json()["logs"]
    assert [entry["ipaddr"] for entry in own] == ["192.0.2.7"] * 12, "her own doings she knows all of"


async def test_a_movie_that_is_hidden_again_takes_its_history_and_its_present_title_away(lab: Lab) -> None:
    """Who did something with it still reads that he did, and not what the movie is called by now."""
    stores, people = lab.runtime.stores, lab.people
    movie_id = await lab.movie(published=True, title="A title for later")
    for number, person in enumerate((people.ada, people.ben)):
        now = BEGAN + 9000 + number
        item = event(stores.ids.log_id(now), "movie.lease.taken-over", now, user_id=person.user_id, movie_id=movie_id,
                     course_id="bio", ipaddr="192.0.2.7", request_key="a-wish")  # fmt: skip
        await stores.database.write(stores.audit.event_write(item))

    async def read(person: Person) -> list[str]:
        answer = await lab.get("/api/get-logs", person, start_time=BEGAN + 9000, end_time=BEGAN + 9100)
        return [entry["sentence"].partition(" took ")[2] for entry in answer.json()["logs"]]

    named, unnamed = "over editing “A title for later”.", "over editing a movie."
    assert await read(people.ben) == [named, named]
    hidden = await lab.post("/api/set-metadata", people.ada, set_movie_id=movie_id, property="published", value="0")
    assert hidden.status_code == 200, hidden.text
    assert await read(people.ben) == [unnamed]
    assert await read(people.ada) == [named, named]


async def test_a_span_of_time_holds_both_its_ends(trail: Trail) -> None:
    root = trail.lab.people.root
    assert await trail.numbers(root, start_time=BEGAN + 2, end_time=BEGAN + 5) == [5, 4, 3, 2]
    assert await trail.numbers(trail.lab.people.ada, end_time=BEGAN) == [0]


async def test_pages_hold_every_event_once_and_say_where_to_go_on(trail: Trail) -> None:
    found: list[int] = []
    offset: int | None = 0
    while offset is not None:
        query = {"start_time": BEGAN, "end_time": BEGAN + 1000, "count": 3, "offset": offset}
        told = (await trail.lab.get("/api/get-logs", trail.lab.people.root, **query)).json()
        assert told["count"] == len(told["logs"]) <= 3
        found += [trail.ids.index(entry["log_id"]) for entry in told["logs"]]
        offset = told["next_offset"]
    assert found == [7, 6, 5, 4, 3, 2, 1, 0]


async def test_each_entry_says_in_words_what_happened(trail: Trail) -> None:
    told = {trail.ids.index(e["log_id"]): e["sentence"] for e in await trail.read(trail.lab.people.root)}
    assert told == {
        0: "Ada uploaded “Bean”.",
        1: "Ada started to trace “Bean”.",
        2: "The trace of “Bean” ended well after 3 seconds: 10 frames followed.",
        3: "Eve uploaded “Pea {who}”.",
        4: "The trace of “Pea {who}” ended without a result after 10 minutes: It looks cut off.",
        5: "Teacher started to trace “Bean”.",
        6: "Root made Ada an administrator of “Chemistry”.",
        7: "Teacher took over editing “Bean”.",
    }


async def test_the_fields_are_those_of_the_contract(trail: Trail) -> None:
    (uploaded,) = [e for e in await trail.read(trail.lab.people.eve) if e["event_type"] == "movie.upload.completed"]
    assert uploaded == {
        "log_id": trail.ids[3],
        "event_type": "movie.upload.completed",
        "time_t": BEGAN + 3,
        "user_id": trail.lab.people.eve.user_id,
        "movie_id": trail.pea,
        "course_id": "chem",
        "ipaddr": "192.0.2.7",
        "sentence": "Eve uploaded “Pea {who}”.",
    }


async def test_what_a_person_does_over_http_stands_in_his_trail(trail: Trail) -> None:
    lab = trail.lab
    movie_id, lease_id = await lab.marked_movie(title="Real")
    traced = await lab.post("/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    assert traced.status_code == 202
    answer = await lab.post("/api/get-logs", lab.people.ada, movie_id=movie_id)
    (entry,) = answer.json()["logs"]
    assert (entry["event_type"], entry["trace_job_id"]) == ("movie.tracing.started", traced.json()["job_id"])
    assert lease_id not in answer.text


@pytest.mark.parametrize(
    "wanted",
    [{"end_time": 1, "start_time": 2}, {"count": 0}, {"count": 1001}, {"offset": -1}, {"start_time": "yesterday"},
     {"end_time": -1}, {"movie_id": "m1"},
     {"log_user_id": "u1"}, {"count": "NaN"}, {"offset": 10**12}],
    ids=str,
)  # fmt: skip
async def test_a_malformed_filter_is_named(lab: Lab, wanted: dict[str, Any]) -> None:
    answer = await lab.http.post("/api/get-logs", json=wanted, headers=lab.people.root.headers)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(next(iter(wanted)) + ":")
