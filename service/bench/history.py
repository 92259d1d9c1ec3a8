"""What clients did and were told, and whether the protocol allows it. Pure: the checker sees the record alone.

Every operation has the instant before its request was sent and the instant after its answer came, on one monotonic
clock. What a client was granted it holds *for certain* from its answer to its own release (or to the last expiry it was
told of), and *perhaps* from its request to the end of its release. Two certain holds that overlap, an accepted write
inside another's certain hold, and a refusal inside one's own, are violations whatever the network did.

A record may be of any length: what is so old that nothing which still comes can bear on it is judged and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Literal

Kind = Literal["acquire", "take over", "heartbeat", "write", "release"]

SETTLED_SECONDS = 45.0
"""How long after its end an operation can matter: longer than any client waits for an answer."""
_STALE_SECONDS = 5.0
"""How long after the expiry that it was told of a lease may in truth still live."""
_SENTENCES_KEPT = 100


@dataclass(frozen=True, slots=True)
class Operation:
    """One request and its answer.

    `accepted`: granted, active, written or released. `expires`: until when (on the same clock, at the earliest) the
    lease lives, as the answer says. `edit_seq`: the movie's edit counter after an accepted write; `value`: what was
    written. An operation whose answer never came has `answered` False: it may or may not have happened.
    """

    kind: Kind
    client: int
    movie: str
    start: float
    end: float
    accepted: bool
    lease: str | None = None
    expires: float = 0.0
    edit_seq: int = 0
    value: str | None = None
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Final:
    """A movie's row after everything: its edit counter and the value that was written last."""

    edit_seq: int
    value: str | None


@dataclass(slots=True)
class Hold:
    """A lease's life as its holder knows it.

    It can be lost from `released` or `taken` on, the requests of a release or a take-over, and is from `ends` on.
    `latest`: until when it may live, if no answer said so.
    """

    lease: str
    client: int
    begins: float
    certain_from: float
    expires: float
    latest: float
    released: float = inf
    taken: float = inf
    ends: float = inf
    replaced: float = inf

    @property
    def certain_to(self) -> float:
        return max(self.certain_from, min(self.expires, self.released, self.taken))

    @property
    def over(self) -> float:
        """From when on no write can be accepted under it."""
        return min(self.ends, self.replaced, self.latest + _STALE_SECONDS)

    def renewed(self, beat: Operation) -> None:
        if beat.accepted:
            self.expires = max(self.expires, beat.expires)
        elif not beat.answered:  # for as long as it was given at first, perhaps
            self.latest = max(self.latest, beat.end + self.expires - self.certain_from)
        self.latest = max(self.latest, self.expires)

    def taken_by(self, other: Operation) -> None:
        self.taken = min(self.taken, other.start)
        if other.accepted and self.certain_from <= other.start:
            self.replaced = min(self.replaced, other.end)


def violations(history: Iterable[Operation], finals: Mapping[str, Final]) -> list[str]:
    """Every rule that the history breaks, as sentences; empty if it breaks none."""
    record = Record()
    for operation in sorted(history, key=lambda operation: operation.end):
        record.note(operation)
    return record.close(finals)


class Record:
    """The history of one run, told in the order of its answers. `broken` counts the violations so far."""

    def __init__(self) -> None:
        self._movies: dict[str, _Movie] = {}
        self._sentences: list[str] = []
        self._looked = 0.0
        self.broken = 0

    def note(self, operation: Operation) -> None:
        """An answer came, or was given up."""
        movie = self._movies.setdefault(operation.movie, _Movie())
        self._told(operation.movie, movie.note(operation))
        if operation.end > self._looked + SETTLED_SECONDS / 3:
            self._looked = operation.end
            for name, one in self._movies.items():
                self._told(name, one.settle(operation.end - SETTLED_SECONDS))

    def close(self, finals: Mapping[str, Final]) -> list[str]:
        """Nothing more comes. The first of all violations as sentences, each beginning with its movie."""
        for name, movie in sorted(self._movies.items()):
            self._told(name, movie.settle(inf))
            if name in finals:
                self._told(name, movie.lost_writes(finals[name]))
        return self._sentences

    @property
    def kept(self) -> int:
        """Leases and writes that are held in memory."""
        return sum(len(one.holds) + len(one.writes) + len(one.refused) for one in self._movies.values())

    def _told(self, movie: str, found: list[str]) -> None:
        self.broken += len(found)
        self._sentences += [f"{movie}: {one}" for one in found[: _SENTENCES_KEPT - len(self._sentences)]]


