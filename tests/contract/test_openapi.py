"""The description of the routes is complete, true, and shown by a host beside its own; and no value breaks a route."""

from __future__ import annotations

import inspect
import json

import fastapi
import httpx
import pytest

from service.web.app import bare_app
from service.web.openapi import TAKES, document, merged

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_view_is_described_with_the_parameters_that_it_parses() -> None:
    app = bare_app()
    for endpoint, view in app.view_functions.items():
        source = inspect.getsource(view)
        takes = TAKES.get(endpoint)
        assert (f"parsed({takes.__name__})" in source) if takes else ("parsed(" not in source), endpoint


async def test_the_document_names_every_route_and_what_it_requires() -> None:
    told = document()
    paths = told["paths"]
    assert len(paths) == len({rule.rule for rule in bare_app().url_map.iter_rules()})
    trace = paths["/resize-api/v1/trace-movie"]["post"]
    body = trace["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["movie_id"]
    assert body["properties"]["movie_id"] == {"type": "string", "pattern": "^m[0-9a-f-]{36}$", "title": "Movie Id"}
    assert trace["security"] == [{"TiptraceKey": []}]
    assert "security" not in paths["/healthz"]["get"]
    frame = {p["name"]: p["required"] for p in paths["/resize-api/v1/frame"]["get"]["parameters"]}
    assert frame == {"movie_id": True, "course_id": False, "frame_number": True}
    names = [operation["operationId"] for operations in paths.values() for operation in operations.values()]
    assert len(names) == len(set(names))
    assert json.loads(json.dumps(told)) == told


async def test_a_hosts_documentation_shows_our_routes_beside_its_own() -> None:
    host = fastapi.FastAPI()

    @host.get("/own")
    async def own() -> dict[str, str]:
        return {}

    theirs = host.openapi
    host.openapi = lambda: merged(theirs(), "/lab")  # type: ignore[method-assign]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url="http://host.test") as client:
        told = (await client.get("/openapi.json")).json()
        docs = await client.get("/docs")
    assert {"/own", "/lab/api/list-movies", "/lab/resize-api/v1/trace-movie"} <= set(told["paths"])
    assert told["info"]["title"] == "FastAPI"
    assert "TiptraceRefusal" in told["components"]["schemas"]
    assert docs.status_code == 200
