"""Coming in by a course key, by a new link, by a teacher's list; and the letters that carry the links (A30, A31)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio

from service.local.emulator import Emulator
from service.store.expressions import Update
from service.store.schema import COURSE_USERS, COURSES, EMAILS, USERS
from service.store.table import Change
from service.usecases import people, registration
from tests.support.mailroom import MailRoom, mail_room, token_in
from tests.support.service import ORIGIN, Lab, serving_lab

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class School:
    """A service whose letters go to a real mail server. Courses are made when a test asks for them."""

    lab: Lab
    room: MailRoom

    async def course(self, course_id: str, limit: int = 500) -> str:
        """A course's key."""
        course = await people.add_course(self.lab.runtime.stores, course_id, f"The {course_id} course", limit=limit)
        assert course
        return str(course["course_key"])

    async def register(self, key: str, email: str, name: str = "", **more: Any) -> httpx.Response:
        return await self.lab.post("/api/register", course_key=key, email=email, name=name, **more)

    async def user(self, email: str) -> dict[str, Any] | None:
        return await self.lab.runtime.stores.people.user_of_email(email)

    async def members(self, course_id: str) -> list[str]:
        return [member["user_id"] async for member in self.lab.runtime.stores.people.members(course_id)]

    async def enrolled(self, course_id: str) -> int:
        return int((await self.lab.runtime.stores.people.course(course_id, consistent=True))["enrolled"])

    async def sign_in(self, link: str) -> dict[str, Any]:
        """Press the button of a link; what the service then says of who this is."""
        answer = await self.lab.http.post("/signin", data={"token": token_in(link)}, headers={"origin": ORIGIN})
        cookie = answer.headers["set-cookie"].partition(";")[0]
        self.lab.http.cookies.clear()
        who = await self.lab.http.post("/api/check-api_key", headers={"origin": ORIGIN, "cookie": cookie})
        told: dict[str, Any] = who.json()["user"]
        return told


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def school(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[School]:
    async with (
        mail_room() as room,
        serving_lab(emulator.endpoint, tmp_path_factory.mktemp("school"), smtp_url=room.url, public_url=ORIGIN) as lab,
    ):
        yield School(lab, room)


@pytest.fixture(autouse=True)
def _kind_again(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "ASKING_SECONDS", 0.0)
    school.room.refuse = None
    school.room.said.clear()


async def test_whoever_has_the_course_key_gets_a_link_by_mail_that_signs_him_in_once(school: School) -> None:
    key = await school.course("botany")
    answer = await school.register(key, "linnaeus@uppsala.example", "Carl Linnaeus")
    told = answer.json()
    assert (answer.status_code, told["error"], told["course_id"]) == (200, False, "botany")
    assert told["course_name"] == "The botany course"
    assert "user_id" not in told
    (link,) = school.room.links("linnaeus@uppsala.example")
    assert link.startswith(f"{ORIGIN}/signin?token=")
    page = await school.lab.http.get(link)
    assert page.status_code == 200, "a mail program that opens the link uses nothing up"
    user = await school.sign_in(link)
    assert (user["user_name"], user["course_id"], user["roles"]) == ("Carl Linnaeus", "botany", [])
    again = await school.lab.http.post("/signin", data={"token": token_in(link)}, headers={"origin": ORIGIN})
    assert again.json()["code"] == "bad_link"
    _, message = next(entry for entry in school.room.letters if entry[0] == "linnaeus@uppsala.example")
    assert message["Auto-Submitted"] == "auto-generated"
    assert "Linnaeus" not in message.as_string()


async def test_an_address_is_one_person_however_it_is_typed_a30(school: School) -> None:
    key = await school.course("a30")
    for typed in ("Ada@BÜCHER.example", " ada@bücher.example ", "ADA@xn--bcher-kva.example", "ada＠bücher．example"):
        assert (await school.register(key, typed, "Ada")).status_code == 200, typed
    assert len(await school.members("a30")) == await school.enrolled("a30") == 1
    assert len(school.room.links("ada@xn--bcher-kva.example")) == 4
    await school.lab.post("/api/resend-link", email="\tADA@Bücher.EXAMPLE\n")
    assert (await school.sign_in(school.room.links("ada@xn--bcher-kva.example")[-1]))["email"] == (
        "ada@xn--bcher-kva.example"
    )


async def test_a_wrong_course_key_lets_nobody_in_and_writes_nothing(school: School) -> None:
    for key in ("nothing-of-this-name", " ", "bio", "é", "0" * 10):
        answer = await school.register(key, "nobody@school.example")
        assert (answer.status_code, answer.json()["code"]) == (403, "invalid_course_key"), key
    assert await school.user("nobody@school.example") is None
    assert school.room.links("nobody@school.example") == []


async def test_a_course_takes_as_many_as_it_may_and_not_one_more_also_when_all_come_at_once(school: School) -> None:
    key = await school.course("small", limit=5)
    answers = await asyncio.gather(*(school.register(key, f"s{n}@small.example") for n in range(12)))
    codes = sorted(answer.json().get("code", "in") for answer in answers)
    assert codes == ["course_full"] * 7 + ["in"] * 5
    assert len(await school.members("small")) == await school.enrolled("small") == 5
    inside = [n for n, answer in enumerate(answers) if answer.status_code == 200]
    outside = [n for n, answer in enumerate(answers) if answer.status_code == 409]
    assert await school.user(f"s{outside[0]}@small.example") is None
    assert (await school.register(key, f"s{inside[0]}@small.example")).status_code == 200, "a member is let in again"


async def test_a_double_click_makes_one_person(school: School) -> None:
    key = await school.course("click", limit=1)
    answers = await asyncio.gather(*(school.register(key, "twice@click.example", "Twice") for _ in range(4)))
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len(await school.members("click")) == await school.enrolled("click") == 1


async def test_a_known_person_joins_a_second_course_with_the_same_answer_as_a_stranger(school: School) -> None:
    first, second = await school.course("first"), await school.course("second")
    await school.register(first, "known@school.example", "Known")
    known = (await school.register(second, "known@school.example", "Somebody Else")).json()
    stranger = (await school.register(second, "stranger@school.example", "Stranger")).json()
    assert {**known, "email": ""} == {**stranger, "email": ""}
    user = await school.user("known@school.example")
    assert user is not None
    assert (user["user_name"], user["courses"], user["primary_course_id"]) == ("Known", ["first", "second"], "first")


async def test_a_course_of_an_older_service_is_counted_before_it_is_full(school: School) -> None:
    key = await school.course("older", limit=3)
    await school.register(key, "one@older.example")
    await school.register(key, "two@older.example")
    database = school.lab.runtime.stores.database
    await database.write(Change(COURSES, {"course_id": "older"}, Update(remove=("enrolled",))))
    codes = [(await school.register(key, f"{name}@older.example")).status_code for name in ("three", "four")]
    assert codes == [200, 409]
    assert await school.enrolled("older") == 3


@pytest.mark.parametrize(
    "email",
    ["ada@x.example\r\nBcc: evil@x.example", "ada@x.example,evil@x.example", "Ada <ada@x.example>", "ada@x.example\x00",
     "ada@x.example>", '"a\\"b"@x.example', "ada@x.example\u2028Bcc: e@x.example", "a" * 65 + "@x.example",
     "ada@" + "x" * 250 + ".example", "@x.example", "ada@x", "", "ada@x..example", "\u202eada@x.example"],
    ids=ascii,
)  # fmt: skip
async def test_no_address_can_be_more_than_one_address(school: School, email: str) -> None:
    key = (await school.lab.runtime.stores.people.course("bio"))["course_key"]
    for path in ("/api/register", "/api/resend-link"):
        answer = await school.lab.http.post(path, json={"email": email, "course_key": key})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter"), answer.text
        assert answer.json()["message"].startswith("email:")
    assert school.room.said == []


@pytest.mark.parametrize("name", ["Ada\r\nBcc: evil@x.example", "Ada\x00", "A\u2029da", "\u202enosnhoj", "x" * 101])
async def test_no_name_can_be_more_than_a_name(school: School, name: str) -> None:
    key = (await school.lab.runtime.stores.people.course("bio"))["course_key"]
    answer = await school.lab.http.post("/api/register", json={"email": "n@x.example", "course_key": key, "name": name})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_parameter")
    assert await school.user("n@x.example") is None


async def test_nothing_that_a_stranger_typed_stands_in_the_letter(school: School) -> None:
    key = await school.course("phish")
    await school.register(key, "victim@school.example", "You won. Go to evil.example now")
    (_, message) = next(entry for entry in school.room.letters if entry[0] == "victim@school.example")
    assert "evil" not in message.as_string()
    assert [address.addr_spec for address in message["To"].addresses] == ["victim@school.example"]
    forged = await school.lab.http.post(
        "/api/resend-link", data={"email": "victim@school.example"}, headers={"host": "evil.example"}
    )
    assert forged.status_code == 200
    assert all(link.startswith(f"{ORIGIN}/signin?token=") for link in school.room.links("victim@school.example"))


async def test_a_failing_mail_server_loses_no_registration_and_a_new_link_comes_later(school: School) -> None:
    key = await school.course("outage")
    await school.room.close()
    try:
        answer = await school.register(key, "patient@school.example", "Patient")
        assert (answer.status_code, answer.json()["code"]) == (503, "registered_without_mail")
        assert "registered" in answer.json()["message"]
        assert int(answer.headers["retry-after"]) > 0
        failed = [await school.lab.post("/api/resend-link", email=f"{who}@school.example") for who in ("patient", "no")]
        assert [(answer.status_code, answer.json()) for answer in failed] == [(503, failed[0].json())] * 2
        assert failed[0].json()["code"] == "mail_failed"
    finally:
        await school.room.open()
    assert (await school.lab.post("/api/resend-link", email="patient@school.example")).status_code == 200
    (link,) = school.room.links("patient@school.example")
    assert (await school.sign_in(link))["user_name"] == "Patient"


async def test_asking_for_a_link_tells_nobody_who_exists(school: School, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "ASKING_SECONDS", 0.25)
    key = await school.course("secret")
    await school.register(key, "exists@school.example")
    conversations, answers = [], []
    for who in ("exists", "unknown"):
        school.room.said.clear()
        began = school.lab.clock.monotonic()
        answer = await school.lab.post("/api/resend-link", email=f"{who}@school.example")
        assert school.lab.clock.monotonic() - began >= 0.25, "no quicker than a mail server for either"
        conversations.append(school.room.said[:])
        answers.append((answer.status_code, answer.json()))
    assert answers[0] == answers[1]
    assert conversations == [["MAIL", "RCPT"], ["MAIL", "RSET"]]
    assert school.room.links("unknown@school.example") == []


async def test_a_disabled_person_gets_no_letter_and_the_same_answer(school: School) -> None:
    key = await school.course("gone")
    await school.register(key, "gone@school.example")
    user = await school.user("gone@school.example")
    assert user is not None
    await school.lab.runtime.stores.people.set_user(user["user_id"], {"enabled": 0})
    first = await school.lab.post("/api/resend-link", email="gone@school.example")
    second = await school.register(key, "gone@school.example")
    other = await school.register(key, "other@school.example")
    assert {**second.json(), "email": ""} == {**other.json(), "email": ""}
    assert (first.status_code, len(school.room.links("gone@school.example"))) == (200, 1)


async def test_an_address_that_the_mail_server_refuses_is_said_to_its_owner_alone(school: School) -> None:
    key = await school.course("typo")
    school.room.refuse = "550 no such mailbox"
    answer = await school.register(key, "tpyo@school.example")
    assert (answer.status_code, answer.json()["code"]) == (400, "address_refused")
    assert (await school.lab.post("/api/resend-link", email="tpyo@school.example")).status_code == 200
    school.room.refuse = "451 come back later"
    answer = await school.register(key, "grey@school.example")
    assert (answer.status_code, answer.json()["code"]) == (503, "registered_without_mail")


LIST = """Ada Green <ada@list.example>
 BEN@list.example ; ben@list.example,
not an address
"Eve, the gardener" """


async def test_a_teacher_registers_a_class_and_each_line_has_an_outcome_of_its_own(school: School) -> None:
    lab = school.lab
    known = await school.course("elsewhere")
    await school.register(known, "known@list.example", "Known")
    before = await school.enrolled("bio")
    answer = await lab.post(
        "/api/bulk-register", lab.people.teacher, course_id="bio", emails=LIST + "\nknown@list.example"
    )
    told = answer.json()
    assert answer.status_code == 200, told
    lines = {line["typed"]: line for line in told["results"]}
    assert [line["outcome"] for line in told["results"]] == [
        "registered", "registered", "repeated", "refused", "refused", "refused", "joined",
    ]  # fmt: skip
    assert lines["not an address"]["code"] == "invalid_parameter"
    assert (told["registered"], told["joined"], told["refused"], told["mailed"]) == (2, 1, 3, 3)
    assert await school.enrolled("bio") == before + 3
    ada = await school.user("ada@list.example")
    assert ada is not None
    assert (ada["user_name"], ada["courses"]) == ("Ada Green", ["bio"])
    for address in ("ada", "ben", "known"):
        assert school.room.links(f"{address}@list.example"), address
    again = await lab.post("/api/bulk-register", lab.people.teacher, course_id="bio", emails='["ben@list.example"]')
    assert again.json()["results"] == [
        {"typed": "ben@list.example", "email": "ben@list.example", "outcome": "member", "mailed": False,
         "user_id": lines["BEN@list.example"]["user_id"]}
    ]  # fmt: skip


async def test_a_list_goes_by_the_course_key_too_and_older_scripts_names_are_taken(school: School) -> None:
    lab = school.lab
    key = (await lab.runtime.stores.people.course("bio"))["course_key"]
    answer = await lab.http.post(
        "/api/bulk-register",
        json={"course_key": key, "email-addresses": ["old@script.example"]},
        headers=lab.people.teacher.headers,
    )
    assert [line["outcome"] for line in answer.json()["results"]] == ["registered"]


@pytest.mark.parametrize(("who", "course"), [("ada", "bio"), ("teacher", "chem"), ("auditor", "bio"), ("eve", "bio")])
async def test_only_an_administrator_of_the_course_registers_others(school: School, who: str, course: str) -> None:
    lab = school.lab
    key = (await lab.runtime.stores.people.course(course))["course_key"]
    for named in ({"course_id": course}, {"course_key": key}):
        answer = await lab.post("/api/bulk-register", getattr(lab.people, who), emails="new@x.example", **named)
        assert (answer.status_code, answer.json()["code"]) == (403, "no_right")
    assert await school.user("new@x.example") is None


async def test_what_is_wrong_with_a_whole_list_is_said_before_anybody_is_registered(school: School) -> None:
    teacher, lab = school.lab.people.teacher, school.lab
    many = "\n".join(f"m{n}@x.example" for n in range(201))
    for fields, status in (
        ({"course_id": "bio", "emails": many}, 400),
        ({"course_id": "bio", "emails": " \n ,"}, 400),
        ({"emails": "m0@x.example"}, 400),
        ({"course_id": "bio", "course_key": "k", "emails": "m0@x.example"}, 400),
        ({"course_id": "bio"}, 400),
        ({"course_key": "unknown", "emails": "m0@x.example"}, 403),
    ):
        assert (await lab.post("/api/bulk-register", teacher, **fields)).status_code == status, fields
    answer = await lab.post("/api/bulk-register", lab.people.root, course_id="no-such-course", emails="m0@x.example")
    assert answer.status_code == 404
    assert await school.user("m0@x.example") is None


async def test_a_list_is_kept_though_the_mail_server_is_down_and_it_is_asked_only_a_few_times(school: School) -> None:
    lab = school.lab
    await school.room.close()
    try:
        emails = "\n".join(f"late{n}@x.example" for n in range(20))
        told = (await lab.post("/api/bulk-register", lab.people.teacher, course_id="bio", emails=emails)).json()
    finally:
        await school.room.open()
    assert (told["registered"], told["mailed"]) == (20, 0)
    assert {line["code"] for line in told["results"]} == {"mail_failed"}
    assert await school.user("late19@x.example")


async def test_members_addresses_and_counts_agree_at_the_end(school: School) -> None:
    """Whatever the tests above did at once or by halves: every user has one address, every course its members."""
    database = school.lab.runtime.stores.database
    users = {user["user_id"]: user async for user in database.scan(USERS)}
    addresses = {item["email"]: item["user_id"] async for item in database.scan(EMAILS)}
    assert {user["email"]: user_id for user_id, user in users.items()} == addresses
    pairs = {(item["course_id"], item["user_id"]) async for item in database.scan(COURSE_USERS)}
    assert pairs == {(course, user_id) for user_id, user in users.items() for course in user["courses"]}
    async for course in database.scan(COURSES):
        assert course["enrolled"] == sum(course_id == course["course_id"] for course_id, _ in pairs), course