@dataclass(slots=True)
class _Movie:
    """What may still matter of one movie's history, and what is known of the rest."""

    holds: dict[str, Hold] = field(default_factory=dict)
    longest: Hold | None = None
    takeovers: list[Operation] = field(default_factory=list)
    writes: list[Operation] = field(default_factory=list)
    refused: list[Operation] = field(default_factory=list)
    last: Operation | None = None
    acknowledged: int = 0
    unanswered: int = 0

    def note(self, operation: Operation) -> list[str]:
        hold = self.holds.get(operation.lease or "")
        if operation.kind == "take over" and (operation.accepted or not operation.answered):
            for earlier in self.holds.values():
                earlier.taken_by(operation)
            self.takeovers.append(operation)
        if operation.kind in ("acquire", "take over"):
            return self._granted(operation, hold) if operation.accepted else []
        if operation.answered and not operation.accepted:
            self.refused.append(operation)
        if operation.kind == "write":
            if operation.accepted:
                self.writes.append(operation)
            self.unanswered += not operation.answered
        elif hold is None:
            return []
        elif operation.kind == "heartbeat":
            hold.renewed(operation)
        elif operation.kind == "release":
            hold.released = min(hold.released, operation.start)
            if operation.answered:  # an unanswered one may not have come yet
                hold.ends = min(hold.ends, operation.end)
        return []

    def _granted(self, grant: Operation, hold: Hold | None) -> list[str]:
        if not grant.lease:
            return [f"client {grant.client} was granted nothing"]
        if hold is None:
            made = Hold(grant.lease, grant.client, grant.start, grant.end, grant.expires, latest=grant.expires)
            # Answers may overtake each other: one that was on its way when this grant was asked for may have come.
            under_way = [other.start for other in self.takeovers if other is not grant and other.end > grant.start]
            made.taken = min(under_way, default=inf)
            self.holds[grant.lease] = made
        elif hold.client != grant.client:
            return [f"one lease was granted to clients {hold.client} and {grant.client}"]
        return []

    def settle(self, horizon: float) -> list[str]:
        """Judge and forget what had ended by then."""
        ripe = [write for write in self.writes if write.end < horizon]
        found = [sentence for write in ripe for sentence in self._write_outside(write)]
        found += self._disorder(ripe)
        found += [sentence for act in self.refused if act.end < horizon for sentence in self._refused_inside(act)]
        self.refused = [act for act in self.refused if act.end >= horizon]
        self.writes = [write for write in self.writes if write.end >= horizon]
        self.takeovers = [one for one in self.takeovers if one.end >= horizon]
        named = {act.lease for act in (*self.writes, *self.refused)}
        # One after the other: a lease that is still held may overlap any that was granted after it.
        for hold in sorted(self.holds.values(), key=lambda hold: hold.certain_from):
            if hold.over >= horizon or hold.lease in named:
                break
            found += self._overlap(hold)
            del self.holds[hold.lease]
        return found

    def _overlap(self, hold: Hold) -> list[str]:
        """A hold against the one before it that lasts longest.

        A lease that was lost before its grant was answered was never held for certain; it was wrongly granted only if
        another held the movie during the whole request.
        """
        longest = self.longest
        if longest is None or hold.certain_to > longest.certain_to:
            self.longest = hold
        if longest is None or hold.certain_from >= longest.certain_to:
            return []
        if hold.certain_from == hold.certain_to and longest.certain_from > hold.begins:
            return []
        together = longest.certain_to - hold.certain_from
        return [f"clients {longest.client} and {hold.client} held it together for {together:.3f} s"]

    def _write_outside(self, write: Operation) -> list[str]:
        own = self.holds.get(write.lease or "")
        if own is None:
            return [f"a write of client {write.client} was accepted under a lease that nobody was granted"]
        found = []
        if write.client != own.client or write.end < own.begins or write.start > own.ends:
            found.append(f"a write of client {write.client} was accepted outside its lease")
        for other in self.holds.values():
            if other is not own and other.certain_from < write.start and write.end < other.certain_to:
                found.append(f"a write of client {write.client} was accepted while {other.client} held it")
        return found

    def _refused_inside(self, act: Operation) -> list[str]:
        own = self.holds.get(act.lease or "")
        if own is None or act.client != own.client or own.released < act.start:
            return []
        if own.certain_from <= act.start and act.end <= min(own.expires, own.taken):
            return [f"a {act.kind} of client {act.client} was refused while it held the lease"]
        return []

    def _disorder(self, ripe: list[Operation]) -> list[str]:
        found = []
        before = [self.last] if self.last else []
        ordered = sorted([*before, *ripe], key=lambda write: write.edit_seq)
        for earlier, later in pairwise(ordered):
            if earlier.edit_seq == later.edit_seq:
                self.acknowledged -= 1
                found.append(f"two accepted writes are both edit {later.edit_seq}")
            elif later.end < earlier.start:
                found.append(f"edit {later.edit_seq} was acknowledged before edit {earlier.edit_seq} was asked for")
        self.acknowledged += len(ripe)
        self.last = ordered[-1] if ordered else None
        return found

    def lost_writes(self, final: Final) -> list[str]:
        """Counters are given out one by one: acknowledged and unanswered writes must account for every one of them."""
        found = []
        last = self.last.edit_seq if self.last else 0
        if last > final.edit_seq:
            found.append(f"the acknowledged edit {last} is missing; the row stands at {final.edit_seq}")
        if final.edit_seq - self.acknowledged > self.unanswered:
            found.append(f"{final.edit_seq} edits are stored, but only {self.acknowledged} were acknowledged")
        if self.last and last == final.edit_seq and self.last.value != final.value:
            found.append(f"the last acknowledged value {self.last.value} is not the stored {final.value}")
        return found
