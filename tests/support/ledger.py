"""What a client asks of the database, in calls and in the units that DynamoDB would count."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from service.bench.units import Units, item_bytes, read_units, write_units
from service.store.stores import Stores

Row = tuple[str, dict[str, Any], bool]
"""Table, key, in a transaction: a row that was changed, whose size is looked up when the measuring is over."""


class Ledger:
    """Listens to the clients of `stores` until `close` is called.

    The emulator tells no units, so they are worked out from the items themselves.
    """

    def __init__(self, stores: Stores, prefix: str) -> None:
        self.database, self.storage, self.queue = Counter[str](), Counter[str](), Counter[str]()
        self._units = Units()
        self._changed: list[Row] = []
        self._prefix = prefix
        self._client = stores.database.client
        counted = (
            (self._client, self.database),
            (stores.objects.client, self.storage),
            (stores.queue.client, self.queue),
        )
        self._heard = [(client, _counting(made)) for client, made in counted]
        for client, note in self._heard:
            client.meta.events.register("before-call", note)
        self._client.meta.events.register("before-call", self._asked)
        self._client.meta.events.register("after-call", self._answered)

    async def close(self) -> Units:
        """The units of everything that was asked."""
        for client, note in self._heard:
            client.meta.events.unregister("before-call", note)
        self._client.meta.events.unregister("before-call", self._asked)
        self._client.meta.events.unregister("after-call", self._answered)
        total = self._units
        for table, key, transaction in self._changed:
            found = (await self._client.get_item(TableName=self._prefix + table, Key=key, ConsistentRead=True)).get(
                "Item"
            )
            item = found or key
            total += write_units(table, item_bytes(item), item, transaction=transaction)
        return total

    def _asked(self, model: Any, params: Any, context: dict[str, Any], **_: Any) -> None:
        asked = json.loads(params["body"])
        context["asked"] = asked
        if model.name == "PutItem":
            self._put(asked, transaction=False)
        elif model.name in ("UpdateItem", "DeleteItem"):
            self._changed.append((self._table(asked), asked["Key"], False))
        elif model.name == "TransactWriteItems":
            for one in asked["TransactItems"]:
                ((deed, part),) = one.items()
                if deed == "Put":
                    self._put(part, transaction=True)
                else:
                    self._changed.append((self._table(part), part["Key"], True))
        elif model.name == "BatchWriteItem":
            for table, writes in asked["RequestItems"].items():
                for one in writes:
                    ((deed, part),) = one.items()
                    if deed == "PutRequest":
                        self._put({"TableName": table, "Item": part["Item"]}, transaction=False)
                    else:
                        self._changed.append((table.removeprefix(self._prefix), part["Key"], False))

    def _answered(self, model: Any, parsed: Any, context: dict[str, Any], **_: Any) -> None:
        asked = context.get("asked", {})
        consistent = bool(asked.get("ConsistentRead"))
        if model.name == "GetItem":
            self._units += read_units([item_bytes(parsed.get("Item") or {})], consistent=consistent)
        elif model.name == "Query":
            self._units += read_units(map(item_bytes, parsed.get("Items", [])), consistent=consistent, together=True)
        elif model.name == "BatchGetItem":
            for table, items in parsed.get("Responses", {}).items():
                wanted = asked["RequestItems"][table]
                absent = len(wanted["Keys"]) - len(items)  # which counts as the smallest item
                sizes = [*map(item_bytes, items), *[0] * absent]
                self._units += read_units(sizes, consistent=bool(wanted.get("ConsistentRead")))

    def _put(self, part: Any, *, transaction: bool) -> None:
        item = part["Item"]
        self._units += write_units(self._table(part), item_bytes(item), item, transaction=transaction)

    def _table(self, part: Any) -> str:
        return str(part["TableName"]).removeprefix(self._prefix)


def _counting(made: Counter[str]) -> Any:
    def note(model: Any, **_: Any) -> None:
        made[model.name] += 1

    return note
