"""A request's fields, however they came: form, query or JSON body under the same names."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from flask import g, request
from werkzeug.exceptions import UnsupportedMediaType

from service.domain.errors import BadRequest, InvalidParameter

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_MAX_DEPTH = 16
_LARGEST_NUMBER = 2**53


class MalformedBody(BadRequest):
    """The request's body is not the JSON object that it claims to be."""

    code = "malformed_body"


def fields() -> dict[str, Any]:
    """All fields by name; what the body says goes before what the query says.

    A key in the query is none: see `auth`. Raises MalformedBody, InvalidParameter (a field that came twice), and
    UnsupportedMediaType for a body that is neither a form nor JSON.
    """
    if "fields" not in g:
        query = _single(request.args.to_dict(flat=False))
        query.pop("api_key", None)
        g.fields = {**query, **body_fields()}
    found: dict[str, Any] = g.fields
    return found


def body_fields() -> dict[str, Any]:
    """The fields of the body alone."""
    if "body_fields" not in g:
        g.body_fields = _body()
    found: dict[str, Any] = g.body_fields
    return found


def _body() -> dict[str, Any]:
    if request.method in ("GET", "HEAD"):
        return {}
    kind = request.mimetype
    if kind in _FORMS:
        return _single(request.form.to_dict(flat=False))
    if kind == "application/json" or kind.endswith("+json"):
        return json_object(request.get_data(cache=True))
    if request.content_length:
        raise UnsupportedMediaType("Send form fields or JSON.")
    return {}


def _single(found: dict[str, list[str]]) -> dict[str, Any]:
    for name, values in found.items():
        if len(values) > 1 and len(set(values)) > 1:
            raise InvalidParameter(_shown(name), "was sent twice with different values")
    return {name: values[0] for name, values in found.items()}


def _shown(name: str) -> str:
    return name if name.isidentifier() and len(name) <= 40 else "a field"


def json_object(data: bytes) -> dict[str, Any]:
    """A JSON object, or MalformedBody. An empty body counts as an empty object."""
    if not data.strip():
        return {}
    try:
        found = json_value(data.decode("utf-8"))
    except ValueError:
        raise MalformedBody from None
    if not isinstance(found, dict):
        raise MalformedBody
    return found


def json_value(text: str) -> Any:
    """Strict JSON: no NaN or Infinity, no number beyond 2**53, no half of a surrogate pair, nothing nested deeply.

    Raises ValueError.
    """
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    _check(found, _MAX_DEPTH)
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check(value: Any, depth: int) -> None:
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, int | float):
        if abs(value) > _LARGEST_NUMBER:  # 1e999 is read as infinity
            raise ValueError("a number is too large")
    elif isinstance(value, dict):
        for name, inner in value.items():
            name.encode("utf-8")
            _check(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, depth - 1)
