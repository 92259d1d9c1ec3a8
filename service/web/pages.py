"""The pages and their assets, served as they lie in the `frontend` package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from flask import Blueprint, Response, abort, redirect, request
from werkzeug.security import safe_join

from service.web import assets, charting

pages = Blueprint("pages", __name__)

# A system's own table of types may know none of these, and browsers refuse a module of another type.
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".html": "text/html",
    ".woff2": "font/woff2",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}


def frontend() -> Path:
    """The folder of the installed `frontend` package."""
    return Path(str(files("frontend")))


def _file(name: str) -> Response:
    """A file with its ETag. Browsers ask each time whether it still holds: names carry no version, and a page must
    never run with half of its modules from before an update."""
    kind = _TYPES.get(Path(name).suffix)
    path = safe_join(str(frontend()), name)
    if kind is None or path is None:
        abort(404)
    return assets.answer(Path(path), kind, "no-cache")


def _charts(name: str) -> Response:
    """The charting library: under a name with its version, which holds for good, and under one that leads there."""
    versioned, path = charting.script()
    if name == versioned:
        return assets.answer(path, "text/javascript", "public, max-age=31536000, immutable")
    if name != f"{charting.PLACE}.js":
        abort(404)
    answer = redirect(versioned)  # relative, so it holds below any mount point
    answer.headers["Cache-Control"] = "no-cache"
    return answer  # type: ignore[return-value]


@pages.get("/")
def index() -> Response:
    if not request.environ.get("PATH_INFO"):  # mounted, and asked for without the slash: links would miss the mount
        return redirect(request.script_root + "/", 308)  # type: ignore[return-value]
    return _file("index.html")


@pages.get("/analyze")
def analyze() -> Response:
    return _file("analyze.html")


@pages.get("/upload")
def upload() -> Response:
    return _file("upload.html")


@pages.get("/activity")
def activity() -> Response:
    """What has happened in a course, in words."""
    return _file("activity.html")


@pages.get("/course")
def course() -> Response:
    """For teachers: who is at what now, the people of a course, how others come in."""
    return _file("course.html")


@pages.get("/signin")
def signin() -> Response:
    """Opening a link changes nothing: the page's button does."""
    return _file("signin.html")


@pages.get("/static/<path:name>")
def static(name: str) -> Response:
    if name.endswith(".html"):
        abort(404)  # pages have addresses of their own
    return _charts(name) if name.partition("/")[0] in (charting.PLACE, f"{charting.PLACE}.js") else _file(name)
