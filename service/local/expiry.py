"""Time to live of the embedded database: items whose time has passed are deleted, as DynamoDB does, within a minute.

The emulator would do this behind the journal's back, and a repeated journal would then meet items that were gone when
its requests were accepted. So the emulator is never told of a time to live, and each deletion here is an ordinary
conditional write that stands in the journal at its place.
"""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import structlog

from service.local.durable import Durable, StateUncertain
from service.local.snapshot import scan

EVERY_SECONDS = 60.0
OLDEST_SECONDS = 5 * 365 * 86400
"""DynamoDB leaves items alone whose time passed more than five years ago: a wrong unit must not empty a table."""

log = structlog.get_logger(__name__)


async def delete_expired(durable: Durable, now: float) -> int:
    """Delete every item whose time to live is at most `now` (epoch seconds). Returns how many went."""
    gone = 0
    for table, attribute in durable.retained.time_to_live().items():
        condition: dict[str, Any] = {
            "ExpressionAttributeNames": {"#ttl": attribute},
            "ExpressionAttributeValues": {
                ":now": {"N": str(int(now))},
                ":oldest": {"N": str(int(now) - OLDEST_SECONDS)},
            },
        }
        expression = "#ttl BETWEEN :oldest AND :now"
        key_names = durable.retained.table_keys()[table]
        expired = [item async for item in scan(durable.forward, table, FilterExpression=expression, **condition)]
        for item in expired:
            delete = {
                "TableName": table,
                "Key": {name: item[name] for name in key_names},
                "ConditionExpression": expression,  # it may have been prolonged since it was read
                **condition,
            }
            reply = await durable.write("DeleteItem", json.dumps(delete).encode("utf-8"))
            gone += reply.status == 200
    return gone


async def keep_deleting(
    durable: Durable, give_up: Callable[[str], None], clock: Callable[[], float] = time.time
) -> None:
    """Delete what has expired, once a minute, until cancelled. A round that fails is logged; the next one comes.

    `give_up` is called with the reason when memory and journal may differ; it must end the process.
    """
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        try:
            gone = await delete_expired(durable, clock())
        except StateUncertain as error:
            give_up(str(error))
        except Exception:
            log.exception("expiry_failed")
        else:
            if gone:
                log.info("items_expired", count=gone)
