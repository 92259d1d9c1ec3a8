"""Many pages at once while the database is slow or throttles: each gets an answer, and its lease in the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from service.bench.crowd import add_movies, add_people
from service.bench.session import Answer, Session
from service.bridge import Bridge
from service.runtime import open_runtime
from service.web.app import build_app
from tests.support.asgi_server import serving
from tests.support.fault_lab import FaultLab
from tests.support.fault_proxy import Fault, FaultProxy

pytestmark = pytest.mark.asyncio(loop_scope="module")

ACQUIRE = "/api/acquire-movie-analysis-lease"
PEOPLE = 4


@dataclass
class Slow:
    """A service whose database lies behind the proxy, and the keys of people who may edit everything."""

    faulty: FaultLab
    url: str
    keys: list[str]
    owner: str

    @property
    def proxy(self) -> FaultProxy:
        return self.faulty.proxy

    async def movies(self, count: int) -> list[str]:
        return await add_movies(self.faulty.lab.stores, self.owner, count)

    def session(self, number: int = 0) -> Session:
        return Session(self.url, self.keys[number % PEOPLE])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def slow(faulty: FaultLab) -> AsyncIterator[Slow]:
    people = await add_people(faulty.lab.stores, PEOPLE, may_edit=True)
    settings = faulty.lab.runtime.settings
    async with open_runtime(settings, endpoint=faulty.proxy.endpoint, clock=faulty.clock) as runtime:
        runtime.stores.database.first_pause = 0.001
        async with serving(Bridge(build_app(runtime))) as port:
            keys = [person.api_key for person in people]
            yield Slow(faulty, f"http://127.0.0.1:{port}", keys, people[0].user_id)


async def until_granted(session: Session, movie: str) -> list[Answer]:
    """Ask as a page does, waiting as long as it is told to, until the lease is there; every answer."""
    answers = []
    while True:
        answer = await session.post(ACQUIRE, movie_id=movie, lease_request_key=movie)
        answers.append(answer)
        if answer.told.get("lease_id"):
            session.close()
            return answers
        assert answer.status == 503, answer
        assert answer.rest > 0, "it says when to come back"
        await asyncio.sleep(answer.rest)


async def all_granted(slow: Slow, count: int) -> list[list[Answer]]:
    movies = await slow.movies(count)
    return await asyncio.gather(*(until_granted(slow.session(n), movie) for n, movie in enumerate(movies)))


@pytest.mark.parametrize(("count", "delay"), [(40, 0.02), pytest.param(300, 0.2, marks=pytest.mark.long)])
async def test_pages_that_ask_at_once_all_get_their_lease_from_a_slow_database(
    slow: Slow, count: int, delay: float
) -> None:
    with slow.proxy.fault("dynamodb:*", Fault.PASS, delay=delay) as plan:
        began = time.monotonic()
        answers = await all_granted(slow, count)
        took = time.monotonic() - began
    assert len(answers) == count
    assert len(plan.hits) > count, "a write of each and a few shared reads went through the slow database"
    waits = sorted(one.end - one.start for all_of_page in answers for one in all_of_page)
    refused = sum(len(all_of_page) - 1 for all_of_page in answers)
    print(
        f"{count} pages, {delay * 1000:.0f} ms: all in {took:.1f} s, longest answer {waits[-1]:.2f} s, 503: {refused}"
    )


@pytest.mark.parametrize("fault", [Fault.THROTTLED_BEFORE, Fault.LIMITED_BEFORE])
async def test_a_throttled_database_is_told_as_503_with_when_to_come_back(slow: Slow, fault: Fault) -> None:
    (movie,) = await slow.movies(1)
    session = slow.session()
    read = f"/api/get-movie-metadata?movie_id={movie}"
    assert (await session.get(read)).status == 200
    with slow.proxy.fault("dynamodb:*", fault) as plan:
        for answer in (await session.get(read), await session.post(ACQUIRE, movie_id=movie)):
            assert answer.fault == "503 store_unavailable"
            assert answer.rest >= 1
    assert plan.hits
    assert (await session.get(read)).status == 200
    assert (await session.post(ACQUIRE, movie_id=movie)).told["lease_id"]
    session.close()


@pytest.mark.long
async def test_pages_that_were_throttled_get_their_lease_when_it_is_over(slow: Slow) -> None:
    """Every second request is throttled for a while: repetitions get most pages through, and the rest come again."""
    with slow.proxy.fault("dynamodb:*", Fault.THROTTLED_BEFORE, every=2, times=60) as plan:
        answers = await all_granted(slow, 20)
    assert len(plan.hits) > 10
    leases = {all_of_page[-1].told["lease_id"] for all_of_page in answers}
    assert len(leases) == 20
