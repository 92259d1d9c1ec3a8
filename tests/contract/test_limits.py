"""How often one may try, and that nobody at work is ever held up (A30, A31, C17)."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
import pytest_asyncio
from limits import parse_many
from limits.aio.storage import MemoryStorage

from service.bridge import Bridge
from service.local.emulator import Emulator
from service.usecases import registration
from service.web import limits
from service.web.app import build_app
from service.web.context import NAME
from tests.contract.test_pages import logged
from tests.support.service import ORIGIN, Lab, serving_lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

WRONG = "a" + "0" * 32
_hosts = itertools.count(1)


class Shared(MemoryStorage):
    """Stands for a storage that several machines share: every storage of this kind counts in one place."""

    STORAGE_SCHEME = ["async+sharedtest"]
    one: MemoryStorage | None = None

    def __new__(cls, *_: Any, **__: Any) -> Any:
        Shared.one = Shared.one or MemoryStorage()
        return Shared.one


FEW = 8
"""Instead of the 60 failures that are allowed a minute, so that a test need not make as many."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "ASKING_SECONDS", 0.0)


def fewer() -> tuple[limits.Rule, ...]:
    return tuple(replace(rule, often=rule.often.replace("60 per minute", f"{FEW} per minute")) for rule in limits.RULES)


class Doors:
    """The same service asked from different client addresses, which is what most limits go by."""

    def __init__(self, lab: Lab, rules: tuple[limits.Rule, ...] = limits.RULES) -> None:
        self.lab = lab
        usual, limits.RULES = limits.RULES, rules
        try:
            self._app = Bridge(build_app(lab.runtime))
        finally:
            limits.RULES = usual

    def from_(self, address: str | None = None) -> httpx.AsyncClient:
        """A client at this address, or at one that nobody had before."""
        host = address or f"198.51.100.{next(_hosts)}"
        return httpx.AsyncClient(transport=httpx.ASGITransport(self._app, client=(host, 5000)), base_url=ORIGIN)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def doors(lab: Lab) -> Doors:
    return Doors(lab, fewer())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def far(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Doors]:
    """Behind a trusted proxy, with a storage that others share."""
    settings = {"trusted_proxies": 1, "rate_limit_storage_url": "sharedtest://"}
    async with serving_lab(emulator.endpoint, tmp_path_factory.mktemp("far"), **settings) as running:
        yield Doors(running, fewer())


def assert_too_many(answer: httpx.Response) -> None:
    assert answer.status_code == 429, answer.text
    told = answer.json()
    assert (told["error"], told["code"]) == (True, "too_many")
    assert "Too many" in told["message"]
    assert 1 <= int(answer.headers["retry-after"]) <= 3600
    assert answer.headers["content-security-policy"]
    assert answer.headers["x-request-id"]


async def until_refused(ask: Any, most: int) -> int:
    """How many times it went through before it was refused for being asked too often."""
    for number in range(most + 1):
        answer = await ask()
        if answer.status_code == 429:
            assert_too_many(answer)
            return number
    raise AssertionError(f"{most + 1} tries and never refused")


async def test_one_address_gets_few_links_whoever_asks_and_wherever_from(doors: Doors) -> None:
    """However it is typed (A30), so that nobody's mailbox is filled, and another person is not held up by it."""
    spellings = itertools.cycle(["Bomb@School.example", " bomb@school.example", "BOMB@SCHOOL.EXAMPLE"])

    async def ask() -> httpx.Response:
        async with doors.from_() as client:
            return await client.post("/api/resend-link", data={"email": next(spellings)})

    assert await until_refused(ask, 10) == 3
    async with doors.from_() as client:
        assert (await client.post("/api/resend-link", data={"email": "other@school.example"})).status_code == 200


async def test_a_typing_error_is_nobodys_address_and_counts_for_nobody(doors: Doors) -> None:
    async with doors.from_() as client:
        for body in ({"email": "no address"}, {}, {"email": ["x"]}) * 3:
            assert (await client.post("/api/resend-link", json=body)).status_code == 400
        torn = await client.post("/api/resend-link", content=b"{", headers={"content-type": "application/json"})
        assert (torn.status_code, torn.json()["code"]) == (400, "malformed_body")


async def test_course_keys_cannot_be_guessed(doors: Doors) -> None:
    guesses = itertools.count()

    async with doors.from_() as client:

        async def guess() -> httpx.Response:
            number = next(guesses)
            fields = {"course_key": f"{number:010x}", "email": f"g{number}@school.example"}
            return await client.post("/api/register", data=fields)

        with logged() as lines:
            assert await until_refused(guess, 100) == FEW
    (line,) = [line for line in lines if line["event"] == "too_many_tries"]
    assert line["level"] == "warning"
    assert line["ipaddr"].startswith("198.51.100.")
    assert "school.example" not in json.dumps(lines)


async def test_sign_in_tokens_cannot_be_guessed_also_by_a_program_that_looks_like_a_browser(doors: Doors) -> None:
    for accept, refused in (("*/*", 403), ("text/html", 303)):
        async with doors.from_() as client:

            async def guess() -> httpx.Response:
                answer = await client.post(
                    "/signin",
                    data={"token": "guess"},
                    headers={"origin": ORIGIN, "accept": accept},  # noqa: B023
                )
                assert answer.status_code in (refused, 429)  # noqa: B023
                return answer

            assert await until_refused(guess, 100) == FEW


