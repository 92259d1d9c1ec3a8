"""Whatever is raised, wherever: no row, no event and no answer tells a secret; the log tells the whole story.

Every exception carries a presigned link, an access key, an API key, a path and a traceback in its text.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import structlog
from botocore.exceptions import BotoCoreError, EndpointConnectionError

from service import logs
from service.domain.access import Actor
from service.domain.errors import Unavailable
from service.domain.failures import SENTENCES
from service.domain.job import Output, TraceTask
from service.local.emulator import Emulator
from service.store.schema import TABLES
from service.store.stores import Stores
from service.usecases.sweep import sweep
from service.worker import engine_child
from service.worker.delivery import handle
from tests.support import explosions
from tests.support.engines import ScriptedEngine
from tests.support.explosions import MARKS, ExplodingClient, a_few_errors, every_error
from tests.support.lab import Lab, open_lab
from tests.support.messages import next_message
from tests.support.service import Lab as Service
from tests.support.service import serving_lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

Lines = Callable[[], list[dict[str, Any]]]
STORE_CALLS = (
    ("database", ("get_item",)),
    ("database", ("update_item",)),
    ("database", ("transact_write_items",)),
    ("database", ("query",)),
    ("objects", ("get_object",)),
    ("objects", ("put_object",)),
    ("objects", ("delete_object", "list_objects_v2")),
    ("queue", ("send_message", "delete_message")),
)
HARD: tuple[Exception, ...] = (
    explosions.refusal("AccessDeniedException"),
    explosions.made(KeyError),
    explosions.made(EndpointConnectionError),
    explosions.refusal("InternalServerError"),
)
"""One of each way in which the store treats what clients raise: each is tried at every call."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lab(emulator: Emulator) -> AsyncIterator[Lab]:
    async with open_lab(emulator.endpoint) as opened:
        opened.stores.database.first_pause = opened.stores.objects.first_pause = opened.stores.queue.first_pause = 0
        yield opened


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def owner(lab: Lab) -> AsyncIterator[Actor]:
    yield await lab.person("Owner")


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The log as an operator reads it: JSON lines. Whatever logged before is put back afterwards."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level, former = root.handlers[:], root.level, structlog.get_config()
    logs.configure("info", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    structlog.configure(**former)
    root.handlers[:] = handlers
    root.setLevel(level)


class ExplodingEngine(ScriptedEngine):
    """Raises `error` before its first chunk, or after it."""

    def __init__(self, error: Exception, *, late: bool) -> None:
        super().__init__()
        self.error, self.late = error, late

    async def trace(self, task: TraceTask, stop: asyncio.Event) -> AsyncGenerator[Output]:
        async for output in super().trace(task, stop):
            if self.late:
                yield output
            raise self.error


async def _traced_by(lab: Lab, owner: Actor, movie_id: str, key: str, stores: Stores, engine: Any) -> tuple[str, str]:
    """Submit, have one worker handle it; its job and what became of the message."""
    submitted = await lab.submit(owner, movie_id, key=key)
    delivery = await next_message(lab.stores.queue, 1)
    assert delivery
    try:
        outcome = await handle(stores, delivery, engine, asyncio.Event(), "veryfast")
    except Unavailable:
        outcome = "left in the queue"
        await lab.stores.queue.delete(delivery)
    return submitted.receipt.job_id, outcome


async def _end(lab: Lab, movie_id: str) -> None:
    """Sweep until nothing is left of a job that was handed back or abandoned."""
    for _ in range(12):
        while (delivery := await next_message(lab.stores.queue)) is not None:
            await handle(lab.stores, delivery, ScriptedEngine(), asyncio.Event(), "veryfast")  # type: ignore[arg-type]
        row = (await lab.movie(movie_id)).row
        if "trace_job_id" not in row:
            return
        lab.clock.advance(max(0, row["sweep_due_at"] - lab.clock.now()))
        await sweep(lab.stores)
    raise AssertionError("the job never ended")


async def _no_secret_is_stored(stores: Stores) -> None:
    """In any item of any table."""
    for table in TABLES:
        if table.name == "api_keys":
            continue
        async for item in stores.database.scan(table.name):
            text = json.dumps(item, default=str)
            assert not [mark for mark in MARKS if mark in text], (table.name, text)


def _tells(lines: list[dict[str, Any]], job_id: str, kind: str) -> bool:
    """Is there one line with the job's id, the traceback and the exception's name?"""
    return any(
        line.get("job_id") == job_id and "Traceback" in line.get("exception", "") and kind in line["exception"]
        for line in lines
    )


async def _every_engine_failure_is_told_safely(lab: Lab, owner: Actor, lines: Lines, errors: list[Exception]) -> None:
    movie_id = await lab.ready_movie(owner)
    for number, error in enumerate(errors):
        kind = type(error).__name__
        engine = ExplodingEngine(error, late=bool(number % 2))
        before = len(lines())
        job_id, outcome = await _traced_by(lab, owner, movie_id, f"engine-{number}", lab.stores, engine)
        row = (await lab.movie(movie_id)).row
        if isinstance(error, Unavailable):
            assert outcome == "handed back", kind
        else:
            assert outcome == "failed", kind
            assert (row["failure_code"], row["tracing_failure_summary"]) == ("internal", SENTENCES["internal"]), kind
        assert _tells(lines()[before:], job_id, kind), (kind, lines()[before:])
        await _end(lab, movie_id)
    await _no_secret_is_stored(lab.stores)
    log = json.dumps(lines())
    assert "5ec2e7f00d" not in log  # what signs a link is not even an operator's business
    assert "/srv/hidden/place" in log


async def test_whatever_an_engine_raises_is_told_in_the_closed_lists_words(
    lab: Lab, owner: Actor, lines: Lines
) -> None:
    await _every_engine_failure_is_told_safely(lab, owner, lines, a_few_errors())


@pytest.mark.long
async def test_every_exception_class_of_the_stack_is_told_in_the_closed_lists_words(
    lab: Lab, owner: Actor, lines: Lines
) -> None:
    await _every_engine_failure_is_told_safely(lab, owner, lines, every_error())


@pytest.mark.parametrize(("part", "calls"), STORE_CALLS, ids=[f"{p}-{c[0]}" for p, c in STORE_CALLS])
async def test_whatever_a_store_call_raises_the_job_ends_and_tells_no_secret(
    lab: Lab, owner: Actor, lines: Lines, part: str, calls: tuple[str, ...]
) -> None:
    """Once, so that the job can still say how it ended, and at every call, so that it cannot (I11)."""
    movie_id = await lab.ready_movie(owner)
    for number, error in enumerate(HARD):
        store = getattr(lab.stores, part)
        for once in (True, False):
            if not once and number > 1:
                continue
            submitted = await lab.submit(owner, movie_id, key=f"{part}-{calls[0]}-{number}-{once}")
            delivery = await next_message(lab.stores.queue, 1)
            assert delivery
            before = len(lines())
            whole, store.client = store.client, ExplodingClient(store.client, error, calls, once=once)
            try:
                working = handle(lab.stores, delivery, ScriptedEngine(), asyncio.Event(), "veryfast")  # type: ignore[arg-type]
                if once:
                    outcome = await working
                else:
                    outcome = await _until_the_lease_is_over(lab, working, store.client)
            except Unavailable:
                outcome = "left in the queue"
            finally:
                exploding, store.client = store.client, whole
            assert exploding.exploded
            if outcome in ("failed", "abandoned"):
                assert _tells(lines()[before:], submitted.receipt.job_id, type(error).__name__), (error, outcome)
            await lab.stores.queue.delete(delivery)
            await _end(lab, movie_id)
    await _no_secret_is_stored(lab.stores)


async def _until_the_lease_is_over(lab: Lab, working: Any, client: ExplodingClient) -> str:
    """A worker that keeps trying is given up on when its lease runs out."""
    task = asyncio.ensure_future(working)
    exploded = asyncio.ensure_future(client.exploding.wait())
    await asyncio.wait([task, exploded], return_when=asyncio.FIRST_COMPLETED)
    exploded.cancel()
    await asyncio.wait([task], timeout=0.05)
    if not task.done():
        lab.clock.advance(901)
    outcome: str = await task
    return outcome


class _Pipe:
    """What a child's end of the pipe is asked to do."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, record: Any) -> None:
        self.sent.append(record)


async def test_whatever_the_tracer_raises_leaves_its_process_as_a_code_numbers_and_a_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task = TraceTask(tmp_path / "m", tmp_path, 0, 1, 1, 0, 1, ())
    for error in every_error():

        def explode(*_: Any, raised: Exception = error) -> None:
            raise raised

        pipe = _Pipe()
        monkeypatch.setattr(engine_child._Wires, "pipe", pipe, raising=False)
        monkeypatch.setattr(engine_child, "_trace", explode)
        engine_child.perform(task)
        failed = pipe.sent[-1]
        assert isinstance(failed, engine_child.Failed)
        assert failed.code in SENTENCES
        assert all(isinstance(number, int) for number in failed.numbers.values())
        if failed.code == "internal":
            assert type(error).__name__ in failed.traceback


@pytest.fixture
def routes() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        ("GET", "/api/get-movie-metadata", {}),
        ("POST", "/api/list-movies", {}),
        ("POST", "/api/acquire-movie-analysis-lease", {}),
        ("POST", "/api/heartbeat-movie-analysis-lease", {"analysis_lease_id": "0" * 32}),
        ("POST", "/api/release-movie-analysis-lease", {"analysis_lease_id": "0" * 32}),
        ("POST", "/api/set-metadata", {"property": "title", "value": "Pea"}),
        ("POST", "/resize-api/v1/trace-movie", {}),
        ("POST", "/resize-api/v1/cancel-trace", {}),
    ]


async def test_no_answer_tells_what_a_store_call_raised_c07(
    emulator: Emulator, tmp_path: Path, lines: Lines, routes: list[tuple[str, str, dict[str, Any]]]
) -> None:
    """Unreachable is 503 and worth repeating; the unforeseen is 500; neither says more than that."""
    async with serving_lab(emulator.endpoint, tmp_path) as service:
        service.http.event_hooks = {}  # no description promises the 500 that is planted here
        service.runtime.stores.database.first_pause = 0
        movie_id = await service.movie()
        database = service.runtime.stores.database
        for error in HARD:
            whole = database.client
            for method, path, fields in routes:
                calls = ("get_item", "batch_get_item", "update_item", "transact_write_items", "query", "put_item")
                database.client = ExplodingClient(whole, error, calls, once=False)
                before = len(lines())
                try:
                    answer = await _asked(service, method, path, {"movie_id": movie_id, **fields})
                finally:
                    database.client = whole
                expected = (503,) if isinstance(error, BotoCoreError | OSError) else (500, 503)
                assert answer.status_code in expected, (path, error, answer.text)
                assert answer.json()["error"] is True
                shown = answer.text + str(answer.headers)
                assert not [mark for mark in MARKS if mark in shown], (path, error, shown)
                assert "Traceback" not in shown
                if answer.status_code == 500:
                    assert any("line 4711" in line.get("exception", "") for line in lines()[before:]), (path, error)
        await _no_secret_is_stored(service.runtime.stores)


async def _asked(service: Service, method: str, path: str, fields: dict[str, Any]) -> Any:
    if method == "GET":
        return await service.get(path, service.people.ada, **fields)
    return await service.post(path, service.people.ada, **fields)
