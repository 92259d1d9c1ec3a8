"""Python values to DynamoDB attribute values and back. Numbers come back as int where they are whole, else float."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
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
    if kind == "N":
        return int(value) if value.lstrip("-").isdigit() else _number(value)
    if kind == "M":
        return {k: unpack(v) for k, v in value.items()}
    if kind == "L":
        return [unpack(v) for v in value]
    if kind == "NULL":
        return None
    if kind in ("SS", "NS", "BS"):
        read = {"SS": str, "NS": _number, "BS": _binary}[kind]
        return frozenset(read(v) for v in value)
    return _binary(value) if kind == "B" else value


def _binary(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else b64decode(value)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def pack_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: pack(value) for name, value in item.items()}


def unpack_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: unpack(value) for name, value in item.items()}
