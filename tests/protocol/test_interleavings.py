"""Pages, API processes, workers, sweepers and clocks in any order: all invariants hold after every step."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.protocol.machine import Interleavings, Tally
from tests.protocol.stepwise import StepwiseInterleavings
from tests.support.lab import open_lab


def explore(endpoint: str, kind: type[Interleavings], *, examples: int, steps: int) -> Tally:
    """Run the machine; returns how much of the protocol it went through."""
    loop = asyncio.new_event_loop()
    try:
        opened = open_lab(endpoint)
        lab = loop.run_until_complete(opened.__aenter__())
        found = Tally()
        machine = type("Machine", (kind,), {"lab": lab, "loop": loop, "tally": found})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                phases=(Phase.generate,),  # a failure is told at once: making it smaller takes longer than the test may
                suppress_health_check=list(HealthCheck),
            ),
        )
        loop.run_until_complete(opened.__aexit__(None, None, None))
        return found
    finally:
        loop.close()


@pytest.mark.parametrize(("kind", "examples"), [(Interleavings, 8), (StepwiseInterleavings, 14)])
def test_invariants_hold_under_interleavings_i1_to_i13(emulator: Any, kind: type[Interleavings], examples: int) -> None:
    found = explore(emulator.endpoint, kind, examples=examples, steps=40)
    print(f"explored {found}")
    assert found.steps > 100
    assert found.granted
    assert found.admitted
    assert found.claimed


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("kind", "examples"), [(Interleavings, 100), (StepwiseInterleavings, 200)])
def test_invariants_hold_under_many_more_interleavings(emulator: Any, kind: type[Interleavings], examples: int) -> None:
    found = explore(emulator.endpoint, kind, examples=examples, steps=60)
    print(f"explored {found}")
    assert found.steps > examples * 30
