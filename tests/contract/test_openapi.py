"""The description of the routes is complete, true, and shown by a host beside its own; and no value breaks a route."""

from __future__ import annotations

import inspect
import json
import random
from typing import Any

import fastapi
import httpx
import pytest

from service.web.app import bare_app
from service.web.openapi import TAKES, document, merged
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

NASTY: list[Any] = [
    None, "", " ", "0", 0, -1, 1, 1.5, 2**31, 2**53, -(2**53), True, "NaN", "1e309", "\x00", "\ud7ff", "é" * 300,
    "=1+1", "' OR 1=1", "../../etc/passwd", "<script>", [], {}, [None], [[]], {"a": {}}, "x" * 20_000, "{}", "[]",
]  # fmt: skip


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


@pytest.mark.parametrize("endpoint", sorted(TAKES))
async def test_no_value_of_any_parameter_breaks_a_route(lab: Lab, marked: tuple[str, str], endpoint: str) -> None:
    chance = random.Random(endpoint)  # the same values on every run
    movie_id, _ = marked
    takes = TAKES[endpoint]
    (rule,) = [rule for rule in bare_app().url_map.iter_rules() if rule.endpoint == endpoint]
    good = {"movie_id": movie_id, "analysis_lease_id": "0" * 32, "request_key": "k", "frame_number": 0, "rotation": 90,
            "trackpoints": [], "old_label": "Apex", "new_label": "B", "fpm": 1, "set_movie_id": movie_id,
            "property": "title", "value": "t", "movie_data_sha256": "0" * 64, "movie_data_length": 1,
            "token": "t", "email": "a@b.example", "course_key": "k", "emails": ["a@b.example"],
            "course_id": "bio"}  # fmt: skip
    good = {name: value for name, value in good.items() if name in takes.model_fields}
    for _ in range(15):
        name = chance.choice([*takes.model_fields, "unheard-of"])
        fields = {**good, name: chance.choice(NASTY)}
        headers = {**lab.people.ada.headers, "origin": str(lab.http.base_url)}
        methods = sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}, reverse=True)
        if methods[0] != "GET":
            answer = await lab.http.request(methods[0], rule.rule, json=fields, headers=headers)
        else:
            text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fields.items()}
            answer = await lab.http.get(rule.rule, params=text, headers=headers)
        where = f"{name}={fields[name]!r:.60}: {answer.status_code} {answer.text[:200]}"
        assert answer.status_code in (200, 202, 302, 400, 403, 404, 409, 413, 422, 429), where
        if answer.status_code >= 400:
            assert answer.json()["error"] is True, where
