"""Clocks that tests set by hand."""

from __future__ import annotations


class FakeClock:
    """Starts at a fixed instant and moves only when told. `skewed` gives another actor's view of the same time."""

    def __init__(self, start: int = 1_800_000_000) -> None:
        self.seconds = float(start)

    def now(self) -> int:
        return int(self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds

    def skewed(self, seconds: int) -> SkewedClock:
        return SkewedClock(self, seconds)


class SkewedClock:
    """A host whose wall clock is off by a fixed number of seconds; its monotonic clock is as good as any."""

    def __init__(self, true: FakeClock, skew: int) -> None:
        self._true = true
        self.skew = skew

    def now(self) -> int:
        return self._true.now() + self.skew

    def monotonic(self) -> float:
        return self._true.monotonic()
