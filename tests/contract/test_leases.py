"""Acquire, heartbeat and release over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import httpx
import pytest

from service import metrics
from tests.contract.test_editing import PUT
from tests.support.service import ORIGIN, Lab, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")

ACQUIRE = "/api/acquire-movie-analysis-lease"
HEARTBEAT = "/api/heartbeat-movie-analysis-lease"
RELEASE = "/api/release-movie-analysis-lease"


async def test_an_acquired_lease_tells_its_id_to_its_holder_and_until_when(lab: Lab) -> None:
    movie_id = await lab.movie()
    answer = await lab.post(ACQUIRE, lab.people.ada, movie_id=movie_id)
    told = answer.json()
    row = await lab.row(movie_id)
    assert (answer.status_code, told["error"], told["lease_id"]) == (200, False, row["analysis_lease_id"])
    assert told["analysis_lock"] == {
        "active": True,
        "owned": True,
        "own_user": True,
        "acquired_at": row["analysis_started_at"],
        "expires_at": row["analysis_expires_at"],
        "started_by_user_name": "Ada",
    }


async def test_a_denied_acquire_is_200_without_a_lease_and_says_who_holds_it_since_and_until_when_b22(lab: Lab) -> None:
    movie_id = await lab.movie()
    lease_id = await lab.lease(movie_id)
    answer = await lab.post(ACQUIRE, lab.people.teacher, movie_id=movie_id)
    told = answer.json()
    assert (answer.status_code, told["error"], told["lease_id"]) == (200, False, None)
    assert told["analysis_lock"]["started_by_user_name"] == "Ada"
    assert told["analysis_lock"]["active"] is True
    assert told["analysis_lock"]["owned"] is False
    row = await lab.row(movie_id)
    assert told["analysis_lock"]["acquired_at"] == row["analysis_started_at"]
    assert told["analysis_lock"]["expires_at"] == row["analysis_expires_at"]
    assert told["message"] == "Ada is editing this movie."
    assert lease_id not in answer.text


async def test_twenty_pages_that_ask_at_once_get_one_lease_between_them(lab: Lab) -> None:
    movie_id = await lab.movie()
    answers = await asyncio.gather(*(lab.post(ACQUIRE, lab.people.ada, movie_id=movie_id) for _ in range(20)))
    granted = [answer.json()["lease_id"] for answer in answers if answer.json()["lease_id"]]
    assert [answer.status_code for answer in answers] == [200] * 20
    assert len(granted) == 1
    assert (await lab.row(movie_id))["analysis_lease_id"] == granted[0]


async def test_the_same_request_key_gets_the_same_lease_again(lab: Lab) -> None:
    movie_id = await lab.movie()
    first = await lab.post(ACQUIRE, lab.people.ada, movie_id=movie_id, lease_request_key="page-load-1")
    again = await lab.post(ACQUIRE, lab.people.ada, movie_id=movie_id, lease_request_key="page-load-1")
    other = await lab.post(ACQUIRE, lab.people.ada, movie_id=movie_id, lease_request_key="page-load-2")
    assert first.json()["lease_id"] == again.json()["lease_id"] is not None
    assert other.json()["lease_id"] is None


async def test_a_reloaded_page_gets_a_new_token_and_the_old_pages_late_release_does_nothing(lab: Lab) -> None:
    movie_id = await lab.movie()
    old = await lab.lease(movie_id)
    new = (await lab.post(ACQUIRE, lab.people.ada, movie_id=movie_id, analysis_lease_id=old)).json()["lease_id"]
    late = await lab.post(RELEASE, lab.people.ada, movie_id=movie_id, analysis_lease_id=old)
    assert new not in (None, old)
    assert late.json() == {"error": False, "released": False}
    assert (await lab.row(movie_id))["analysis_lease_id"] == new


async def test_only_an_administrator_takes_over_from_another_person_and_the_audit_trail_knows(lab: Lab) -> None:
    movie_id = await lab.movie()
    lease_id = await lab.lease(movie_id)
    refused = await lab.post(ACQUIRE, lab.people.ben, movie_id=movie_id, take_over=1)
    taken = await lab.post(ACQUIRE, lab.people.teacher, movie_id=movie_id, take_over=1)
    beat = await lab.post(HEARTBEAT, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    assert refused.status_code == 403, "the movie is not published, so Ben may not even see it"
    assert taken.json()["lease_id"] not in (None, lease_id)
    assert beat.json()["active"] is False
    events = [event async for event in lab.runtime.stores.audit.of("movie_id", movie_id)]
    assert [(e["event_type"], e["user_id"]) for e in events] == [("movie.lease.taken-over", lab.people.teacher.user_id)]


async def test_a_reader_gets_no_lease_but_the_reason(lab: Lab) -> None:
    movie_id = await lab.movie(published=True)
    answer = await lab.post(ACQUIRE, lab.people.ben, movie_id=movie_id)
    assert (answer.status_code, answer.json()["lease_id"]) == (200, None)
    assert "not change it" in answer.json()["message"]
    assert answer.json()["analysis_lock"] is None


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"status": "processing"}, "not_ready"),
        ({"status": "uploading"}, "not_ready"),
        ({"deleted": True}, "movie_deleted"),
    ],
)
async def test_a_movie_that_cannot_be_edited_yet_or_any_more_is_a_conflict_a26(
    lab: Lab, row: dict[str, object], code: str
) -> None:
    answer = await lab.post(ACQUIRE, lab.people.ada, movie_id=await lab.movie(**row))
    assert (answer.status_code, answer.json()["code"]) == (409, code)


async def test_a_traced_movie_is_denied_with_the_tracing_lock(lab: Lab) -> None:
    movie_id, lease_id = await lab.marked_movie()
    await lab.post("/resize-api/v1/trace-movie", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    told = (await lab.post(ACQUIRE, lab.people.ada, movie_id=movie_id)).json()
    assert told["lease_id"] is None
    assert told["tracking_lock"]["active"] is True
    assert told["tracking_lock"]["state"] == "queued"
    assert told["tracking_lock"]["total_frames"] == 10


async def test_a_heartbeat_moves_the_expiry_and_a_lost_lease_is_told_apart(lab: Lab) -> None:
    movie_id = await lab.movie()
    lease_id = await lab.lease(movie_id)
    before = (await lab.row(movie_id))["analysis_expires_at"]
    lab.clock.ahead += 60
    alive = await lab.post(HEARTBEAT, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    lab.clock.ahead += 900
    lost = await lab.post(HEARTBEAT, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
    assert alive.json()["active"] is True
    assert before + 60 <= alive.json()["expires_at"] == (await lab.row(movie_id))["analysis_expires_at"]
    assert (lost.status_code, lost.json()["error"], lost.json()["active"]) == (200, False, False)
    assert lost.json()["code"] == "lease_lost"
    assert lost.json()["message"]


async def test_a_heartbeat_under_another_persons_name_is_no_heartbeat(lab: Lab) -> None:
    movie_id = await lab.movie()
    lease_id = await lab.lease(movie_id)
    stolen = await lab.post(HEARTBEAT, lab.people.teacher, movie_id=movie_id, analysis_lease_id=lease_id)
    garbage = await lab.post(HEARTBEAT, lab.people.ada, movie_id=movie_id, analysis_lease_id="Ω" * 5000)
    assert stolen.json()["active"] is False
    assert (garbage.status_code, garbage.json()["active"]) == (200, False)


@pytest.mark.parametrize("path", [HEARTBEAT, RELEASE])
@pytest.mark.parametrize("lease_id", [None, "", "  "])
async def test_heartbeat_and_release_need_a_lease_to_speak_of(lab: Lab, path: str, lease_id: str | None) -> None:
    answer = await lab.post(path, lab.people.ada, movie_id=await lab.movie(), analysis_lease_id=lease_id)
    assert answer.status_code == 400
    assert answer.json()["message"] == "analysis_lease_id: is required"


async def test_a_release_by_beacon_comes_with_the_cookie_and_frees_the_movie_once(lab: Lab) -> None:
    movie_id = await lab.movie()
    lease_id = await lab.lease(movie_id)

    async def beacon() -> bool:
        answer = await lab.http.post(
            RELEASE,
            data={"movie_id": movie_id, "analysis_lease_id": lease_id},
            headers={"cookie": f"api_key={lab.people.ada.api_key}", "origin": ORIGIN},
        )
        assert answer.status_code == 200, answer.text
        released: bool = answer.json()["released"]
        return released

    assert [await beacon(), await beacon()] == [True, False]
    assert not [name for name in await lab.row(movie_id) if name.startswith("analysis_")]
    assert (await lab.post(ACQUIRE, lab.people.teacher, movie_id=movie_id)).json()["lease_id"]


async def test_how_late_a_pages_heartbeat_came_is_measured(lab: Lab) -> None:
    def counted() -> tuple[float, float]:
        name, kind = "tiptrace_heartbeat_lateness_seconds_sum", {"kind": "analysis"}
        late = metrics.REGISTRY.get_sample_value("tiptrace_heartbeats_late_total", kind)
        return metrics.REGISTRY.get_sample_value(name, kind) or 0, late or 0

    movie_id = await lab.movie()
    lease_id = await lab.lease(movie_id)
    seen = [counted()]
    for seconds in (55, 90, 200):
        lab.clock.ahead += seconds
        answer = await lab.post(HEARTBEAT, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
        assert answer.json()["active"], answer.text
        seen.append(counted())
    told = [(after[0] - before[0], after[1] - before[1]) for before, after in itertools.pairwise(seen)]
    assert [late for _, late in told] == [0, 0, 1]
    for (seconds, _), expected in zip(told, (0, 30, 140), strict=True):
        assert abs(seconds - expected) <= 3


async def test_what_a_page_at_work_asks_costs_one_or_two_requests_to_the_database(lab: Lab) -> None:
    """Of a person whose key is remembered: what the service decides by is read once, and written at once."""
    movie_id, lease_id = await lab.marked_movie()
    spent: dict[str, float] = {}

    async def asked(path: str, **fields: Any) -> httpx.Response:
        before = _database_calls()
        answer = await lab.post(path, lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id, **fields)
        spent[path] = _database_calls() - before
        assert answer.status_code == 200, answer.text
        return answer

    points = json.dumps([{"label": "Apex", "x": 1, "y": 2}, {"label": "Bud", "x": 3, "y": 4}])
    lease_id = (await asked(ACQUIRE)).json()["lease_id"]
    await asked(HEARTBEAT)
    await asked(PUT, frame_number=0, trackpoints=points)
    await asked(RELEASE)
    assert spent == {ACQUIRE: 1, HEARTBEAT: 1, PUT: 2, RELEASE: 1}


async def test_a_lease_is_asked_for_by_the_write_itself_and_of_a_movie_that_seems_held_by_reading(lab: Lab) -> None:
    """A hundred pages that want one movie read it together. What a process remembers is a hint: a movie that was given
    back elsewhere is had at the first try.
    """
    movie_id = await lab.movie()
    ada, teacher = lab.people.ada, lab.people.teacher

    async def asked(who: Person, lease_id: str | None = None) -> tuple[bool, float, float]:
        before = _database_calls("UpdateItem"), _database_calls()
        answer = (await lab.post(ACQUIRE, who, movie_id=movie_id, analysis_lease_id=lease_id)).json()
        writes, calls = (
            after - b for after, b in zip((_database_calls("UpdateItem"), _database_calls()), before, strict=True)
        )
        held.append(answer["lease_id"])
        return answer["lease_id"] is not None, writes, calls - writes

    held: list[str | None] = []
    for who in (ada, teacher):
        await lab.post(HEARTBEAT, who, movie_id=movie_id, analysis_lease_id="their keys are known now")
    assert await asked(teacher) == (True, 1, 0)
    assert await asked(ada) == (False, 1, 0), "the row comes back with the refusal"
    assert await asked(ada) == (False, 0, 1)
    assert await asked(teacher, held[0]) == (True, 1, 1)
    assert await asked(teacher, held[-1]) == (True, 1, 0), "one page's own lease is no other's"
    assert await asked(ada) == (False, 1, 0)
    elsewhere = lab.runtime.stores.movies
    assert await elsewhere.release_analysis(movie_id, str(held[-2]), teacher.user_id)
    assert await asked(ada) == (True, 1, 1)
    assert len({lease_id for lease_id in held if lease_id}) == 4


def _database_calls(operation: str | None = None) -> float:
    (family,) = metrics.STORE_CALLS.collect()
    return sum(
        s.value
        for s in family.samples
        if s.name.endswith("_total")
        and s.labels["service"] == "dynamodb"
        and operation in (None, s.labels["operation"])
    )
