"""Condition and update expressions as values that can be combined. Knows DynamoDB's grammar and nothing of movies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from service.store.marshal import pack


def _name(attribute: str) -> str:
    return f"#{attribute}"


def _value(value: Any) -> tuple[str, dict[str, Any]]:
    packed = pack(value)
    return f":v{crc32(repr(packed).encode()):08x}", packed


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition expression with its names and values. `&` and `|` combine, `~` negates."""

    text: str
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    def __and__(self, other: Condition) -> Condition:
        return self._joined("AND", other)

    def __or__(self, other: Condition) -> Condition:
        return self._joined("OR", other)

    def __invert__(self) -> Condition:
        return Condition(f"(NOT {self.text})", self.names, self.values)

    def _joined(self, word: str, other: Condition) -> Condition:
        return Condition(
            f"({self.text} {word} {other.text})", {**self.names, **other.names}, {**self.values, **other.values}
        )


def _compared(attribute: str, sign: str, value: Any) -> Condition:
    placeholder, packed = _value(value)
    return Condition(f"{_name(attribute)} {sign} {placeholder}", {_name(attribute): attribute}, {placeholder: packed})


def equals(attribute: str, value: Any) -> Condition:
    return _compared(attribute, "=", value)


def differs(attribute: str, value: Any) -> Condition:
    """True as well when the attribute is absent."""
    return absent(attribute) | _compared(attribute, "<>", value)


def above(attribute: str, value: Any) -> Condition:
    """False when the attribute is absent."""
    return _compared(attribute, ">", value)


def at_most(attribute: str, value: Any) -> Condition:
    """False when the attribute is absent."""
    return _compared(attribute, "<=", value)


def below_attribute(attribute: str, other: str) -> Condition:
    """One attribute of the row is less than another of it. False when either is absent."""
    names = {_name(attribute): attribute, _name(other): other}
    return Condition(f"{_name(attribute)} < {_name(other)}", names)


def contains(attribute: str, value: str) -> Condition:
    """A list or set holds the value. False when the attribute is absent."""
    placeholder, packed = _value(value)
    return Condition(
        f"contains({_name(attribute)}, {placeholder})", {_name(attribute): attribute}, {placeholder: packed}
    )


def present(attribute: str) -> Condition:
    return Condition(f"attribute_exists({_name(attribute)})", {_name(attribute): attribute})


def absent(attribute: str) -> Condition:
    return Condition(f"attribute_not_exists({_name(attribute)})", {_name(attribute): attribute})


def one_of(attribute: str, values: Iterable[Any]) -> Condition:
    condition: Condition | None = None
    for value in values:
        single = equals(attribute, value)
        condition = single if condition is None else condition | single
    if condition is None:
        raise ValueError("one_of needs at least one value")
    return condition


def between(attribute: str, first: Any, last: Any) -> Condition:
    """Both bounds inclusive."""
    low, packed_low = _value(first)
    high, packed_high = _value(last)
    name = _name(attribute)
    return Condition(f"{name} BETWEEN {low} AND {high}", {name: attribute}, {low: packed_low, high: packed_high})


def keyed(partition: Condition, sort: Condition) -> Condition:
    """A key condition: the same as `&`, without the brackets that a key condition does not need."""
    return Condition(
        f"{partition.text} AND {sort.text}",
        {**partition.names, **sort.names},
        {**partition.values, **sort.values},
    )


@dataclass(frozen=True, slots=True)
class Update:
    """What an UpdateItem sets, adds and removes."""

    set: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    remove: tuple[str, ...] = ()

    def rendered(self, condition: Condition | None) -> dict[str, Any]:
        """The expression parameters of an UpdateItem, the condition's included. What is set is not also removed."""
        names: dict[str, str] = dict(condition.names) if condition else {}
        values: dict[str, Any] = dict(condition.values) if condition else {}
        clauses: list[str] = []
        for word, pairs in (("SET", self.set), ("ADD", self.add)):
            parts = []
            for attribute, value in pairs.items():
                placeholder, packed = _value(value)
                names[_name(attribute)] = attribute
                values[placeholder] = packed
                parts.append(f"{_name(attribute)} {'= ' if word == 'SET' else ''}{placeholder}")
            if parts:
                clauses.append(f"{word} {', '.join(parts)}")
        removed = [attribute for attribute in self.remove if attribute not in self.set]
        if removed:
            names.update({_name(attribute): attribute for attribute in removed})
            clauses.append("REMOVE " + ", ".join(_name(attribute) for attribute in removed))
        request: dict[str, Any] = {"UpdateExpression": " ".join(clauses), "ExpressionAttributeNames": names}
        if values:
            request["ExpressionAttributeValues"] = values
        if condition:
            request["ConditionExpression"] = condition.text
        return request
