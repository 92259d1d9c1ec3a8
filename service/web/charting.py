"""The library that draws the charts, BokehJS, out of the installed `bokeh` package."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

PLACE = "bokeh"
"""Where pages find it, below `static/`."""

_FILE = "bokeh.min.js"
_NAME = "bokeh.parts.js"
_ALL_AT_ONCE = b'], 0, {"main":0,'
_PART_BY_PART = b'], "version", {"main":0,'


@lru_cache(maxsize=1)
def script() -> tuple[str, Path]:
    """Its name below `static/`, with the version in it so that browsers may keep it for good, and its file.

    The package is not imported: that would cost each start half a second, for a file. Raises PackageNotFoundError.
    """
    installed = distribution("bokeh")
    return f"{PLACE}/{installed.version}/{_NAME}", Path(str(installed.locate_file(f"bokeh/server/static/js/{_FILE}")))


def part_by_part(library: bytes) -> bytes:
    """The library as it was installed, but for the module that it begins with.

    Its last line tells which of its five hundred modules to run when it is loaded. The first of them needs all others,
    and a page halts for a quarter of a second. Told to begin with the one that knows its version, it runs none of
    them, and the page asks for those that it needs, a few at a time. A library that tells it otherwise is left as it
    is: it does the same, with the halt.
    """
    before, told, after = library.rpartition(_ALL_AT_ONCE)
    return before + _PART_BY_PART + after if told else library
