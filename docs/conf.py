"""How Sphinx builds these pages: Markdown in, HTML out, nothing fetched from anywhere."""

import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "tiptrace"
try:
    release = metadata.version("tiptrace")
except metadata.PackageNotFoundError:  # built from a source tree
    release = ""

extensions = ["myst_parser", "lists"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
nitpicky = True

html_theme = "alabaster"
html_title = "tiptrace"
html_static_path = ["_static"]
html_css_files = ["tiptrace.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
html_theme_options = {
    "description": "Trace the movement of plants in time-lapse movies",
    "fixed_sidebar": True,
    "show_powered_by": False,
    "page_width": "1120px",
    "sidebar_width": "230px",
    "font_family": "system-ui, sans-serif",
    "head_font_family": "system-ui, sans-serif",
    "font_size": "16px",
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
