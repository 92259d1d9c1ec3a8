"""Which lane of the queue a free slot of a worker waits at."""

from __future__ import annotations

from contextlib import ExitStack

from service.domain.lease import Kind
from service.store.queue import Queue
from service.worker.lanes import Lanes


def test_free_slots_spread_over_the_lanes_and_traces_come_first() -> None:
    lanes = Lanes(("inspect", "trace"))
    with ExitStack() as stack:
        chosen = [stack.enter_context(lanes.waiting()) for _ in range(4)]
    assert chosen == ["trace", "inspect", "trace", "inspect"]


def test_a_slot_for_inspections_alone_leaves_the_others_to_traces() -> None:
    lanes = Lanes(("trace", "inspect"))
    with lanes.waiting("inspect") as own, lanes.waiting() as first, lanes.waiting() as second:
        assert (own, first, second) == ("inspect", "trace", "trace")


def test_under_a_flood_a_slot_that_becomes_free_goes_where_nobody_waits() -> None:
    """Of three slots that may do both, the last free one always waits for traces, whatever floods in."""
    lanes = Lanes(("trace", "inspect"))
    with lanes.waiting() as idle:
        assert idle == "trace"
        for _ in range(200):  # each takes a message at once and is not waiting any more when it works
            with lanes.waiting() as flooded:
                assert flooded == "inspect"
    with lanes.waiting() as after:
        assert after == "trace"


def test_one_queue_for_both_kinds_is_one_lane() -> None:
    urls: dict[Kind, str] = {"trace": "a", "inspect": "a"}
    assert Queue(None, urls).lanes == ("trace",)
    assert not Lanes(Queue(None, urls).lanes).apart
    assert Queue(None, {"trace": "a", "inspect": "b"}).lanes == ("trace", "inspect")
