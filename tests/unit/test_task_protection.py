"""What a worker asks of the agent of ECS while it works, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from service.worker.protection import Protection


class Agent:
    """Notes what it is told; refuses as often as `refusals` says."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.refusals = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.told.put_nowait(await request.json())
        if self.refusals:
            self.refusals -= 1
            return web.json_response({"failure": {"Reason": "TASK_NOT_VALID"}}, status=400)
        return web.json_response({"protection": {}})


@asynccontextmanager
async def protected(agent: Agent, **changed: Any) -> AsyncIterator[Protection]:
    app = web.Application()
    app.router.add_put("/api/task-protection/v1/state", agent.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    protection = Protection(f"http://127.0.0.1:{port}/api", **{"seconds": 3600, "retry_seconds": 0.01, **changed})
    keeping = asyncio.create_task(protection.keep())
    try:
        yield protection
    finally:
        keeping.cancel()
        await runner.cleanup()


@pytest.fixture
def agent() -> Agent:
    return Agent()


async def told(agent: Agent) -> Any:
    return await asyncio.wait_for(agent.told.get(), 10)


ON, OFF = {"ProtectionEnabled": True, "ExpiresInMinutes": 122}, {"ProtectionEnabled": False}


async def test_a_task_is_protected_from_its_first_job_to_the_end_of_its_last(agent: Agent) -> None:
    async with protected(agent) as protection:
        with protection.at_work():
            assert await told(agent) == ON
            with protection.at_work():
                pass
        assert await told(agent) == OFF
        with protection.at_work():
            assert await told(agent) == ON


async def test_a_refusal_is_repeated_while_a_job_is_at_work(agent: Agent) -> None:
    agent.refusals = 2
    async with protected(agent) as protection:
        with protection.at_work():
            assert [await told(agent) for _ in range(3)] == [ON] * 3
        assert await told(agent) == OFF


async def test_a_task_that_is_never_idle_is_protected_anew_before_its_time_is_over(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with protected(agent) as protection:
        monkeypatch.setattr(protection, "_minutes", 0.001)
        with protection.at_work():
            assert [(await told(agent))["ProtectionEnabled"] for _ in range(3)] == [True] * 3


async def test_elsewhere_than_on_ecs_nobody_is_asked() -> None:
    protection = Protection(None, 3600)
    with protection.at_work():
        await asyncio.wait_for(protection.keep(), 10)
