"""What the Date headers of replies tell of this machine's clock."""

from __future__ import annotations

import random

import pytest

from service.domain.clock_skew import ClockSkew


def replies(skew: ClockSkew, ahead: float, *, start: float = 1e9, many: int = 200, trip: float = 0.02) -> None:
    """So many replies at random moments of half a minute, to a clock that is `ahead` of the database's."""
    dice = random.Random(7)
    for n in range(many):
        true = start + 30 * n / many + dice.random() * 0.1
        skew.note(true + ahead, true + ahead + trip, int(true + trip * dice.random()))


@pytest.mark.parametrize("ahead", [0.0, 0.3, -0.8, 7.25, -300.0])
def test_many_replies_tell_the_skew_far_better_than_the_seconds_of_their_headers(ahead: float) -> None:
    skew = ClockSkew()
    replies(skew, ahead)
    found = skew.estimate()
    assert found is not None
    assert found.within < 0.05
    assert abs(found.seconds - ahead) <= found.within + 1e-6


def test_one_reply_tells_it_within_half_a_second_and_half_its_trip() -> None:
    skew = ClockSkew()
    assert skew.estimate() is None
    skew.note(100.0, 100.5, 100)
    found = skew.estimate()
    assert found is not None
    assert (found.seconds, found.within) == pytest.approx((-0.25, 0.75))


@pytest.mark.parametrize("keep", [30.0, 100.0], ids=["in the next span", "in the same span"])
@pytest.mark.parametrize("step", [-3600.0, 5.0])
def test_a_clock_that_is_set_is_believed_anew_at_once(step: float, keep: float) -> None:
    skew = ClockSkew(keep)
    replies(skew, 0.0)
    replies(skew, step, start=1e9 + 31, many=1)
    found = skew.estimate()
    assert found is not None
    assert abs(found.seconds - step) <= found.within + 1e-6


def test_a_clock_that_drifts_is_followed() -> None:
    """By three tenths of a second within two minutes: replies of a minute ago no longer count."""
    skew = ClockSkew()
    for n in range(5):
        replies(skew, 0.075 * n, start=1e9 + 30 * n)
    found = skew.estimate()
    assert found is not None
    assert abs(found.seconds - 0.3) < 0.1
