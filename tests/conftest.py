"""Fixtures that every room of the tests may use."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.emulator"]

# A loaded machine is slow, not wrong: no deadlines. The examples are enough for a run of every change.
settings.register_profile("quick", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quick")
