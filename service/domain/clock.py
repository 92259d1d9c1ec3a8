"""Time as a parameter. Stored instants are whole epoch seconds; durations are monotonic."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where an actor's time comes from. Two actors may disagree; tokens, not clocks, keep the protocol safe."""

    def now(self) -> int:
        """Unix epoch seconds, whole."""

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""


class SystemClock:
    """This machine's clocks."""

    def now(self) -> int:
        return int(time.time())

    def monotonic(self) -> float:
        return time.monotonic()
