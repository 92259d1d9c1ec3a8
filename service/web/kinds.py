"""Kinds of values that a form or a JSON body may hold. '12' from a form and 12 from JSON are the same number here.

Each kind is a pydantic annotation whose check says in plain words what a value must be.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from service.domain.errors import InvalidParameter
from service.domain.ids import MOVIE_ID, USER_ID
from service.web.fields import json_value

_WHOLE = re.compile(r"[+-]?[0-9]{1,10}\Z")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,15}(\.[0-9]{0,15})?|\.[0-9]{1,15})([eE][+-]?[0-9]{1,2})?\Z")
_FLAGS = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True, "off": False, "on": True}
_LARGEST = 2**31 - 1
_MAX_OPTIONS = 4000
_MAX_NAME = 200


def _whole(value: Any) -> Any:
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
        raise ValueError("must be a whole number")
    return value


def _decimal(value: Any) -> Any:
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:  # nor is it NaN
        raise ValueError("must be a number")
    return float(value)


def _flag(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | str) and str(value).strip().lower() in _FLAGS:
        return _FLAGS[str(value).strip().lower()]
    raise ValueError("must be 0 or 1")


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("must be text")
    if "\x00" in value:
        raise ValueError("must not hold control characters")
    return value


def _optional_text(value: Any) -> Any:
    return None if value is None else _text(value).strip() or None


def _short(value: str | None) -> str | None:
    """A constraint of pydantic's own would break on None."""
    if value is not None and len(value) > _MAX_NAME:
        raise ValueError(f"must have at most {_MAX_NAME} characters")
    return value


def _lease_id(value: Any) -> Any:
    """An empty one counts as missing. A malformed one is kept: it is simply nobody's, a conflict and no bad request."""
    return _optional_text(value)


def _matching(pattern: re.Pattern[str], what: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"is not {what}")
        return value

    return BeforeValidator(check)


def _described(pattern: re.Pattern[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern.pattern.removesuffix(chr(92) + 'Z')}$"})


def _json_list(value: Any) -> Any:
    """A form sends the list as JSON text."""
    if isinstance(value, str):
        try:
            value = json_value(value)
        except ValueError:
            raise ValueError("must be a JSON list of points") from None
    if not isinstance(value, list):
        raise ValueError("must be a JSON list of points")
    return value


def _options(value: Any) -> Any:
    """A form sends the object as JSON text."""
    if isinstance(value, str):
        try:
            value = json_value(value)
        except ValueError:
            value = None
    plain = isinstance(value, dict) and all(isinstance(v, str | int | float | bool) for v in value.values())
    if not plain or len(repr(value)) > _MAX_OPTIONS:
        raise ValueError("must be a small JSON object of names and plain values")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Frame = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
Decimal = Annotated[float, BeforeValidator(_decimal)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Text = Annotated[str, BeforeValidator(_text)]
MovieId = Annotated[str, _matching(MOVIE_ID, "the id of a movie"), _described(MOVIE_ID)]
UserId = Annotated[str, _matching(USER_ID, "the id of a user"), _described(USER_ID)]
LeaseId = Annotated[str | None, BeforeValidator(_lease_id)]
Name = Annotated[str | None, BeforeValidator(_optional_text), AfterValidator(_short)]
CourseId = Name
Points = Annotated[list[Any], BeforeValidator(_json_list)]
Options = Annotated[dict[str, Any], BeforeValidator(_options)]


def flag(value: Any, name: str) -> bool:
    """A field whose kind depends on another field. Raises InvalidParameter."""
    try:
        return bool(_flag(value))
    except ValueError as error:
        raise InvalidParameter(name, str(error)) from None
