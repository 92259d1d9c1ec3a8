"""The description of the routes is complete, true, and shown by a host beside its own; and no value breaks a route."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import fastapi
import httpx
import pytest

from service.web.answers import GIVES
from service.web.app import bare_app
from service.web.openapi import document, merged
from service.web.takes import TAKES
from tests.support.service import Lab

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
    assert body["properties"]["movie_id"]["pattern"] == "^m[0-9a-f-]{36}$"
    assert body["properties"]["movie_id"]["description"] == "The movie."
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


async def test_every_reference_of_the_document_leads_to_something_in_it() -> None:
    told = document()
    references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(told)))
    assert len(references) > 10
    for reference in references:
        kind, name = reference.removeprefix("#/components/").split("/")
        assert name in told["components"][kind], reference


async def test_the_answers_about_people_and_courses_are_as_they_are_described(lab: Lab) -> None:
    """Each of these views once, by somebody who sees all that it tells."""
    people, movie_id = lab.people, await lab.movie()
    course = await lab.runtime.stores.people.course("bio")
    of_bio = f"/api/admin/courses/bio/administrators/{people.ben.user_id}"
    asked: dict[str, tuple[str, str, dict[str, Any]]] = {
        "admin.assign_administrator": ("PUT", of_bio, {}),
        "admin.remove_administrator": ("DELETE", of_bio, {}),
        "admin.new_course": ("POST", "/api/admin/courses", {"course_id": "described"}),
        "admin.summary": ("GET", "/api/admin/summary", {}),
        "admin.movie_media": ("GET", f"/api/admin/movies/{movie_id}/media", {}),
        "admin.movie_storage_health": ("GET", f"/api/admin/movies/{movie_id}/storage-health", {}),
        "registration.register": ("POST", "/api/register", {
            "course_key": course["course_key"], "email": "d@school.test",
        }),
        "registration.resend_link": ("POST", "/api/resend-link", {"email": "d@school.test"}),
        "registration.bulk_register": ("POST", "/api/bulk-register", {"course_id": "bio", "emails": "a@b.example, c"}),
        "directory.list_users": ("GET", "/api/list-users", {}),
        "directory.list_users_courses": ("POST", "/api/list-users-courses", {}),
        "directory.default_course": ("PATCH", "/api/default-course", {"course_id": "bio"}),
        "directory.current_course": ("PATCH", "/api/current-course", {"course_id": "chem"}),
        "directory.get_logs": ("GET", "/api/get-logs", {}),
    }  # fmt: skip
    assert set(asked) == set(GIVES)
    for endpoint, (method, path, fields) in asked.items():
        body = {"params" if method == "GET" else "json": fields} if fields else {}
        answer = await lab.http.request(method, path, headers=people.root.headers, **body)
        assert answer.status_code in (200, 201), answer.text
        GIVES[endpoint].model_validate(answer.json())
    logs = (await lab.get("/api/get-logs", people.root)).json()["logs"]
    assert logs, "the courses that were made stand there"
