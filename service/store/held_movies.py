"""Which movies somebody was seen to hold: whoever wants one of them asks in another way, and is told the same."""

from __future__ import annotations

from collections import OrderedDict

_MOST = 10_000


class HeldMovies:
    """A hint of this process, never an answer: the row may have changed since it was seen.

    A lease is best asked for by the write itself. Where somebody holds the movie that write would be in vain, and a
    hundred pages that want the same movie would send a hundred; what they read is read once for all.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[str, int] = OrderedDict()

    def seen(self, movie_id: str, until: int) -> None:
        """Somebody holds it, and need not renew it before `until`, in epoch seconds."""
        self._until[movie_id] = until
        self._until.move_to_end(movie_id)
        if len(self._until) > _MOST:
            self._until.popitem(last=False)

    def free(self, movie_id: str) -> None:
        """It has been taken by who asks now, or is free."""
        self._until.pop(movie_id, None)

    def seems_held(self, movie_id: str, now: int) -> bool:
        return self._until.get(movie_id, now) > now
