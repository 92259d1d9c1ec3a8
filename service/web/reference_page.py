"""The page `/docs`, made from the document alone: every route, its parameters, its answers, its refusals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any

Schema = Mapping[str, Any]

_ROOMS = {
    "leases": "The right to edit",
    "editing": "Changing a movie",
    "movies": "Movies",
    "reading": "Reading a movie",
    "tracing": "Traces",
    "media": "Pictures and files",
    "exports": "Exports",
    "people": "Signing in and out",
    "registration": "Registering",
    "directory": "People and events",
    "admin": "Administration",
    "health": "The service itself",
    "sample": "The sample movie",
    "reference": "This description",
    "pages": "Pages",
}
"""Rooms in the order in which the page shows them."""
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "minLength": "characters at least",
    "maxLength": "characters at most",
}


def page(told: Mapping[str, Any]) -> str:
    """One HTML page. Whatever the document says is shown as text, never as markup."""
    operations = sorted(_operations(told), key=lambda one: (_place(one[0]), one[1], one[2]))
    rooms = [(room, list(found)) for room, found in groupby(operations, key=lambda one: one[0])]
    contents = "".join(f'<li><a href="#{_h(room)}">{_h(_ROOMS.get(room, room))}</a></li>' for room, _ in rooms)
    sections = "".join(_section(room, found) for room, found in rooms)
    return f"""<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>Routes · tiptrace</title>
  <link rel="icon" href="static/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="static/css/base.css">
  <link rel="stylesheet" href="static/css/reference.css">
</head>
<body>
  <a class="skip" href="#content">Skip to the routes</a>
  <header class="top">
    <a class="brand" href="./"><img src="static/icon.svg" alt="" width="28" height="28"><span>tiptrace</span></a>
    <nav class="places" aria-label="Pages"><a href="./">Movies</a></nav>
  </header>
  <main id="content" class="reference">
    <h1>Routes</h1>
    <p>What scripts and pages may ask this service for. The same for programs: <a href="openapi.json">openapi.json</a>
      (OpenAPI {_h(told["openapi"])}, version {_h(told["info"]["version"])}).</p>
    <p>A POST takes form fields or a JSON object with the same names, a GET takes query parameters. Your key goes into
      the header <code>x-api-key</code>. JSON answers say <code>{{"error": false, ...}}</code>, refusals
      <code>{{"error": true, "message": "...", "code": "..."}}</code>.</p>
    <nav aria-label="Contents"><ul class="contents">{contents}<li><a href="#records">Records</a></li></ul></nav>
    {sections}
    <section aria-labelledby="records"><h2 id="records">Records</h2>{_records(told["components"]["schemas"])}</section>
  </main>
</body>
</html>
"""


def _operations(told: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            yield operation["tags"][0].split()[-1], path, method.upper(), operation


def _place(room: str) -> int:
    return list(_ROOMS).index(room) if room in _ROOMS else len(_ROOMS)


def _section(room: str, found: list[tuple[str, str, str, Mapping[str, Any]]]) -> str:
    routes = "".join(_route(path, method, operation) for _, path, method, operation in found)
    title = _h(_ROOMS.get(room, room))
    return f'<section aria-labelledby="{_h(room)}"><h2 id="{_h(room)}">{title}</h2>{routes}</section>'


def _route(path: str, method: str, operation: Mapping[str, Any]) -> str:
    key = "Asks for a key." if "security" in operation else "Asks for no key."
    summary = _text(operation.get("summary", ""))
    of = f"{method} {path}"
    answers = _table("What it answers", of, ("status", "what", "as"), map(_answer_row, operation["responses"].items()))
    rows = [_parameter_row(*one) for one in _parameters(operation)]
    takes = _table("What it takes", of, ("parameter", "kind", "default", "meaning"), rows) if rows else ""
    return f"""<article class="card" aria-labelledby="{_h(operation["operationId"])}">
<h3 id="{_h(operation["operationId"])}"><code>{_h(method)} {_h(path)}</code></h3>
<p>{summary} <span class="muted">{key}</span></p>{takes}{answers}</article>"""


def _parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, bool, Schema, str]]:
    for one in operation.get("parameters", ()):
        yield one["name"], one["required"], one["schema"], one.get("description", "")
    if "requestBody" in operation:
        schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
        for name, kind in schema["properties"].items():
            yield name, name in schema.get("required", ()), kind, ""


def _parameter_row(name: str, required: bool, schema: Schema, said: str) -> tuple[str, ...]:
    default = schema.get("default")
    shown = "required" if required else "" if default in (None, "", {}, []) else f"<code>{_h(default)}</code>"
    meaning = said or schema.get("description", "")
    return f"<code>{_h(name)}</code>", _kind(schema), shown, _text(meaning)


def _answer_row(answer: tuple[str, Mapping[str, Any]]) -> tuple[str, ...]:
    status, told = answer
    kinds = [
        _kind(content.get("schema", {})) if kind == "application/json" else _h(kind)
        for kind, content in told.get("content", {}).items()
    ]
    return f"<code>{_h(status)}</code>", _text(told["description"]), ", ".join(dict.fromkeys(kinds))


def _records(schemas: Mapping[str, Schema]) -> str:
    told = []
    for name, schema in schemas.items():
        required = schema.get("required", ())
        rows = [
            (f"<code>{_h(field)}</code>", _kind(kind), "" if field in required else "may be left out",
             _text(kind.get("description", "")))
            for field, kind in schema.get("properties", {}).items()
        ]  # fmt: skip
        fields = _table("Its fields", name, ("field", "kind", "", "meaning"), rows)
        about = f"<p>{_text(schema['description'])}</p>" if "description" in schema else ""
        told.append(f'<article class="card"><h3 id="{_h(name)}"><code>{_h(name)}</code></h3>{about}{fields}</article>')
    return "".join(told)


def _kind(schema: Schema) -> str:
    """What a value may be, in a few words; a record is linked."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{_h(name)}"><code>{_h(name)}</code></a>'
    if "allOf" in schema:
        return _kind(schema["allOf"][0])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if "const" in schema:
        return f"<code>{_h(_json(schema['const']))}</code>"
    if "enum" in schema:
        return ", ".join(f"<code>{_h(_json(value))}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    words = {"integer": "whole number", "string": "text", "object": "object", "null": "null"}
    limits = ", ".join(f"{word} {schema[name]}" for name, word in _BOUNDS.items() if name in schema)
    kind = words.get(schema.get("type", ""), str(schema.get("type", "any value")))
    return _h(f"{kind}, {limits}" if limits else kind)


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(caption: str, of: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Cells are markup already; captions and heads are text. `of` tells this table's region from all others."""
    top = "".join(f'<th scope="col">{_h(cell)}</th>' if cell else "<td></td>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="table-box" tabindex="0" role="region" aria-label="{_h(caption)}: {_h(of)}">'
        f"<table><caption>{_h(caption)}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _text(said: str) -> str:
    """Escaped, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _h(said))


def _h(value: object) -> str:
    return escape(str(value))
