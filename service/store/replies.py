"""What the stores' servers reply, before the SDK makes something of it.

Something between us and them (a proxy, a load balancer, a captive network) may answer in their place, often with 200
and a page. The SDK takes any body that is not JSON for an empty reply, so that a write which nobody made would look
made. Here such an answer becomes `NoAnswer`, and the store goes on as if the reply had been lost.

The SDK's parser also checks every value of a reply against its model, in Python: a frame with twenty markers takes it
over a millisecond of the one thread that also answers polls. A DynamoDB item needs none of it: `marshal.unpack` reads
the JSON as it is. What else a reply says (a page's end, keys not processed) is parsed as ever.

All of it rests on an event that botocore itself uses to put something of its own in a parsed reply.
"""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import BotoCoreError

_ITEMS = ("Item", "Items", "Responses", "Attributes")
_TAGGED = ("PutObject", "HeadObject", "GetObject")
_ROOTS = {"CopyObject": b"<CopyObjectResult", "ListObjectsV2": b"<ListBucketResult"}


class NoAnswer(BotoCoreError):
    """Somebody replied, but not the server that was asked. Whether that server did anything is not known."""

    fmt = "the reply is not one of the server that was asked"


def read_items_directly(client: Any) -> None:
    """From now on this DynamoDB client gives items as they came over the wire: binary values are base64 text.

    What is no reply of DynamoDB raises NoAnswer.
    """
    client.meta.events.register("before-parse.dynamodb.*", _take_items)


def refuse_strange_messages(client: Any) -> None:
    """From now on this SQS client raises NoAnswer for what is no reply of SQS."""
    client.meta.events.register("before-parse.sqs.*", _read_message)


def refuse_strange_objects(client: Any) -> None:
    """From now on this S3 client raises NoAnswer for an answer about objects without what S3 never leaves out."""
    client.meta.events.register("before-parse.s3.*", _look_at_object)


def _take_items(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], operation_model: Any, **_of_the_event: Any
) -> None:
    reply = _json_reply(response_dict, operation_model)
    if response_dict["status_code"] >= 300:
        return  # a refusal, which the parser turns into an exception
    for name in _ITEMS:
        if name in reply:
            customized_response_dict[name] = reply.pop(name)
    response_dict["body"] = json.dumps(reply).encode()


def _read_message(response_dict: dict[str, Any], operation_model: Any, **_of_the_event: Any) -> None:
    _json_reply(response_dict, operation_model)


def _json_reply(response_dict: dict[str, Any], operation_model: Any) -> dict[str, Any]:
    """The JSON object that the server sent, or NoAnswer.

    A refusal says its kind. Anything else says nothing or something that this operation is known to say; where the
    operation has nothing to say, not even an object.
    """
    if not response_dict["body"] and response_dict["status_code"] < 300 and operation_model.output_shape is None:
        return {}
    try:
        reply = json.loads(response_dict["body"])
    except ValueError:
        raise NoAnswer from None
    if not isinstance(reply, dict):
        raise NoAnswer
    if response_dict["status_code"] >= 300:
        told = isinstance(reply.get("__type"), str)
    else:
        shape = operation_model.output_shape
        told = not reply or (shape is not None and not reply.keys().isdisjoint(shape.members))
    if not told:
        raise NoAnswer
    return reply


def _look_at_object(response_dict: dict[str, Any], operation_model: Any, **_of_the_event: Any) -> None:
    if response_dict["status_code"] >= 300:
        return
    name = operation_model.name
    untagged = name in _TAGGED and "etag" not in response_dict["headers"]
    if untagged or (name in _ROOTS and _ROOTS[name] not in response_dict["body"]):
        raise NoAnswer
