"""Every contract test of a route asks one running service per module; time that a test lets pass ends with it."""

from collections.abc import Iterator

import pytest

from tests.support.service import lab, marked

__all__ = ["lab", "marked"]


@pytest.fixture(autouse=True)
def now_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """Set a moved clock back after the test that moved it."""
    yield
    running = getattr(request.node, "funcargs", {}).get("lab")
    if running is not None:
        running.clock.ahead = 0
