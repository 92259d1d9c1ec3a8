"""Where a key may come from, and what a browser's cookie alone may do."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from service.local.emulator import Emulator
from tests.support.service import ORIGIN, Lab, Person, serving_lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

WHO = "/api/check-api_key"
WRONG = "a" + "f" * 32


def who(answer: httpx.Response) -> str:
    return answer.json()["user"]["user_name"] if answer.status_code == 200 else answer.json()["code"]


def cookie(person: Person, **more: str) -> dict[str, str]:
    return {"cookie": f"api_key={person.api_key}", **more}


async def test_a_person_learns_who_he_is(lab: Lab) -> None:
    teacher = lab.people.teacher
    told = (await lab.post(WHO, teacher)).json()
    assert told["error"] is False
    assert told["user"] == {
        "user_id": teacher.user_id,
        "user_name": "Teacher",
        "email": "teacher@school.test",
        "course_id": "bio",
        "course_name": "Bio 101",
        "roles": ["course_admin"],
        "admin_of": ["bio"],
        "max_upload_bytes": lab.runtime.settings.max_upload_bytes,
    }
    assert (await lab.post(WHO, lab.people.root)).json()["user"]["roles"] == ["superadmin"]
    assert (await lab.post(WHO, lab.people.ada)).json()["user"]["roles"] == []


async def test_the_header_goes_before_the_body_and_the_body_before_the_cookie(lab: Lab) -> None:
    ada, ben, eve, root = lab.people.ada, lab.people.ben, lab.people.eve, lab.people.root
    body = {"api_key": eve.api_key}
    all_four = {"x-api-key": ada.api_key, "authorization": f"Bearer {ben.api_key}", **cookie(root)}
    bearer = {"authorization": f"bearer {ben.api_key}", **cookie(root)}
    assert who(await lab.http.post(WHO, data=body, headers=all_four)) == "Ada"
    assert who(await lab.http.post(WHO, data=body, headers=bearer)) == "Ben"
    assert who(await lab.http.post(WHO, data=body, headers=cookie(root))) == "Eve"
    assert who(await lab.http.post(WHO, json=body, headers=cookie(root))) == "Eve"
    assert who(await lab.http.post(WHO, headers=cookie(root, origin=ORIGIN))) == "Root"


async def test_a_wrong_key_in_front_is_not_made_good_by_a_right_one_behind(lab: Lab) -> None:
    ada = lab.people.ada
    assert (
        who(await lab.http.post(WHO, headers={"x-api-key": WRONG, **cookie(ada, origin=ORIGIN)})) == "invalid_api_key"
    )
    assert who(await lab.http.post(WHO, data={"api_key": WRONG}, headers=cookie(ada))) == "invalid_api_key"


async def test_a_key_in_the_address_is_refused(lab: Lab) -> None:
    movie_id = await lab.movie()
    answer = await lab.get("/api/get-movie-metadata", movie_id=movie_id, api_key=lab.people.ada.api_key)
    assert (answer.status_code, answer.json()["code"]) == (403, "invalid_api_key")


async def test_a_key_in_the_address_is_taken_where_older_clients_need_it(emulator: Emulator, tmp_path: Path) -> None:
    async with serving_lab(emulator.endpoint, tmp_path, legacy_query_key=True) as lab:
        movie_id = await lab.movie()
        answer = await lab.get("/api/get-movie-metadata", movie_id=movie_id, api_key=lab.people.ada.api_key)
        assert answer.status_code == 200
        assert who(await lab.http.post(WHO, params={"api_key": lab.people.ada.api_key})) == "Ada"


@pytest.mark.parametrize(
    "proof",
    [{"origin": ORIGIN}, {"origin": ORIGIN.upper()}, {"sec-fetch-site": "same-origin"},
     {"origin": "https://behind.a.proxy", "sec-fetch-site": "same-origin"}],
    ids=str,
)  # fmt: skip
async def test_a_cookies_write_from_our_own_page_is_taken(lab: Lab, proof: dict[str, str]) -> None:
    assert who(await lab.http.post(WHO, headers=cookie(lab.people.ada, **proof))) == "Ada"


@pytest.mark.parametrize(
    "claim",
    [{}, {"origin": "null"}, {"origin": ""}, {"origin": "http://evil.test"}, {"origin": ORIGIN + ".evil.test"},
     {"origin": "https://lab.test"}, {"origin": ORIGIN + ":8080"}, {"sec-fetch-site": "cross-site"},
     {"sec-fetch-site": "same-site"}, {"sec-fetch-site": "none"}, {"referer": ORIGIN + "/analyze"}],
    ids=str,
)  # fmt: skip
async def test_a_cookies_write_from_elsewhere_is_refused_on_every_route(lab: Lab, claim: dict[str, str]) -> None:
    movie_id = await lab.movie()
    for path in (WHO, "/api/delete-movie", "/api/acquire-movie-analysis-lease", "/resize-api/v1/trace-movie"):
        answer = await lab.http.post(path, data={"movie_id": movie_id}, headers=cookie(lab.people.ada, **claim))
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_site")
    assert (await lab.row(movie_id))["deleted"] is False


async def test_a_cookie_reads_without_proof(lab: Lab) -> None:
    movie_id = await lab.movie()
    answer = await lab.get("/api/get-movie-metadata", headers=cookie(lab.people.ada), movie_id=movie_id)
    assert answer.status_code == 200


async def test_behind_a_public_address_that_address_is_our_origin(emulator: Emulator, tmp_path: Path) -> None:
    async with serving_lab(emulator.endpoint, tmp_path, public_url="https://Lab.Example:443/tiptrace/") as lab:
        ada = lab.people.ada
        assert who(await lab.http.post(WHO, headers=cookie(ada, origin="https://lab.example"))) == "Ada"
        assert who(await lab.http.post(WHO, headers=cookie(ada, origin=ORIGIN))) == "cross_site"


async def test_a_disabled_key_stops_working_within_seconds(lab: Lab) -> None:
    from service.usecases.people import add_key

    key = await add_key(lab.runtime.stores, lab.people.ben.user_id)
    assert who(await lab.http.post(WHO, headers={"x-api-key": key})) == "Ben"
    await lab.runtime.stores.people.disable_key(key, lab.clock.now())
    lab.clock.ahead += 6
    assert who(await lab.http.post(WHO, headers={"x-api-key": key})) == "invalid_api_key"
