"""Compare this machine's clock with the database's at every reply. Costs a reply a few microseconds and no request.

Leases are counted in epoch seconds by many machines. Tokens keep them safe under any skew, but progress is promised
only while clocks agree within a quarter of a lease.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from typing import Any

from service import metrics
from service.domain.clock_skew import ClockSkew

_sent: ContextVar[float | None] = ContextVar("sent", default=None)


def watch_clock(client: Any, now: Callable[[], float] = time.time) -> ClockSkew:
    """From now on every reply to this DynamoDB client is noted in what is returned, and shown as a metric.

    Call it after `replies.read_items_directly`, which lets no reply through that is not the database's.
    """
    watch = _Watch(now)
    client.meta.events.register("before-send.dynamodb.*", watch.sends)
    client.meta.events.register("before-parse.dynamodb.*", watch.reads)
    return watch.skew


class _Watch:
    def __init__(self, now: Callable[[], float]) -> None:
        self.skew = ClockSkew()
        self._now = now
        self._read: tuple[str, float] = ("", 0.0)  # the header read last, since most replies of a second have the same

    def sends(self, **_of_the_event: Any) -> None:
        """A request leaves. It and its reply are one task, so that task's context holds the time."""
        _sent.set(self._now())

    def reads(self, response_dict: dict[str, Any], **_of_the_event: Any) -> None:
        came, sent, text = self._now(), _sent.get(), response_dict["headers"].get("date")
        if sent is None or not text:
            return
        fresh = text != self._read[0]
        if fresh:
            try:
                self._read = (text, parsedate_to_datetime(text).timestamp())
            except ValueError:
                return
        self.skew.note(sent, came, self._read[1])
        if fresh:
            self._show()

    def _show(self) -> None:
        found = self.skew.estimate()
        if found is not None:
            metrics.CLOCK_SKEW.set(found.seconds)
            metrics.CLOCK_SKEW_WITHIN.set(found.within)
