"""Python values to DynamoDB attribute values and back. Numbers come back as int where they are whole, else float."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any


def pack(value: Any) -> dict[str, Any]:
    """One attribute value. Raises TypeError for what the database cannot hold; NaN and infinity are refused."""
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise TypeError("NaN and infinity cannot be stored")
        return {"N": repr(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, Mapping):
        return {"M": {str(k): pack(v) for k, v in value.items()}}
    if isinstance(value, list | tuple):
        return {"L": [pack(v) for v in value]}
    if isinstance(value, set | frozenset):
        if not value:
            raise TypeError("an empty set cannot be stored")
        return {"SS": sorted(value)}
    if isinstance(value, bytes):
        return {"B": value}
    raise TypeError(f"{type(value).__name__} cannot be stored")


def unpack(attribute: Mapping[str, Any]) -> Any:
    """The Python value of one attribute value, whose binary parts may still be base64 text, as on the wire."""
    ((kind, value),) = attribute.items()
    return _READ[kind](value)


def _number(text: str) -> int | float:
    number = float(text)
    if not number.is_integer():
        return number
    if text.lstrip("-").isdigit():
        return int(text)
    return int(number) if abs(number) < 2**53 else number


def _binary(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else b64decode(value)


def _map(value: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    # Every stored frame and every poll passes here: one call a value is what it costs.
    return {name: _READ[kind](inner) for name, attribute in value.items() for kind, inner in attribute.items()}


_READ: dict[str, Callable[[Any], Any]] = {
    "S": str,
    "N": _number,
    "BOOL": bool,
    "NULL": lambda _: None,
    "B": _binary,
    "M": _map,
    "L": lambda value: [unpack(inner) for inner in value],
    "SS": frozenset,
    "NS": lambda value: frozenset(map(_number, value)),
    "BS": lambda value: frozenset(map(_binary, value)),
}


def pack_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pack(value) for name, value in item.items()}


def unpack_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return _map(item)
