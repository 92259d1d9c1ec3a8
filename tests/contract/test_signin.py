"""Signing in by a link that works once, and out again."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pydantic import SecretStr

from service.domain.errors import UserNotFound
from service.domain.policy import SESSION_SECONDS
from service.local.emulator import Emulator
from service.settings import Settings
from service.store.schema import KEYS
from service.web.people import sign_in_link
from service.web.signer import SecretMissing, kept_secret, signer_of
from tests.support.service import ORIGIN, Lab, Person, serving_lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

OURS = {"origin": ORIGIN}


async def token_for(lab: Lab, person: Person) -> str:
    link = await sign_in_link(lab.runtime, person.user_id, ORIGIN)
    parts = urlsplit(link)
    assert (f"{parts.scheme}://{parts.netloc}", parts.path) == (ORIGIN, "/signin")
    return parse_qs(parts.query)["token"][0]


async def enter(lab: Lab, token: str, **headers: str) -> httpx.Response:
    lab.http.cookies.clear()
    answer = await lab.http.post("/signin", data={"token": token}, headers={**OURS, **headers})
    lab.http.cookies.clear()
    return answer


async def who(lab: Lab, cookie: str) -> httpx.Response:
    return await lab.http.post("/api/check-api_key", headers={**OURS, "cookie": cookie})


def cookie_of(answer: httpx.Response) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


async def test_opening_a_link_changes_nothing_and_pressing_the_button_signs_in(lab: Lab) -> None:
    token = await token_for(lab, lab.people.ada)
    for _ in range(2):
        page = await lab.http.get("/signin", params={"token": token})
        assert (page.status_code, "set-cookie" in page.headers) == (200, False)
        assert token not in page.text
    answer = await enter(lab, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= attributes
    assert "secure" not in attributes, "plain http, as on a laptop"
    assert answer.headers["cache-control"] == "no-store"
    assert (await who(lab, cookie_of(answer))).json()["user"]["user_name"] == "Ada"


async def test_a_link_works_once_also_when_two_press_at_the_same_instant(lab: Lab) -> None:
    token = await token_for(lab, lab.people.ada)
    answers = await asyncio.gather(*(lab.http.post("/signin", data={"token": token}, headers=OURS) for _ in range(8)))
    lab.http.cookies.clear()
    assert sorted(answer.status_code for answer in answers) == [303] + [403] * 7
    assert {answer.json()["code"] for answer in answers if answer.status_code == 403} == {"bad_link"}


async def test_a_used_link_makes_no_key(lab: Lab) -> None:
    token = await token_for(lab, lab.people.eve)
    await enter(lab, token)
    before = [key["api_key"] async for key in lab.runtime.stores.database.scan(KEYS)]
    await enter(lab, token)
    assert [key["api_key"] async for key in lab.runtime.stores.database.scan(KEYS)] == before


async def test_an_old_a_forged_and_a_torn_link_are_refused(lab: Lab) -> None:
    token = await token_for(lab, lab.people.ada)
    other = signer_of(Settings(_env_file=None, secret_key=SecretStr("another secret")))
    forged = other.token(lab_link := signer_of(lab.runtime.settings).link(token))
    assert lab_link.user_id == lab.people.ada.user_id
    for bad in (forged, token[:-2], token + "x", "", "é", "." * 900):
        answer = await enter(lab, bad)
        assert (answer.status_code, answer.json()["code"]) == (403, "bad_link"), bad
    lab.clock.ahead += 3601
    assert (await enter(lab, token)).json()["code"] == "bad_link"
    assert (await enter(lab, "x" * 5000)).status_code == 400


async def test_a_person_with_a_browser_gets_a_page_instead_of_json(lab: Lab) -> None:
    answer = await enter(lab, "torn", accept="text/html,application/xhtml+xml,*/*;q=0.8")
    assert (answer.status_code, answer.headers["location"]) == (303, "/signin?problem=bad_link")


async def test_another_site_cannot_sign_anybody_in_or_out(lab: Lab) -> None:
    token = await token_for(lab, lab.people.ada)
    for path in ("/signin", "/signout"):
        answer = await lab.http.post(path, data={"token": token}, headers={"origin": "http://evil.test"})
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_site")
    assert (await enter(lab, token)).status_code == 303, "the refused attempt did not use the link up"


async def test_signing_out_clears_the_cookie_and_ends_its_key(lab: Lab) -> None:
    cookie = cookie_of(await enter(lab, await token_for(lab, lab.people.ada)))
    assert (await who(lab, cookie)).status_code == 200
    answer = await lab.http.post("/signout", headers={**OURS, "cookie": cookie})
    assert answer.status_code == 303
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert (await who(lab, cookie)).json()["code"] == "invalid_api_key"


async def test_signing_out_leaves_a_key_alone_that_was_not_made_by_signing_in(lab: Lab) -> None:
    ben = lab.people.ben
    await lab.http.post("/signout", headers={**OURS, "cookie": f"api_key={ben.api_key}"})
    lab.clock.ahead += 6
    assert (await lab.post("/api/check-api_key", ben)).status_code == 200


async def test_on_https_the_cookie_never_goes_out_in_the_clear(emulator: Emulator, tmp_path: Path) -> None:
    async with serving_lab(emulator.endpoint, tmp_path, public_url="https://lab.example") as lab:
        link = await sign_in_link(lab.runtime, lab.people.ada.user_id)
        assert link.startswith("https://lab.example/signin?token=")
        answer = await enter(lab, link.partition("token=")[2], origin="https://lab.example")
        assert "; Secure" in answer.headers["set-cookie"]


async def test_nobody_gets_a_link_who_is_nobody(lab: Lab) -> None:
    with pytest.raises(UserNotFound):
        await sign_in_link(lab.runtime, "u00000000-0000-4000-8000-000000000000")


async def test_the_secret_is_made_once_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    made = await asyncio.gather(*(asyncio.to_thread(kept_secret, tmp_path / "new") for _ in range(8)))
    path = tmp_path / "new" / "secret-key"
    assert len(set(made)) == 1
    assert len(made[0]) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


async def test_several_machines_need_a_secret_that_somebody_set(tmp_path: Path) -> None:
    with pytest.raises(SecretMissing, match="TIPTRACE_SECRET_KEY"):
        signer_of(Settings(_env_file=None, backend="aws", data=tmp_path))


async def test_a_browsers_key_ends_with_its_cookie_and_other_keys_do_not(lab: Lab) -> None:
    """A key that was copied out of a browser is not good for ever; a script's key is, until it is disabled."""
    cookie = cookie_of(await enter(lab, await token_for(lab, lab.people.ada)))
    lab.clock.ahead = SESSION_SECONDS - 3600
    assert (await who(lab, cookie)).status_code == 200
    lab.clock.ahead = SESSION_SECONDS + 3600
    assert (await who(lab, cookie)).json()["code"] == "invalid_api_key"
    assert (await lab.http.post("/api/check-api_key", headers=lab.people.ada.headers)).status_code == 200


async def test_a_cookie_that_somebody_planted_is_replaced_and_never_becomes_the_persons(lab: Lab) -> None:
    planted = "a" + "1" * 32
    for before in (f"api_key={planted}", f"api_key={lab.people.ben.api_key}"):
        answer = await enter(lab, await token_for(lab, lab.people.ada), cookie=before)
        assert cookie_of(answer) != before
        assert (await who(lab, cookie_of(answer))).json()["user"]["user_name"] == "Ada"
    assert (await who(lab, f"api_key={planted}")).json()["code"] == "invalid_api_key"
    assert (await who(lab, f"api_key={lab.people.ben.api_key}")).json()["user"]["user_name"] == "Ben"
