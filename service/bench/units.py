"""What DynamoDB counts for a request, in read and write units. Pure.

Source: the Amazon DynamoDB developer guide, "Item sizes and formats" and "Capacity unit consumption". A read unit is
one strongly consistent read of up to 4 KB, half of one an eventually consistent read; a write unit is one write of up
to 1 KB; a transaction counts twice; each index that holds the item is written besides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.store.schema import TABLES, TableShape

READ_BYTES, WRITE_BYTES = 4096, 1024
_SHAPES = {shape.name: shape for shape in TABLES}


@dataclass(frozen=True, slots=True)
class Units:
    """Read units, write units of tables, write units of their indexes."""

    read: float = 0.0
    write: float = 0.0
    index: float = 0.0

    def __add__(self, other: Units) -> Units:
        return Units(self.read + other.read, self.write + other.write, self.index + other.index)


def item_bytes(item: Mapping[str, Any]) -> int:
    """Bytes of an item in the database's own notation, {name: {type: value}}."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(typed: Mapping[str, Any]) -> int:
    ((kind, value),) = typed.items()
    if kind == "S":
        return len(value.encode())
    if kind == "N":
        return 1 + math.ceil(len(value.strip("-").replace(".", "").strip("0")) / 2)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + _value_bytes(inner) for name, inner in value.items())
    if kind == "L":
        return 3 + sum(1 + _value_bytes(inner) for inner in value)
    return 1


def read_units(sizes: Iterable[int], *, consistent: bool, together: bool = False) -> Units:
    """Reading items of these bytes. `together`: a query, whose items are added up before they are rounded."""
    found = [sum(sizes)] if together else list(sizes)
    return Units(read=sum(max(1, math.ceil(size / READ_BYTES)) for size in found) * (1.0 if consistent else 0.5))


def write_units(table: str, size: int, attributes: Iterable[str], *, transaction: bool = False) -> Units:
    """Writing an item of these bytes into `table` (its name without a prefix) and into every index that holds it.

    An attribute of an index's key that moves costs its index one write more; this counts each index once.
    """
    held = frozenset(attributes)
    plain = max(1, math.ceil(size / WRITE_BYTES))
    shape: TableShape = _SHAPES[table]
    indexed = [index for index in shape.indexes if held >= set(index.key)]
    return Units(
        write=plain * (2.0 if transaction else 1.0),
        index=float(sum(1 if index.keys_only else plain for index in indexed)),
    )
