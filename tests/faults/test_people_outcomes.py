"""Replies get lost while people, keys and courses are written: each write is made once, and its doer is told (C08)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import pytest_asyncio

from service.domain.access import Actor
from service.domain.errors import Unavailable
from service.domain.letters import Letter
from service.store.schema import COURSE_USERS, EMAILS, KEYS, LOGS
from service.usecases import courses, people
from service.usecases.registration import Post, bulk_register, enrol, register
from service.usecases.sign_in import SignInLink
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import WRITES, Fault

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOST = (Fault.DROP_REPLY, Fault.RESET_REPLY, Fault.CUT_REPLY, Fault.ERROR_REPLY, Fault.TWICE)
ROOT = Actor("root", "Root", roles=frozenset({"superadmin"}))


class Letters:
    """Counts what is sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, letter: Letter) -> None:
        self.sent.append(letter.to)

    async def rehearse(self, letter: Letter) -> None:
        raise AssertionError("nobody asks for a link here")


LETTERS = Letters()


def _address(link: SignInLink) -> str:
    return f"https://lab.example/signin?token={link.nonce}"


POST = Post(LETTERS, _address)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def course(faulty: FaultLab) -> Mapping[str, Any]:
    made = await people.add_course(faulty.lab.stores, "bio", "Bio")
    assert made is not None
    return made


async def _rows(faulty: FaultLab, table: str, **wanted: Any) -> list[dict[str, Any]]:
    rows = await faulty.lab.rows(table)
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name)
async def test_a_course_is_made_once_with_its_event_and_its_operator_gets_the_key(
    faulty: FaultLab, fault: Fault
) -> None:
    course_id = f"made-{fault.name}"
    with faulty.proxy.fault(WRITES, fault, times=1):
        made = await people.add_course(faulty.stores, course_id, "Made")
    assert made is not None, "the loser of a reply is not told that the id is taken"
    stored = await faulty.lab.stores.people.course(course_id, consistent=True)
    assert stored["course_key"] == made["course_key"]
    assert len(await _rows(faulty, LOGS, course_id=course_id)) == 1
    assert await people.add_course(faulty.stores, course_id, "Again") is None


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name)
async def test_a_key_whose_reply_was_lost_is_printed_and_works(
    faulty: FaultLab, course: Mapping[str, Any], fault: Fault
) -> None:
    person = await faulty.lab.person("Keys")
    before = len(await _rows(faulty, KEYS, user_id=person.user_id))
    with faulty.proxy.fault(WRITES, fault, times=1):
        key = await people.add_key(faulty.stores, person.user_id)
    found = await faulty.lab.stores.people.actor_of_key(key)
    assert found is not None
    assert found.user_id == person.user_id
    assert len(await _rows(faulty, KEYS, user_id=person.user_id)) == before + 1
    with faulty.proxy.fault(WRITES, fault, times=1):
        assert await faulty.stores.people.disable_key(key, 1) is True
    assert await faulty.lab.stores.people.actor_of_key(key) is None


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name)
async def test_a_person_comes_in_once_is_counted_once_and_gets_one_letter(
    faulty: FaultLab, course: Mapping[str, Any], fault: Fault
) -> None:
    email = f"{fault.name.lower().replace('_', '-')}@school.example"
    before = (await faulty.lab.stores.people.course("bio", consistent=True))["enrolled"]
    LETTERS.sent.clear()
    with faulty.proxy.fault(WRITES, fault, times=1) as plan:
        enrolled = await register(faulty.stores, POST, course["course_key"], email, "Somebody")
    assert len(plan.hits) == 1
    assert (enrolled.outcome, LETTERS.sent) == ("registered", [email])
    assert (await faulty.lab.stores.people.course("bio", consistent=True))["enrolled"] == before + 1
    assert [row["user_id"] for row in await _rows(faulty, EMAILS, email=email)] == [enrolled.user_id]
    assert len(await _rows(faulty, COURSE_USERS, user_id=enrolled.user_id)) == 1


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name)
async def test_an_administrator_is_made_and_unmade_once_with_one_event_each(
    faulty: FaultLab, course: Mapping[str, Any], fault: Fault
) -> None:
    person = await faulty.lab.person("Admin")
    for change in (courses.assign, courses.remove):
        with faulty.proxy.fault(WRITES, fault, times=1):
            done = await change(faulty.stores, ROOT, "bio", person.user_id)
        assert done.changed is True
    told = await _rows(faulty, LOGS, subject_user_id=person.user_id)
    assert sorted(event["event_type"] for event in told) == ["course.admin.assigned", "course.admin.removed"]
    user = await faulty.lab.stores.people.user(person.user_id, consistent=True)
    assert user is not None
    assert (user["courses"], user["admin_of"], user["courses_seq"]) == (["bio-101", "bio"], [], 2)


async def test_a_class_is_registered_whole_though_every_third_reply_is_lost(
    faulty: FaultLab, course: Mapping[str, Any]
) -> None:
    LETTERS.sent.clear()
    teacher = Actor("teacher", "Teacher", admin_of=frozenset({"bio"}))
    emails = [f"pupil{number}@school.example" for number in range(9)]
    before = (await faulty.lab.stores.people.course("bio", consistent=True))["enrolled"]
    with faulty.proxy.fault(("*",), Fault.DROP_REPLY, first=2, every=3):
        _, lines = await bulk_register(faulty.stores, POST, teacher, emails, course_id="bio")
    assert [(line.outcome, line.mailed) for line in lines] == [("registered", True)] * 9
    assert sorted(LETTERS.sent) == emails
    assert (await faulty.lab.stores.people.course("bio", consistent=True))["enrolled"] == before + 9


async def test_though_every_reply_is_lost_the_rows_tell_what_was_done(
    faulty: FaultLab, course: Mapping[str, Any]
) -> None:
    person = await faulty.lab.person("Unheard")
    with faulty.proxy.fault(("dynamodb:TransactWriteItems",), Fault.DROP_REPLY):
        assert (await enrol(faulty.stores, dict(course), "unheard@school.example", "U")).outcome == "registered"
        assert await people.add_course(faulty.stores, "unheard", "Unheard") is not None
        assert (await courses.assign(faulty.stores, ROOT, "unheard", person.user_id)).changed is True
        added = await people.add_user(faulty.stores, "unheard2@school.example", "U", "bio", course_admin=True)
    assert await faulty.lab.stores.people.actor_of_key(added.api_key)


async def test_what_nobody_can_learn_is_said_and_asking_again_makes_it_good(
    faulty: FaultLab, course: Mapping[str, Any]
) -> None:
    """The reply of the write is lost, and then nothing can be read either."""
    with faulty.proxy.fault(("dynamodb:TransactWriteItems",), Fault.DROP_REPLY) as lost:
        blind = {"active": lambda: bool(lost.hits)}
        with faulty.proxy.fault(("dynamodb:GetItem",), Fault.RESET_BEFORE, **blind), pytest.raises(Unavailable):
            await enrol(faulty.stores, dict(course), "blind@school.example", "Blind")
    again = await enrol(faulty.stores, dict(course), "blind@school.example", "Blind")
    assert again.outcome == "member"
    assert len(await _rows(faulty, COURSE_USERS, user_id=again.user_id)) == 1
