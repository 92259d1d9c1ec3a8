"""The routes with their parameters, as the OpenAPI document has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pieces import code, table

from service.web.meanings import meaning
from service.web.openapi import document

_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below", "minimum": "at least", "maximum": "at most"}
Schema = Mapping[str, Any]

_paths = cache(lambda: document()["paths"])
"""The document is made once: a page asks for every route by itself."""


def route(method: str, path: str) -> str:
    """One route's parameters. Raises KeyError for a route that does not exist."""
    operation = _paths()[path][method.lower()]
    rows = [_parameter(path, name, required, kind) for name, required, kind in _parameters(operation)]
    if not rows:
        return "Takes no parameters.\n"
    return table(("parameter", "kind", "default", "meaning"), rows)


def every_route() -> Iterator[tuple[str, str]]:
    """Method and path of each."""
    for path, operations in _paths().items():
        for method in operations:
            yield method.upper(), path


def routes() -> str:
    """A table of all of them, with who may ask."""
    paths = _paths()
    rows = [
        (
            code(f"{method} {path}"),
            "a key" if "security" in paths[path][method.lower()] else "nothing",
            ", ".join(code(name) for name, *_ in _parameters(paths[path][method.lower()])),
        )
        for method, path in sorted(every_route(), key=lambda one: (one[1], one[0]))
    ]
    return table(("route", "asks for", "parameters"), rows)


def _parameters(operation: Schema) -> Iterator[tuple[str, bool, Schema]]:
    for one in operation.get("parameters", ()):
        yield one["name"], one["required"], one["schema"]
    if "requestBody" in operation:
        schema = next(iter(operation["requestBody"]["content"].values()))["schema"]
        for name, kind in schema["properties"].items():
            yield name, name in schema.get("required", ()), kind


def _parameter(path: str, name: str, required: bool, schema: Schema) -> tuple[str, str, str, str]:
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    default = "required" if required else _default(schema.get("default"))
    own = dict.fromkeys(text for one in (schema, *kinds) if (text := one.get("description")))
    limits = "; ".join(dict.fromkeys(text for kind in kinds for text in _limits(kind)))
    said = [text for text in (meaning(path, name), *own, limits) if text]
    told = " or ".join(dict.fromkeys(map(_kind, kinds)))
    return code(name), told, default, " ".join(text[0].upper() + text[1:].rstrip(".") + "." for text in said)


def _kind(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(code(value) for value in schema["enum"])
    words = {"integer": "whole number", "number": "number", "boolean": "0 or 1", "array": "JSON list"}
    return words.get(schema.get("type", ""), "JSON object" if schema.get("type") == "object" else "text")


def _limits(schema: Schema) -> Iterator[str]:
    for name, word in _BOUNDS.items():
        if name in schema:
            yield f"{word} {schema[name]}"
    if "maxLength" in schema:
        yield f"at most {schema['maxLength']} characters"


def _default(value: Any) -> str:
    if value is None or value in ("", {}, []):
        return ""
    return code(str(int(value) if isinstance(value, bool) else value))
