"""The parts of TransactWriteItems that the emulator does not do as DynamoDB does.

Tokens: DynamoDB remembers a ClientRequestToken for ten minutes; the emulator for ever, in memory only. So the token is
taken off the request here and kept in the journal. Keys: DynamoDB refuses a Put without the table's key; the emulator
stores it under no key, and cannot read the table afterwards.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.local.retained import transaction_digest


@dataclass(frozen=True, slots=True)
class Transaction:
    """A TransactWriteItems request without its token. `digest` is over all of it but the token."""

    request: dict[str, Any]
    token: str
    digest: str

    @classmethod
    def parse(cls, body: bytes) -> "Transaction | None":
        """None if the body is no transaction at all: the emulator then refuses it in its own words."""
        try:
            request = json.loads(body)
        except ValueError:
            return None
        if not isinstance(request, dict) or not isinstance(request.get("TransactItems"), list):
            return None
        token = request.pop("ClientRequestToken", "")
        return cls(request, token if isinstance(token, str) else "", transaction_digest(request))

    def body(self) -> bytes:
        """The request as the emulator gets it."""
        return json.dumps(self.request, separators=(",", ":")).encode("utf-8")

    def missing_key(self, keys: Mapping[str, list[str]]) -> str | None:
        """The first key attribute that a Put lacks. `keys`: table -> names of its key attributes."""
        for action in self.request["TransactItems"]:
            put = action.get("Put") if isinstance(action, dict) else None
            if put:
                for name in keys.get(put.get("TableName", ""), []):
                    if name not in put.get("Item", {}):
                        return name
        return None
