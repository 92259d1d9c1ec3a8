"""The checker of the lease bench: it passes what the protocol allows and names what it forbids."""

from __future__ import annotations

from typing import Any

import pytest

from service.bench.history import Final, Operation, violations


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
        (FAIR, Final(1, "v"), "is missing"),
        (FAIR, Final(3, "x"), "only 2 were acknowledged"),
        (FAIR, Final(2, "v"), "is not the stored"),
    ],
)
def test_what_the_protocol_forbids_is_named(history: list[Operation], final: Final | None, words: str) -> None:
    found = violations(history, {"m": final} if final else {})
    assert any(words in sentence for sentence in found), found
