"""Which release of the service this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("tiptrace")
    except PackageNotFoundError:  # run from a source tree
        return "0"


RELEASE = _installed()
