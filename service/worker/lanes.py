"""At which lane of the queue a free slot waits, so that a flood of one kind of job never holds up the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from service.domain.lease import Kind


class Lanes:
    """A free slot waits at the lane where fewest others wait, and of equals at the first, which is that of traces.

    So as long as two slots are free every lane has one that waits for its next job at once, and one that becomes free
    under a flood goes where nobody waits.
    """

    def __init__(self, lanes: Sequence[Kind]) -> None:
        first = sorted(lanes, key=lambda lane: lane != "trace")
        self._waiting: dict[Kind, int] = dict.fromkeys(first, 0)

    @property
    def apart(self) -> bool:
        """Has each kind of job a queue of its own?"""
        return len(self._waiting) > 1

    @contextmanager
    def waiting(self, own: Kind | None = None) -> Iterator[Kind]:
        """Where to wait while inside; `own`: for a slot that does one kind of job alone."""
        lane = own if own is not None else self._loneliest()
        self._waiting[lane] += 1
        try:
            yield lane
        finally:
            self._waiting[lane] -= 1

    def _loneliest(self) -> Kind:
        return min(self._waiting, key=lambda lane: self._waiting[lane])
