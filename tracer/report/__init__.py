"""A trace as one page for people who would rather look: pictures with the ways of the markers, errors, results.

contact   a few frames of the movie, collected while it is traced
charts    curves over frames as SVG
page      the whole as one HTML file that needs nothing else: no script, no address, light and dark

Everything that a person named is escaped; the page's own policy forbids whatever might slip through.
"""

from tracer.report.contact import ContactSheet, Tile
from tracer.report.page import Told, page
from tracer.report.way import Way

__all__ = ["ContactSheet", "Tile", "Told", "Way", "page"]
