"""The real service: started by its own lifespan, mounted in a lab's FastAPI application, alone on its folder."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import fastapi
import httpx
import pytest

import service.asgi
from service.local.datadir import DataDirInUse
from service.local.emulator import Emulator
from service.settings import Settings
from service.usecases.people import add_course, add_user
from tests.support.asgi_server import serving


def settings(folder: Path, workers: int = 0) -> Settings:
    return Settings(
        _env_file=None, data=folder, workers=workers, grace_seconds=0, table_prefix="mount-", bucket="mount-movies"
    )


async def test_a_lab_mounts_the_service_and_a_person_signs_in_below_the_prefix(
    emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIPTRACE_DATA", str(emulator.data_dir))
    monkeypatch.setenv("TIPTRACE_TABLE_PREFIX", "mounted-")
    monkeypatch.setenv("TIPTRACE_BUCKET", "mounted-movies")
    monkeypatch.setenv("TIPTRACE_WORKERS", "0")
    monkeypatch.setattr(service.asgi, "_app", None)
    opened = []

    @asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        async with service.asgi.runtime() as runtime:
            opened.append(runtime)
            yield

    host = fastapi.FastAPI(lifespan=lifespan)
    host.mount("/lab", service.asgi.app)
    async with serving(host, lifespan="on") as port:
        base = f"http://127.0.0.1:{port}"
        (runtime,) = opened
        await add_course(runtime.stores, "bio", "Bio 101")
        ada = await add_user(runtime.stores, "ada@school.test", "Ada", "bio")
        async with httpx.AsyncClient(base_url=base, headers={"origin": base}) as browser:
            page = await browser.get("/lab/")
            assert (await browser.get("/lab/static/js/api.js")).status_code == 200
            assert page.status_code == 200
            (script,) = re.findall(r'src="(static/[^"]+/movies.js)"', page.text)
            assert (await browser.get(f"/lab/{script}")).status_code == 200
            bare = await browser.get("/lab")
            assert (bare.status_code, bare.headers["location"].endswith("/lab/")) == (bare.status_code, True)
            assert bare.is_redirect
            link = await service.asgi.sign_in_link(runtime, ada.user_id, f"{base}/lab")
            answer = await browser.post("/lab/signin", data={"token": link.partition("token=")[2]})
            assert (answer.status_code, answer.headers["location"]) == (303, "/lab/")
            assert "path=/lab/;" in answer.headers["set-cookie"].lower() + ";"
            assert (await browser.post("/lab/api/check-api_key")).json()["user"]["user_name"] == "Ada"
            assert (await browser.get("/api/ver")).status_code == 404
            large = await browser.post("/lab/api/check-api_key", content=b"x" * (service.asgi.MAX_BODY_BYTES + 1))
            assert large.status_code == 413
            told = (await browser.get("/lab/metrics")).text
            assert 'tiptrace_http_requests_total{route="(none)",status="413"}' in told


@pytest.mark.parametrize("mounted", [False, True])
async def test_two_requests_in_turn_and_fifty_at_once_share_the_clients_of_one_loop_c20(
    emulator: Emulator, mounted: bool
) -> None:
    """Through a real server, alone and inside a host's application; each of these requests writes to the database."""
    app = service.asgi.create_app(settings(emulator.data_dir), emulator="found")

    @asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        async with app.lifespan():
            yield

    host: Any = app
    if mounted:
        host = fastapi.FastAPI(lifespan=lifespan)
        host.mount("/lab", app)
    async with serving(host, lifespan="on") as port:
        stores = app.runtime.stores
        await add_course(stores, "bio", "Bio 101")
        ada = await add_user(stores, f"ada-{mounted}@school.test", "Ada", "bio")
        base = f"http://127.0.0.1:{port}{'/lab' if mounted else ''}"
        async with httpx.AsyncClient(base_url=base, headers={"x-api-key": ada.api_key}) as client:

            async def named(name: str) -> int:
                fields = {"set_user_id": ada.user_id, "property": "user_name", "value": name}
                return (await client.post("/api/set-metadata", data=fields)).status_code

            assert [await named("first"), await named("second")] == [200, 200]
            assert await asyncio.gather(*(named(f"name {n}") for n in range(50))) == [200] * 50


async def test_two_services_do_not_share_a_folder_but_server_processes_do(tmp_path: Path) -> None:
    first = service.asgi.create_app(settings(tmp_path))
    async with first.lifespan():
        with pytest.raises(DataDirInUse):
            async with service.asgi.create_app(settings(tmp_path)).lifespan():
                pass
        async with service.asgi.create_app(settings(tmp_path), emulator="found").lifespan() as joined:
            assert joined.endpoint == first.runtime.endpoint
    with pytest.raises(RuntimeError):
        _ = first.runtime


async def test_before_start_up_and_after_shutdown_the_answer_is_503(emulator: Emulator) -> None:
    app = service.asgi.create_app(settings(emulator.data_dir), emulator="found")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lab.test") as client:
        before = await client.get("/api/ver")
        async with app.lifespan():
            during = await client.get("/api/ver")
        after = await client.get("/api/ver")
    assert (before.status_code, during.status_code, after.status_code) == (503, 200, 503)
    assert before.json()["error"] is True
    assert int(before.headers["retry-after"]) > 0


async def test_a_service_with_workers_starts_and_stops(emulator: Emulator, capfd: pytest.CaptureFixture[str]) -> None:
    """Its workers count where its own answers are counted, and with TIPTRACE_EMF its log tells the same."""
    told = settings(emulator.data_dir, workers=1).model_copy(update={"emf": True})
    app, sweeps = service.asgi.create_app(told, emulator="found"), 'tiptrace_sweeps_total{action="pass"}'
    async with app.lifespan() as runtime:
        assert await runtime.health() == {"database": True, "storage": True, "queue": True}
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lab.test") as client:
            async with asyncio.timeout(10):
                while sweeps not in (text := (await client.get("/metrics")).text):
                    pass
    assert "tiptrace_clock_skew_seconds" in text
    (line,) = [line for line in capfd.readouterr().err.splitlines() if '"event": "metrics"' in line]
    assert json.loads(line)["service"] == "web"
    assert json.loads(line)["sweeps_pass"] >= 1


async def test_slots_follow_the_settings_then_the_backend() -> None:
    slots = service.asgi.worker_slots
    assert slots(Settings(_env_file=None, workers=3)) == 3
    assert slots(Settings(_env_file=None)) == service.asgi.cores() >= 1
    assert slots(Settings(_env_file=None, backend="aws")) == 0
