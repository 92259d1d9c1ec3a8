"""The checker of the lease bench: it passes what the protocol allows and names what it forbids."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from service.bench.history import SETTLED_SECONDS, Final, Operation, Record, violations


def op(kind: Any, client: int, start: float, end: float, **more: Any) -> Operation:
    return Operation(kind, client, "m", start, end, more.pop("accepted", True), **more)


def grant(
    client: int, start: float, end: float, lease: str, expires: float = 100.0, kind: str = "acquire"
) -> Operation:
    return op(kind, client, start, end, lease=lease, expires=expires)


def write(client: int, start: float, end: float, lease: str, seq: int, value: str = "v") -> Operation:
    return op("write", client, start, end, lease=lease, edit_seq=seq, value=value)


FAIR = [
    grant(1, 0, 1, "a"),
    write(1, 2, 3, "a", 1),
    op("acquire", 2, 2, 3, accepted=False),
    op("release", 1, 4, 5, lease="a"),
    grant(2, 4.5, 6, "b"),
    write(2, 7, 8, "b", 2, "last"),
]


def test_a_fair_history_breaks_nothing() -> None:
    assert violations(FAIR, {"m": Final(2, "last")}) == []


def test_a_lease_that_expired_or_was_taken_over_overlaps_nobody() -> None:
    assert violations([grant(1, 0, 1, "a", expires=5), grant(2, 5, 6, "b")], {}) == []
    assert violations([grant(1, 0, 1, "a"), grant(2, 2, 3, "b", kind="take over")], {}) == []


def test_a_take_over_may_be_answered_before_the_grant_that_it_ended() -> None:
    """Two web processes answer when they can: client 2 took over, and only then client 1 heard of its own grant."""
    overtaken = [grant(2, 1, 2, "b", kind="take over"), grant(1, 0, 3, "a")]
    assert violations(overtaken, {}) == []
    before = [grant(2, 1, 2, "b", kind="take over"), grant(1, 2.5, 3, "a")]
    assert any("held it together" in sentence for sentence in violations(before, {}))


def test_a_refusal_is_fair_once_the_lease_may_have_ended() -> None:
    refused = op("write", 1, 5, 6, lease="a", accepted=False)
    for gone in (
        [grant(1, 0, 1, "a", expires=5.5)],
        [grant(1, 0, 1, "a"), op("release", 1, 2, 3, lease="a", accepted=False, answered=False)],
        [grant(1, 0, 1, "a"), op("take over", 2, 5.5, 9, accepted=False, answered=False)],
    ):
        assert violations([*gone, refused], {}) == []


def test_a_write_whose_answer_was_lost_may_be_there_or_not() -> None:
    lost = op("write", 1, 2, 3, lease="a", accepted=False, answered=False)
    for stored in (0, 1):
        assert violations([grant(1, 0, 1, "a"), lost], {"m": Final(stored, "x")}) == []


@pytest.mark.parametrize(
    ("history", "final", "words"),
    [
        ([grant(1, 0, 1, "a"), grant(2, 2, 3, "b")], None, "held it together"),
        ([grant(1, 0, 1, "a"), grant(2, 2, 3, "a")], None, "one lease was granted to"),
        ([op("acquire", 1, 0, 1)], None, "granted nothing"),
        ([write(1, 2, 3, "z", 1)], None, "nobody was granted"),
        ([grant(1, 0, 1, "a"), op("release", 1, 2, 3, lease="a"), write(1, 4, 5, "a", 1)], None, "outside its lease"),
        ([grant(1, 0, 1, "a"), write(2, 2, 3, "a", 1)], None, "outside its lease"),
        (
            [grant(1, 0, 1, "a", expires=3), grant(2, 3, 4, "b"), write(1, 5, 6, "a", 1)],
            None,
            "accepted while 2 held it",
        ),
        ([grant(1, 0, 1, "a"), write(1, 2, 3, "a", 1), write(1, 4, 5, "a", 1)], None, "are both edit 1"),
        ([grant(1, 0, 1, "a"), write(1, 2, 3, "a", 2), write(1, 4, 5, "a", 1)], None, "acknowledged before edit"),
        ([grant(1, 0, 1, "a"), op("write", 1, 2, 3, lease="a", accepted=False)], None, "was refused while it held"),
        ([grant(1, 0, 1, "a"), op("heartbeat", 1, 2, 3, lease="a", accepted=False)], None, "was refused while it held"),
        ([grant(1, 0, 1, "a"), op("release", 1, 2, 3, lease="a", accepted=False)], None, "was refused while it held"),
        (FAIR, Final(1, "v"), "is missing"),
        (FAIR, Final(3, "x"), "only 2 were acknowledged"),
        (FAIR, Final(2, "v"), "is not the stored"),
    ],
)
def test_what_the_protocol_forbids_is_named(history: list[Operation], final: Final | None, words: str) -> None:
    found = violations(history, {"m": final} if final else {})
    assert any(words in sentence for sentence in found), found


def long_history(seconds: float) -> tuple[list[Operation], Final]:
    """One movie that goes from hand to hand, as a sound server would let it, in the order of the answers."""
    chance = random.Random(3)
    told: list[Operation] = []
    now, seq, value = 0.0, 0, ""
    while now < seconds:
        client, lease = chance.randrange(9), f"{chance.getrandbits(64):x}"
        kind = "take over" if chance.random() < 0.1 else "acquire"
        told.append(grant(client, now, now + 0.2, lease, expires=now + 4, kind=kind))
        for _ in range(chance.randrange(4)):
            now += 0.3
            seq, value = seq + 1, f"v{seq + 1}"
            told.append(write(client, now, now + 0.2, lease, seq, value))
        now += 0.3
        ending = chance.choice(("release", "release", "release", "forgotten", "taken over"))
        if ending == "release":
            told.append(op("release", client, now, now + 0.2, lease=lease))
            now += 0.1
        elif ending == "forgotten":
            now += 4
        else:
            told.append(grant(99, now, now + 0.2, f"over {now}", expires=now + 4, kind="take over"))
            told.append(op("release", 99, now + 0.3, now + 0.4, lease=f"over {now}"))
            now += 0.5
    return sorted(told, key=lambda o: o.end), Final(seq, value)


def test_a_long_history_is_judged_as_it_goes_and_forgotten() -> None:
    told, final = long_history(2000)
    record, most = Record(), 0
    for operation in told:
        record.note(operation)
        most = max(most, record.kept)
    assert record.close({"m": final}) == []
    assert len(told) > 4000
    within = max(sum(abs(o.end - at) < SETTLED_SECONDS for o in told) for at in range(0, 2000, 45))
    assert most <= within, "no more than what came within a minute and a half"


@pytest.mark.parametrize("kind", ["acquire", "write", "release"])
def test_what_is_forbidden_is_found_wherever_it_stands_in_a_long_history(kind: str) -> None:
    told, final = long_history(600)
    grants = [n for n, o in enumerate(told) if o.kind == "acquire" and told[n + 1].kind == "write"]
    for at in (grants[1], grants[len(grants) // 2], grants[-2]):
        damaged = list(told)
        held, done = told[at], told[at + 1]
        if kind == "acquire":  # somebody else is granted it between
            damaged.insert(at + 1, grant(50, held.end, held.end + 0.01, "second", expires=held.end + 4))
        elif kind == "write":  # somebody else's write is accepted
            damaged[at + 1] = replace(done, client=50)
        else:  # a write comes back as done after its release
            after = next(
                n for n in range(at, len(told)) if told[n].kind in ("release", "take over", "acquire") and n > at
            )
            late = told[after].end + 0.05
            damaged.insert(after, op("release", held.client, done.end, done.end + 0.01, lease=held.lease))
            damaged.append(write(held.client, late, late + 0.01, held.lease or "", done.edit_seq, "again"))
        assert violations(damaged, {"m": final}), (kind, at)
