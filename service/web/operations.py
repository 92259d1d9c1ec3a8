"""The routes of an application as an OpenAPI 3.1 document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from flask import Flask
from pydantic.json_schema import models_json_schema
from werkzeug.routing import Rule

from service.web import answers, movie_answers
from service.web.meanings import meaning
from service.web.outcomes import WELL, refusals
from service.web.release import RELEASE
from service.web.takes import OPEN, OPEN_ROOMS, TAKES

PREFIX = "Tiptrace"
GIVES: Mapping[str, type[answers.Answer]] = {**answers.GIVES, **movie_answers.GIVES}
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

_JSON = "application/json"
_FORMS = ("application/x-www-form-urlencoded", _JSON)
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_REFUSAL = f"{PREFIX}Refusal"
_KEY = f"{PREFIX}Key"
_REF = f"#/components/schemas/{PREFIX}{{model}}"
_OTHER_KINDS: Mapping[str, tuple[str, ...]] = {
    "exports.get_movie_trackpoints": ("text/csv", XLSX),
    "media.first_frame": ("image/jpeg",),
    "media.frame": ("image/jpeg",),
    "sample.sample_movie": ("video/mp4",),
    "health.prometheus": ("text/plain",),
    "pages.static": ("text/css", "text/javascript", "image/svg+xml", "image/png", "image/x-icon", "font/woff2", _JSON,
                     "application/manifest+json"),
    "reference.openapi_json": (_JSON,),
}  # fmt: skip
"""What views answer besides, or instead of, a record."""
_SAID = {
    206: "The part of the file that was asked for.",
    302: "It is at the address in `Location`.",
    303: "Done; go to the address in `Location`. For browsers, a link that is refused leads back to its page.",
    304: "What the caller has is still right.",
    308: "The address of the pages ends with a slash.",
}
_HEADERS: Mapping[int, tuple[str, str]] = {
    302: ("Location", "Where it is."),
    303: ("Location", "Where to go on."),
    308: ("Location", "Where to go on."),
    429: ("Retry-After", "Seconds to wait."),
    503: ("Retry-After", "Seconds to wait."),
}


def describe(app: Flask) -> dict[str, Any]:
    """All routes with their parameters, what each answers, how it may refuse, and where the key goes."""
    paths: dict[str, dict[str, Any]] = {}
    for rule in app.url_map.iter_rules():
        path = _VARIABLE.sub(r"{\1}", rule.rule)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            paths.setdefault(path, {})[method.lower()] = _operation(app, path, rule, method)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tiptrace",
            "version": RELEASE,
            "description": "Movies of plants and the movement of their tips. For people: [the same as a page](docs).",
        },
        "externalDocs": {"url": "docs", "description": "The same as a page."},
        "paths": paths,
        "components": {"schemas": _records(), "securitySchemes": {_KEY: _scheme()}},
    }


def _operation(app: Flask, path: str, rule: Rule, method: str) -> dict[str, Any]:
    room, _, name = rule.endpoint.partition(".")
    view = app.view_functions[rule.endpoint]
    said: dict[str, Any] = {
        "operationId": f"tiptrace_{name}_{method.lower()}",
        "tags": [f"tiptrace {room}"],
        "responses": _responses(room, rule.endpoint, method),
    }
    if view.__doc__:
        said["summary"] = " ".join(view.__doc__.split("\n\n")[0].split())
    if room not in OPEN_ROOMS and rule.endpoint not in OPEN:
        said["security"] = [{_KEY: []}]
    takes = TAKES.get(rule.endpoint)
    schema = _explained(path, takes.model_json_schema()) if takes else {}
    parameters = [_in_path(path, name) for name in _VARIABLE.findall(rule.rule)]
    if method == "GET":
        parameters += list(_in_query(schema))
    elif takes:
        required = bool(schema.get("required"))
        said["requestBody"] = {"required": required, "content": {kind: {"schema": schema} for kind in _FORMS}}
    return {**said, "parameters": parameters} if parameters else said


def _explained(path: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Each parameter with what it is for, unless its own schema says so."""
    for name, kind in schema.get("properties", {}).items():
        said = meaning(path, name)
        if said:
            kind.setdefault("description", said)
    return schema


def _in_path(path: str, name: str) -> dict[str, Any]:
    kind = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": meaning(path, name), "schema": kind}


def _in_query(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    required = schema.get("required", ())
    for name, kind in schema.get("properties", {}).items():
        yield {"name": name, "in": "query", "required": name in required, "schema": kind}


def _responses(room: str, endpoint: str, method: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for status in WELL.get(endpoint, (200,)):
        told[str(status)] = _answer(status, _SAID.get(status, "Done."))
        if status < 300:
            told[str(status)]["content"] = _content(room, endpoint)
    for status, codes in refusals(endpoint, method).items():
        told[str(status)] = _answer(status, f"{HTTPStatus(status).phrase}: {', '.join(f'`{one}`' for one in codes)}.")
        told[str(status)]["content"] = {_JSON: {"schema": _refusal(codes)}}
    return told


def _answer(status: int, said: str) -> dict[str, Any]:
    told: dict[str, Any] = {"description": said}
    if status in _HEADERS:
        name, meaning_of_it = _HEADERS[status]
        told["headers"] = {name: {"description": meaning_of_it, "required": True, "schema": {"type": "string"}}}
    return told


def _content(room: str, endpoint: str) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if endpoint in GIVES:
        content[_JSON] = {"schema": {"$ref": _REF.format(model=GIVES[endpoint].__name__)}}
    for kind in _OTHER_KINDS.get(endpoint, ()):
        content[kind] = {} if kind == _JSON else {"schema": {"type": "string"}}
    return content or {"text/html": {"schema": {"type": "string"}}}


def _refusal(codes: list[str]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{_REFUSAL}"}
    return {"allOf": [reference, {"properties": {"code": {"enum": codes}}}]}


def _records() -> dict[str, Any]:
    text = {"type": "string"}
    _, described = models_json_schema([(kind, "serialization") for kind in set(GIVES.values())], ref_template=_REF)
    records = {PREFIX + name: schema for name, schema in sorted(described["$defs"].items())}
    return {
        **records,
        _REFUSAL: {
            "type": "object",
            "required": ["error", "message", "code"],
            "properties": {"error": {"const": True}, "message": text, "code": text},
        },
    }


def _scheme() -> dict[str, Any]:
    return {"type": "apiKey", "in": "header", "name": "x-api-key"}
