"""The routes as an OpenAPI 3.1 document, so that a host's own documentation can show them.

host = FastAPI(lifespan=lifespan)
host.mount("/lab", service.asgi.app)
own = host.openapi
host.openapi = lambda: merged(own(), "/lab")
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flask import Flask
from pydantic.json_schema import models_json_schema
from werkzeug.routing import Rule

from service.web import people_schemas, schemas
from service.web.answers import GIVES
from service.web.app import bare_app

TAKES: Mapping[str, type[schemas.Parameters]] = {
    "leases.acquire": schemas.Acquire,
    "leases.heartbeat": schemas.HeldLease,
    "leases.release": schemas.HeldLease,
    "editing.put_frame_trackpoints": schemas.PutTrackpoints,
    "editing.rename_marker": schemas.RenameMarker,
    "editing.reset_movie_tracing": schemas.Edit,
    "editing.set_movie_trim": schemas.SetTrim,
    "editing.set_movie_fpm": schemas.SetFpm,
    "editing.rotate_movie": schemas.Rotate,
    "movies.new_movie": schemas.NewMovie,
    "movies.process_upload": schemas.OfMovie,
    "movies.list_all": schemas.ListMovies,
    "movies.delete_movie": schemas.DeleteMovie,
    "movies.set_metadata": schemas.SetMetadata,
    "movies.set_research_metadata": schemas.SetResearch,
    "reading.get_movie_metadata": schemas.Metadata,
    "tracing.trace_movie": schemas.Trace,
    "tracing.cancel_trace": schemas.Cancel,
    "tracing.get_receipt": schemas.ReceiptOf,
    "media.first_frame": schemas.OfMovie,
    "media.frame": schemas.FramePicture,
    "media.movie_data": schemas.MovieData,
    "exports.get_movie_trackpoints": schemas.Export,
    "people.enter": schemas.SignIn,
    "registration.register": people_schemas.Register,
    "registration.resend_link": people_schemas.ResendLink,
    "registration.bulk_register": people_schemas.BulkRegister,
    "directory.list_users": people_schemas.ListUsers,
    "directory.list_users_courses": people_schemas.ListUsers,
    "directory.default_course": people_schemas.DefaultCourse,
    "directory.current_course": people_schemas.DefaultCourse,
    "directory.get_logs": people_schemas.GetLogs,
    "admin.summary": people_schemas.Page,
    "admin.new_course": people_schemas.NewCourse,
}
"""Which parameters each view parses; views that take none are not named."""

OPEN = frozenset({"people.enter", "people.leave", "registration.register", "registration.resend_link"})
"""Views outside `health` and `pages` that ask for no key."""

PREFIX = "Tiptrace"
_FORMS = ("application/x-www-form-urlencoded", "application/json")
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_REFUSAL = f"{PREFIX}Refusal"
_ANSWER = f"{PREFIX}Answer"
_KEY = f"{PREFIX}Key"
_REF = f"#/components/schemas/{PREFIX}{{model}}"


def document(app: Flask | None = None) -> dict[str, Any]:
    """All routes with their parameters, the envelope of answers and refusals, and where the key goes."""
    app = app or bare_app()
    paths: dict[str, dict[str, Any]] = {}
    for rule in app.url_map.iter_rules():
        path = _VARIABLE.sub(r"{\1}", rule.rule)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            paths.setdefault(path, {})[method.lower()] = _operation(app, rule, method)
    return {
        "openapi": "3.1.0",
        "info": {"title": "tiptrace", "version": "1"},
        "paths": paths,
        "components": {"schemas": _envelopes(), "securitySchemes": {_KEY: _scheme()}},
    }


def merged(host: Mapping[str, Any], mount: str) -> dict[str, Any]:
    """A host's document with ours added below `mount`. The host's own entries stay as they are."""
    ours = document()
    components = {**host.get("components", {})}
    for kind, named in ours["components"].items():
        components[kind] = {**named, **components.get(kind, {})}
    below = {mount.rstrip("/") + path: operations for path, operations in ours["paths"].items()}
    return {**host, "paths": {**below, **host.get("paths", {})}, "components": components}


def _operation(app: Flask, rule: Rule, method: str) -> dict[str, Any]:
    room, _, name = rule.endpoint.partition(".")
    view = app.view_functions[rule.endpoint]
    said: dict[str, Any] = {
        "operationId": f"tiptrace_{name}_{method.lower()}",
        "tags": [f"tiptrace {room}"],
        "responses": _responses(room, rule.endpoint),
    }
    if view.__doc__:
        said["summary"] = " ".join(view.__doc__.split("\n\n")[0].split())
    if room not in ("pages", "health") and rule.endpoint not in OPEN:
        said["security"] = [{_KEY: []}]
    takes = TAKES.get(rule.endpoint)
    schema = takes.model_json_schema() if takes else {}
    parameters = [_in_path(name) for name in _VARIABLE.findall(rule.rule)]
    if method == "GET":
        parameters += list(_in_query(schema))
    elif takes:
        said["requestBody"] = {"content": {kind: {"schema": schema} for kind in _FORMS}}
    return {**said, "parameters": parameters} if parameters else said


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    required = schema.get("required", ())
    for name, kind in schema.get("properties", {}).items():
        yield {"name": name, "in": "query", "required": name in required, "schema": kind}


def _responses(room: str, endpoint: str) -> dict[str, Any]:
    refused = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{_REFUSAL}"}}}}
    answer: dict[str, Any] = {"description": "Done."}
    if endpoint in GIVES:
        answer["content"] = {"application/json": {"schema": {"$ref": _REF.format(model=GIVES[endpoint].__name__)}}}
    elif room in ("leases", "editing", "movies", "reading", "tracing"):
        answer["content"] = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_ANSWER}"}}}
    return {
        "2XX": answer,
        "3XX": {"description": "It is elsewhere, or as the caller already has it."},
        "4XX": {"description": "Refused; `message` says why.", **refused},
        "503": {"description": "A part of the service does not answer; see Retry-After.", **refused},
    }


def _envelopes() -> dict[str, Any]:
    text = {"type": "string"}
    _, described = models_json_schema([(kind, "serialization") for kind in set(GIVES.values())], ref_template=_REF)
    records = {PREFIX + name: schema for name, schema in described["$defs"].items()}
    return {
        **records,
        _ANSWER: {"type": "object", "required": ["error"], "properties": {"error": {"const": False}}},
        _REFUSAL: {
            "type": "object",
            "required": ["error", "message", "code"],
            "properties": {"error": {"const": True}, "message": text, "code": text},
        },
    }


def _scheme() -> dict[str, Any]:
    return {"type": "apiKey", "in": "header", "name": "x-api-key"}
