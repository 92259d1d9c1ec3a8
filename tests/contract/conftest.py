"""Every contract test of a route asks one running service per module."""

from tests.support.service import lab

__all__ = ["lab"]
