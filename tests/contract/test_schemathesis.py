"""Requests made up from the OpenAPI document: nothing answers 500, nothing answers what is not described.

The default run asks every operation a few times, always the same way; `pytest -m long` asks many times. A request that
is made up from a schema alone rarely finds a movie, so that some of its fields get values that exist.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.asgi import MAX_BODY_BYTES
from service.bridge import Bridge
from service.local.emulator import Emulator
from service.store.schema import MOVIES
from service.store.table import Put
from service.web.app import build_app
from service.web.openapi import document
from tests.support.asgi_server import serving
from tests.support.service import Lab, serving_lab

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
MANY = 200
FEW = 2


@dataclass
class Asked:
    """A service that runs in a thread of its own, and what exists in it."""

    address: str
    keys: list[str]
    known: dict[str, list[Any]]


@contextmanager
def asked_service(endpoint: str, folder: Path) -> Iterator[Asked]:
    ready: queue.Queue[Asked | BaseException] = queue.Queue()
    leave: Future[asyncio.Event] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(endpoint, folder, ready, leave)))
    thread.start()
    try:
        found = ready.get(timeout=60)
        if isinstance(found, BaseException):
            raise found
        yield found
    finally:
        loop, stop = leave.result(timeout=60)
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)


async def _serve(endpoint: str, folder: Path, ready: queue.Queue[Any], leave: Future[Any]) -> None:
    stop = asyncio.Event()
    leave.set_result((asyncio.get_running_loop(), stop))
    try:
        async with serving_lab(endpoint, folder) as lab:
            bridge = Bridge(build_app(lab.runtime), max_body_bytes=MAX_BODY_BYTES)
            async with serving(bridge) as port:
                ready.put(await _furnished(lab, f"http://127.0.0.1:{port}"))
                await stop.wait()
    except BaseException as error:
        ready.put(error)
        raise


async def _furnished(lab: Lab, address: str) -> Asked:
    movie_id, lease_id = await lab.marked_movie()
    other = await lab.movie(lab.people.eve)
    pictured = await lab.movie(published=True)
    urn = await lab.archive(pictured, {0: b"jpeg"})
    stores = lab.runtime.stores
    row = await lab.row(pictured)
    await stores.database.write(Put(MOVIES, {**row, "movie_zipfile_urn": urn, "status": "tracing completed"}))
    people = lab.people
    course = await stores.people.course("bio")
    return Asked(
        address,
        [people.ada.api_key, people.root.api_key, people.teacher.api_key],
        {
            "movie_id": [movie_id, movie_id, other, pictured],
            "set_movie_id": [movie_id, pictured],
            "set_user_id": [people.ada.user_id],
            "analysis_lease_id": [lease_id, None],
            "request_key": ["one", None],
            "course_id": ["bio", None],
            "course_key": [course["course_key"]],
            "user": [people.ben.user_id, "eve@school.test"],
            "frame_number": [0],
            "property": ["title", "published", "user_name"],
            "old_label": ["Apex"],
        },
    )


@pytest.fixture(scope="module")
def asked(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with asked_service(emulator.endpoint, tmp_path_factory.mktemp("asked")) as running:
        yield running


SCHEMA = schemathesis.openapi.from_dict(document())
OPERATIONS = {one.ok().label: one.ok() for one in SCHEMA.get_all_operations()}


def ask(asked: Asked, operation: Any, examples: int) -> None:
    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=QUIET,
    )  # fmt: skip
    @given(st.data())
    def once(data: st.DataObject) -> None:
        mode = data.draw(st.sampled_from([GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE]))
        if mode is GenerationMode.NEGATIVE and not (operation.query or operation.body):
            mode = GenerationMode.POSITIVE
        case = data.draw(operation.as_strategy(generation_mode=mode))
        _fill(case, data, asked.known)
        headers = {"x-api-key": data.draw(st.sampled_from(asked.keys)), "sec-fetch-site": "same-origin"}
        answer = case.call(base_url=asked.address, headers=headers, allow_redirects=False, timeout=30)
        case.validate_response(answer, checks=CHECKS)

    once()


def _fill(case: Any, data: st.DataObject, known: dict[str, list[Any]]) -> None:
    """Put what exists into most of the fields that name something."""
    for name in [name for name in case.path_parameters or {} if name in known]:
        case.path_parameters[name] = data.draw(st.sampled_from([one for one in known[name] if one is not None]))
    for place in (case.query, case.body):
        if isinstance(place, dict):
            for name in [name for name in place if name in known]:
                value = data.draw(st.sampled_from([*known[name], place[name]]))
                if value is None:
                    del place[name]
                else:
                    place[name] = value


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_made_up_request_gets_an_answer_that_is_not_described(asked: Asked, label: str) -> None:
    ask(asked, OPERATIONS[label], FEW)


@pytest.mark.long
@pytest.mark.parametrize("label", OPERATIONS)
def test_many_made_up_requests_get_no_answer_that_is_not_described(asked: Asked, label: str) -> None:
    ask(asked, OPERATIONS[label], MANY)
