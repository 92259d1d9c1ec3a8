"""The lease bench over real HTTP: nothing is found in the real store, the bug in one without its condition is."""

from __future__ import annotations

import uuid

import pytest

from service.bench.history import violations
from service.bench.leases import Contest, contend, finals, prepare
from service.bridge import Bridge
from service.local.emulator import Emulator
from service.runtime import open_runtime
from service.store import conditions
from service.store.expressions import Condition
from service.web.app import build_app
from tests.support.asgi_server import serving
from tests.support.lab import settings_for


async def contest_of(emulator: Emulator, seconds: float) -> tuple[Contest, list[str]]:
    settings = settings_for(f"b{uuid.uuid4().hex[:12]}", lease_seconds=3, heartbeat_seconds=1)
    async with (
        open_runtime(settings, endpoint=emulator.endpoint) as runtime,
        serving(Bridge(build_app(runtime))) as port,
    ):
        contest = await prepare(runtime.stores, clients=16, movies=2)
        await contend(f"http://127.0.0.1:{port}", contest, seconds)
        return contest, violations(contest.history, await finals(runtime.stores, contest.movies))


async def test_the_real_store_breaks_no_invariant_under_contention(emulator: Emulator) -> None:
    contest, broken = await contest_of(emulator, 6)
    assert broken == []
    done = {(operation.kind, operation.accepted) for operation in contest.history}
    assert {("acquire", True), ("acquire", False), ("write", True), ("release", True)} <= done
    assert contest.errors == []


async def test_a_store_without_the_condition_of_a_grant_is_caught(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def always(_: int) -> Condition:
        return conditions.movie_exists()

    monkeypatch.setattr(conditions, "no_live_analysis_lease", always)
    _, broken = await contest_of(emulator, 4)
    assert any("held it together" in sentence for sentence in broken), broken
