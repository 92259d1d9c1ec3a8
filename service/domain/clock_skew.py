"""How far this machine's clock is from the database's, told from the Date headers of its replies.

A header tells whole seconds. A reply whose header says d left the database between d and d + 1 of its time, and
between `sent` and `came` of ours, so we are ahead of it by something between sent - d - 1 and came - d. Each reply
narrows that down: after many, which meet the second at different places, only the time that a request takes is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

_ANYTHING = (-inf, inf)


@dataclass(frozen=True, slots=True)
class Skew:
    """Our clock is ahead of the database's by `seconds`, which is right within `within` seconds either way."""

    seconds: float
    within: float


class ClockSkew:
    """A running estimate from the replies of the last `keep` to twice `keep` seconds, so that it follows a drift."""

    def __init__(self, keep: float = 30.0) -> None:
        self._keep = keep
        self._began = -inf
        self._former = self._latest = _ANYTHING

    def note(self, sent: float, came: float, date: float) -> None:
        """One reply: when its request left and when it came by our clock, and what its header says. Epoch seconds."""
        if not 0 <= came - self._began < self._keep:
            self._former, self._latest, self._began = self._latest, _ANYTHING, came
        low, high = sent - date - 1, came - date
        known = max(low, self._latest[0]), min(high, self._latest[1])
        if known[0] > known[1]:  # one of the two clocks has been set: what was known before is of no use
            self._former, known = _ANYTHING, (low, high)
        self._latest = known

    def estimate(self) -> Skew | None:
        """None before the first reply."""
        low, high = max(self._former[0], self._latest[0]), min(self._former[1], self._latest[1])
        if low > high:
            low, high = self._latest
        return None if low == -inf else Skew((low + high) / 2, (high - low) / 2)
