"""What polling pages were shown, against the edits that were acknowledged. Pure: the checker sees the record alone.

A page may be told a little late of an edit, as long as others may share one reading; it must never be told of an
earlier state than it was told of before, and "unchanged" only of the very state that it holds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

LATE_SECONDS = 1.0
"""How much older than its question an answer may be."""
_EDITS_KEPT = 256
_SENTENCES_KEPT = 100


@dataclass(slots=True)
class _Page:
    tag: bytes | None = None
    edit_seq: int = -1


class Sightings:
    """The record of one run, in bounded memory. All instants are on one monotonic clock, in seconds.

    `violations`: the first of the rules' breaches as sentences; `broken`: how many there were. `needless`: answers sent
    whole to a page that held that very version. `latest`: how old the oldest answer was that lacked an edit which had
    been acknowledged before the question.
    """

    def __init__(self, late_seconds: float = LATE_SECONDS) -> None:
        self._late_seconds = late_seconds
        self._pages: dict[int, _Page] = {}
        self._edits: dict[str, deque[tuple[int, float]]] = {}
        self.violations: list[str] = []
        self.broken = 0
        self.needless = 0
        self.latest = 0.0

    def edited(self, movie: str, edit_seq: int, acknowledged: float) -> None:
        """An edit's answer has come."""
        self._edits.setdefault(movie, deque(maxlen=_EDITS_KEPT)).append((edit_seq, acknowledged))

    def shown(self, page: int, movie: str, asked: float, sent: bytes | None, tag: bytes | None, edit_seq: int) -> None:
        """A whole answer to a question of instant `asked`, which showed the tag `sent`, if any."""
        known = self._pages.setdefault(page, _Page())
        if edit_seq < known.edit_seq:
            self._broken(f"{movie}: page {page} was shown edit {edit_seq} after edit {known.edit_seq}")
        if tag is not None and tag == known.tag and edit_seq != known.edit_seq:
            self._broken(f"{movie}: edits {known.edit_seq} and {edit_seq} were shown to page {page} under one tag")
        elif sent is not None and sent == tag:
            self.needless += 1
        known.tag, known.edit_seq = tag, edit_seq
        self._is_not_late(page, movie, asked, edit_seq)

    def unchanged(self, page: int, movie: str, asked: float, sent: bytes | None, tag: bytes | None) -> None:
        """A 304 to a question of instant `asked`; `tag` is the one that it names, if any."""
        known = self._pages.setdefault(page, _Page())
        if sent is None or known.tag != sent:
            self._broken(f"{movie}: page {page} was told that nothing changed, though it holds no such version")
            return
        if tag is not None and tag != sent:
            self._broken(f"{movie}: page {page} asked with one tag and was told that another is unchanged")
        self._is_not_late(page, movie, asked, known.edit_seq)

    def _is_not_late(self, page: int, movie: str, asked: float, edit_seq: int) -> None:
        edits = self._edits.get(movie)
        if not edits or edits[-1][0] <= edit_seq:
            return
        missed = min(acknowledged for number, acknowledged in edits if number > edit_seq)
        late = asked - missed
        self.latest = max(self.latest, late)
        if late > self._late_seconds:
            self._broken(f"{movie}: page {page} was not shown an edit that had been acknowledged {late:.2f} s before")

    def _broken(self, sentence: str) -> None:
        self.broken += 1
        if len(self.violations) < _SENTENCES_KEPT:
            self.violations.append(sentence)