async def test_api_keys_cannot_be_guessed_and_a_valid_key_is_never_held_up(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line a try, without the key. Behind one address a whole class goes on working."""
    assert int(limits.WRONG_KEYS.split()[0]) >= 300, "a class whose keys have ended is no attack"
    monkeypatch.setattr(limits, "WRONG_KEYS", "20 per minute")
    doors, ada, movie_id = Doors(lab), lab.people.ada, await lab.movie()
    async with doors.from_() as client:

        async def guess() -> httpx.Response:
            return await client.get("/api/get-receipt", headers={"x-api-key": WRONG})

        with logged() as lines:
            answers = [answer.status_code for answer in await asyncio.gather(*(guess() for _ in range(30)))]
            assert (answers.count(403), answers.count(429)) == (20, 10)
            assert_too_many(await guess())
            for _ in range(3):
                poll = await client.get(
                    "/api/get-movie-metadata", params={"movie_id": movie_id}, headers={"x-api-key": ada.api_key}
                )
                assert poll.status_code == 200
            assert (await client.get("/api/get-receipt")).status_code == 403, "no key is no guess"
    events = [line["event"] for line in lines if line["event"] != "request"]
    assert (events.count("key_refused"), events.count("too_many_wrong_keys")) == (20, 11)
    assert WRONG not in json.dumps(lines)
    async with doors.from_() as elsewhere:
        assert (await elsewhere.get("/api/get-receipt", headers={"x-api-key": WRONG})).status_code == 403


async def test_a_page_at_work_is_never_counted(lab: Lab) -> None:
    app = build_app(lab.runtime)
    counted = app.extensions[NAME].attempts.storage.storage
    movie_id, lease_id = await lab.marked_movie()
    fields = {"movie_id": movie_id, "analysis_lease_id": lease_id}
    transport = httpx.ASGITransport(Bridge(app))
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=lab.people.ada.headers) as client:
        for path in ("/api/heartbeat-movie-analysis-lease", "/api/get-movie-metadata", "/api/check-api_key") * 3:
            assert (await client.post(path, data=fields)).status_code == 200
        assert sum(counted.values()) == 0
        await client.post("/signin", data={"token": "x"}, headers={"origin": ORIGIN})
        assert sum(counted.values()) == 2, "as a failure and as a try"


async def test_a_household_of_ipv6_is_one_and_ipv4_in_ipv6_is_ipv4(lab: Lab) -> None:
    app = build_app(lab.runtime)

    def network(address: str) -> str:
        with app.test_request_context(environ_base={"REMOTE_ADDR": address}):
            return limits.client_network()

    assert network("2001:db8::1") == network("2001:db8::ffff") != network("2001:db8:0:1::1")
    assert network("::ffff:203.0.113.5") == network("203.0.113.5") == "203.0.113.5"
    assert network("a unix socket") == "a unix socket"


async def failing_tries(client: httpx.AsyncClient, forwarded: list[str]) -> list[int]:
    """What one bad sign-in token too many gets, each sent with the next of these X-Forwarded-For."""
    headers = itertools.cycle([{"origin": ORIGIN, "x-forwarded-for": addresses} for addresses in forwarded])
    asked = [await client.post("/signin", data={"token": "x"}, headers=next(headers)) for _ in range(FEW + 1)]
    return [answer.status_code for answer in asked]


async def test_a_clients_own_word_for_its_address_counts_nothing(doors: Doors) -> None:
    async with doors.from_() as client:
        assert sorted(await failing_tries(client, [f"203.0.113.{n}" for n in range(FEW + 1)])) == [403] * FEW + [429]


async def test_behind_a_proxy_that_is_trusted_its_word_counts(far: Doors) -> None:
    """What it added itself, that is, and not what the client sent it."""
    async with far.from_() as client:
        assert set(await failing_tries(client, [f"203.0.113.{n}" for n in range(3)])) == {403}
        same = [f"203.0.113.{n}, 203.0.113.200" for n in range(FEW + 1)]
        assert sorted(await failing_tries(client, same)) == [403] * FEW + [429]
    made = await far.lab.http.post(
        "/api/admin/courses",
        data={"course_id": "proxied"},
        headers={**far.lab.people.root.headers, "x-forwarded-for": "192.0.2.1, 203.0.113.77"},
    )
    assert made.status_code == 201
    (event,) = [event async for event in far.lab.runtime.stores.audit.of("course_id", "proxied")]
    assert event["ipaddr"] == "203.0.113.77"


async def test_several_machines_count_together_where_a_storage_is_shared(far: Doors) -> None:
    async with far.from_() as one, Doors(far.lab, fewer()).from_() as other:
        asked = [
            await client.post("/api/resend-link", data={"email": "shared@school.example"})
            for client in (one, other, other, one)
        ]
    assert [answer.status_code for answer in asked] == [200, 200, 200, 429]


async def test_a_shared_storage_that_fails_lets_people_in_and_each_machine_counts_for_itself(
    far: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any, **__: Any) -> int:
        raise ConnectionError

    for name in ("incr", "get", "get_expiry"):
        monkeypatch.setattr(Shared.one, name, gone)
    async with Doors(far.lab).from_() as client:
        wrong = await client.get("/api/get-receipt", headers={"x-api-key": WRONG})
        assert wrong.status_code == 403
        asked = [await client.post("/api/resend-link", data={"email": "down@school.example"}) for _ in range(4)]
    assert [answer.status_code for answer in asked] == [200, 200, 200, 429]


async def test_every_rule_is_over_a_view_that_exists_and_lets_a_lecture_hall_in(lab: Lab) -> None:
    for rule in limits.RULES:
        if rule.per is limits.client_network and not rule.failures:
            assert parse_many(rule.often)[0].amount >= (20 if "bulk" in rule.endpoint else 120)
    assert [rule.often for rule in limits.RULES if rule.failures] == ["60 per minute", "60 per minute; 300 per hour"]
    assert {rule.endpoint for rule in limits.RULES} <= set(build_app(lab.runtime).view_functions)
