"""The library that draws the charts, BokehJS, served as it lies in the installed `bokeh` package."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import distribution
from pathlib import Path

PLACE = "bokeh"
"""Where pages find it, below `static/`."""


@lru_cache(maxsize=1)
def script() -> tuple[str, Path]:
    """Its name below `static/`, with the version in it so that browsers may keep it for good, and its file.

    The package is not imported: that would cost each start half a second, for a file. Raises PackageNotFoundError.
    """
    installed = distribution("bokeh")
    name = "bokeh.min.js"
    return f"{PLACE}/{installed.version}/{name}", Path(str(installed.locate_file(f"bokeh/server/static/js/{name}")))
