"""The arithmetic of capacity: DynamoDB's units, what grows with what, and the command that prints it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from service.bench.capacity import HABITS, MEASURED, PRICES, demand, limits, movies_cost, rates
from service.bench.units import Units, item_bytes, read_units, write_units
from service.cli.bench import bench
from service.store.marshal import pack_item


def test_an_items_bytes_are_its_names_and_values() -> None:
    assert item_bytes({"id": {"S": "Łukasz"}}) == 2 + 7
    assert item_bytes({"n": {"N": "1200"}}) == 1 + 2, "zeros at the ends cost nothing"
    assert item_bytes({"n": {"N": "-12.345"}}) == 1 + 4
    assert item_bytes(pack_item({"flag": True, "list": [1, "ab"]})) == 4 + 1 + 4 + 3 + (1 + 2) + (1 + 2)
    assert item_bytes({"m": {"M": {"a": {"S": "b"}}}}) == 1 + 3 + 1 + 1 + 1


@pytest.mark.parametrize(
    ("sizes", "consistent", "together", "units"),
    [([1], True, False, 1), ([1], False, False, 0.5), ([4096], True, False, 1), ([4097], True, False, 2),
     ([400] * 10, False, False, 5), ([400] * 10, False, True, 0.5), ([], True, True, 1), ([0], False, False, 0.5)],
)  # fmt: skip
def test_reads_are_rounded_up_to_four_kilobytes(
    sizes: list[int], consistent: bool, together: bool, units: float
) -> None:
    assert read_units(sizes, consistent=consistent, together=together) == Units(read=units)


def test_a_write_counts_each_index_that_holds_the_item_and_a_transaction_twice() -> None:
    idle = ("movie_id", "course_id", "user_id")
    assert write_units("movies", 1500, idle) == Units(write=2, index=4)
    assert write_units("movies", 1500, idle, transaction=True) == Units(write=4, index=4)
    assert write_units("movies", 1500, (*idle, "sweep_shard", "sweep_due_at")) == Units(write=2, index=5)
    assert write_units("movie_frames", 1024, ("movie_id", "frame_number")) == Units(write=1)


def test_what_is_needed_follows_from_who_does_what() -> None:
    nobody = demand(0, 0)
    assert {nobody[name] for name in nobody} == {0}
    watching = replace(HABITS, editing=0.0, viewing=0.0, tracing=1.0)
    told = demand(600, 0, habits=watching)
    assert told["requests"] == 600
    assert told["calls"] == pytest.approx(600 + 600 / 5)
    assert told["write_units"] == 0
    editing = replace(HABITS, editing=1.0, viewing=0.0, tracing=0.0, edit_every=float("inf"))
    assert demand(600, 0, habits=editing)["write_units"] == pytest.approx(10 * 6)
    one = demand(0, 1)
    assert one["write_units"] * MEASURED.trace.processor_seconds == pytest.approx(620 + 27 + 8 + 8)
    assert rates(0, 1)["jobs"] == pytest.approx(1 / MEASURED.trace.processor_seconds)


def test_a_wider_row_brings_the_limits_nearer() -> None:
    usual, wide = limits(), limits(replace(MEASURED, row_bytes=4000, frame_bytes=1500))
    assert wide["one_course"] == usual["one_course"] / 2
    assert wide["job_share"] == usual["job_share"] * 2
    assert wide["frames_a_second"] == usual["frames_a_second"] / 2


def test_cost_grows_with_movies_and_with_each_price() -> None:
    usual = movies_cost(1000)
    assert movies_cost(2000)["all"] == pytest.approx(2 * usual["all"])
    assert usual["all"] == pytest.approx(sum(value for name, value in usual.items() if name != "all"))
    for name in PRICES.__dataclass_fields__:
        dearer = movies_cost(1000, replace(PRICES, **{name: 2 * getattr(PRICES, name)}))
        assert dearer["all"] > usual["all"], name


def test_the_command_tells_the_same_and_takes_other_prices() -> None:
    ran = CliRunner().invoke(bench, ["capacity", "--pages", "1000", "--jobs", "100", "--json"])
    told = json.loads(ran.stdout)
    assert told["demand"] == demand(1000, 100)
    assert told["dollars"] == movies_cost(1000)
    plain = CliRunner().invoke(bench, ["capacity", "--pages", "10", "--jobs", "1"])
    assert (plain.exit_code, "DynamoDB write units" in plain.output) == (0, True)
    free = CliRunner().invoke(bench, ["capacity", "--price", "million_writes=0", "--json"])
    assert json.loads(free.stdout)["dollars"]["database"] < told["dollars"]["database"] / 5
    for wrong in ("gold=1", "million_writes", "million_writes=much"):
        assert CliRunner().invoke(bench, ["capacity", "--price", wrong]).exit_code == 2
