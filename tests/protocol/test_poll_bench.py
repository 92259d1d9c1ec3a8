"""The poll bench over real HTTP: the real service breaks no rule, one with a careless tag is caught."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from service.bench.crowd import add_movies, add_people
from service.bench.histogram import Histogram
from service.bench.polls import Load, run
from service.bridge import Bridge
from service.local.emulator import Emulator
from service.runtime import open_runtime
from service.web import reading
from service.web.app import build_app
from tests.support.asgi_server import serving
from tests.support.lab import settings_for

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def load(emulator: Emulator) -> AsyncIterator[Load]:
    """Four pages on two movies, edited ten times a second, for half a second."""
    async with (
        open_runtime(settings_for(f"p{uuid.uuid4().hex[:12]}"), endpoint=emulator.endpoint) as runtime,
        serving(Bridge(build_app(runtime))) as port,
    ):
        viewers = await add_people(runtime.stores, 4)
        (editor,) = await add_people(runtime.stores, 1, may_edit=True)
        movies = await add_movies(runtime.stores, editor.user_id, 2, frames=2)
        pages = [(viewer.api_key, movies[n % 2]) for n, viewer in enumerate(viewers)]
        yield Load(f"http://127.0.0.1:{port}", pages, editor.api_key, seconds=0.5, ramp=0.1, edits=10)


async def test_pages_that_ask_again_at_once_see_every_edit(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    told = await run(load)
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith('{"event"')]
    assert [json.loads(line)["event"] for line in said] == ["measuring", "measured"]
    assert told["violations"] == []
    assert "200" in told["answers"]
    assert set(told["answers"]) <= {"200", "304"}
    assert told["edits"]["acknowledged"] >= 1
    assert Histogram.heard(told["took"]).count == sum(told["answers"].values())


async def test_pages_that_ask_by_a_schedule_ask_no_oftener(load: Load) -> None:
    query = "&frame_start=0&frame_count=300"
    told = await run(Load(load.url, load.pages, load.editor, 0.5, 0.1, rate=60.0, tags=False, query=query))
    assert told["violations"] == []
    assert set(told["answers"]) == {"200"}
    assert 10 <= told["answers"]["200"] <= 60, "about 30 of them, however long each takes"


async def test_a_tag_that_does_not_change_with_the_movie_is_caught(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "fingerprint", lambda *_: "always")
    told = await run(Load(load.url, load.pages, load.editor, 1.0, 0.1, edits=20, late_seconds=0.0))
    assert any("had been acknowledged" in sentence for sentence in told["violations"]), told
