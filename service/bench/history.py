"""What clients did and were told, and whether the protocol allows it. Pure: the checker sees the record alone.

Every operation has the instant before its request was sent and the instant after its answer came, on one monotonic
clock. What a client was granted it holds *for certain* from its answer to its own release (or to the last expiry it was
told of), and *perhaps* from its request to the end of its release. Two certain holds that overlap, or an accepted write
inside another's certain hold, are violations whatever the network did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Kind = Literal["acquire", "take over", "heartbeat", "write", "release"]


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


@dataclass(frozen=True, slots=True)
class Hold:
    """A lease's life as its holder knows it: certain within, possible around."""

    lease: str
    client: int
    begins: float
    certain_from: float
    certain_to: float
    ends: float


def violations(history: Iterable[Operation], finals: Mapping[str, Final]) -> list[str]:
    """Every rule that the history breaks, as sentences; empty if it breaks none."""
    by_movie: dict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        by_movie[operation.movie].append(operation)
    found: list[str] = []
    for movie, operations in sorted(by_movie.items()):
        holds = holds_of(operations)
        found += _granted_twice(movie, operations)
        found += _overlaps(movie, holds)
        found += _writes_outside(movie, operations, holds)
        found += _order_of_writes(movie, operations)
        if movie in finals:
            found += _lost_writes(movie, operations, finals[movie])
    return found


def holds_of(operations: Sequence[Operation]) -> list[Hold]:
    """The leases that were granted, in the order of their answers. A take-over's request ends every earlier one."""
    takeovers = [o for o in operations if o.kind == "take over" and (o.accepted or not o.answered)]
    holds = []
    for grant in sorted(
        (o for o in operations if o.kind in ("acquire", "take over") and o.accepted), key=lambda o: o.end
    ):
        own = [o for o in operations if o.lease == grant.lease and o is not grant]
        expires = max([grant.expires, *(o.expires for o in own if o.kind == "heartbeat" and o.accepted)])
        released = [o for o in own if o.kind == "release"]
        # Answers may overtake each other: one that was on its way when the grant was asked for may have come after it.
        taken = [t.start for t in takeovers if t is not grant and t.end > grant.start]
        certain_to = min([expires, *(r.start for r in released), *taken])
        # An unanswered heartbeat may have renewed the lease for as long as the longest one that is known to.
        ends = min([r.end for r in released if r.answered] or [float("inf")])
        holds.append(Hold(grant.lease or "", grant.client, grant.start, grant.end, max(grant.end, certain_to), ends))
    return holds


def _granted_twice(movie: str, operations: Sequence[Operation]) -> list[str]:
    found: list[str] = []
    owners: dict[str, int] = {}
    for grant in operations:
        if grant.kind in ("acquire", "take over") and grant.accepted:
            if not grant.lease:
                found.append(f"{movie}: client {grant.client} was granted nothing")
            elif owners.setdefault(grant.lease, grant.client) != grant.client:
                found.append(f"{movie}: one lease was granted to clients {owners[grant.lease]} and {grant.client}")
    return found


def _overlaps(movie: str, holds: Sequence[Hold]) -> list[str]:
    """Each hold against the one before it that lasts longest. A lease that was lost before its grant was answered was
    never held for certain; it was wrongly granted only if another held the movie during the whole request.
    """
    found = []
    ordered = sorted(holds, key=lambda hold: hold.certain_from)
    longest = ordered[0] if ordered else None
    for later in ordered[1:]:
        assert longest is not None
        certain = later.certain_from < later.certain_to or longest.certain_from <= later.begins
        if longest.lease != later.lease and certain and later.certain_from < longest.certain_to:
            found.append(
                f"{movie}: clients {longest.client} and {later.client} held it together"
                f" for {longest.certain_to - later.certain_from:.3f} s"
            )
        longest = max(longest, later, key=lambda hold: hold.certain_to)
    return found


def _writes_outside(movie: str, operations: Sequence[Operation], holds: Sequence[Hold]) -> list[str]:
    found, known = [], {hold.lease: hold for hold in holds}
    for write in operations:
        if write.kind != "write" or not write.accepted:
            continue
        own = known.get(write.lease or "")
        if own is None:
            found.append(
                f"{movie}: a write of client {write.client} was accepted under a lease that nobody was granted"
            )
            continue
        if write.client != own.client or write.end < own.begins or write.start > own.ends:
            found.append(f"{movie}: a write of client {write.client} was accepted outside its lease")
        for other in holds:
            if other.lease != own.lease and other.certain_from < write.start and write.end < other.certain_to:
                found.append(f"{movie}: a write of client {write.client} was accepted while {other.client} held it")
    return found


def _order_of_writes(movie: str, operations: Sequence[Operation]) -> list[str]:
    found = []
    writes = sorted((o for o in operations if o.kind == "write" and o.accepted), key=lambda o: o.edit_seq)
    for earlier, later in pairwise(writes):
        if earlier.edit_seq == later.edit_seq:
            found.append(f"{movie}: two accepted writes are both edit {later.edit_seq}")
        elif later.end < earlier.start:
            found.append(
                f"{movie}: edit {later.edit_seq} was acknowledged before edit {earlier.edit_seq} was asked for"
            )
    return found


def _lost_writes(movie: str, operations: Sequence[Operation], final: Final) -> list[str]:
    """Counters are given out one by one: acknowledged and unanswered writes must account for every one of them."""
    accepted = {o.edit_seq: o for o in operations if o.kind == "write" and o.accepted}
    unanswered = sum(1 for o in operations if o.kind == "write" and not o.answered)
    found = []
    last = max(accepted, default=0)
    if last > final.edit_seq:
        found.append(f"{movie}: the acknowledged edit {last} is missing; the row stands at {final.edit_seq}")
    if final.edit_seq - len(accepted) > unanswered:
        found.append(f"{movie}: {final.edit_seq} edits are stored, but only {len(accepted)} were acknowledged")
    if last == final.edit_seq and last and accepted[last].value != final.value:
        found.append(f"{movie}: the last acknowledged value {accepted[last].value} is not the stored {final.value}")
    return found
