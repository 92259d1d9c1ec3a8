"""Fixtures that every room of the tests may use."""

pytest_plugins = ["tests.support.emulator"]
