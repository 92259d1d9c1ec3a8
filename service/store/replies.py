"""Items out of the database's replies without the SDK's walk through them.

The SDK's parser checks every value of a reply against its model, in Python: a frame with twenty markers takes it over a
millisecond of the one thread that also answers polls. A DynamoDB item needs none of it: `marshal.unpack` reads the JSON
as it is. What else a reply says (a page's end, keys not processed) is parsed as ever.
"""

from __future__ import annotations

import json
from typing import Any

_ITEMS = ("Item", "Items", "Responses", "Attributes")


def read_items_directly(client: Any) -> None:
    """From now on this DynamoDB client gives items as they came over the wire: binary values are base64 text.

    Rests on an event that botocore itself uses to put something of its own in a parsed reply.
    """
    client.meta.events.register("before-parse.dynamodb.*", _take_items)


def _take_items(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_of_the_event: Any) -> None:
    if response_dict["status_code"] != 200:
        return  # a refusal, which the parser turns into an exception
    reply = json.loads(response_dict["body"])
    for name in _ITEMS:
        if name in reply:
            customized_response_dict[name] = reply.pop(name)
    response_dict["body"] = json.dumps(reply).encode()
