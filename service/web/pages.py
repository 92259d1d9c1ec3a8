"""The pages and their assets, served as they lie in the `frontend` package."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path

from flask import Blueprint, Response, abort, redirect, request
from werkzeug.security import safe_join

from service.web import assets, charting, editions

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


_FOR_PROGRAMS = ("/api", "/resize-api", "/static", "/storage")


def missing() -> Response | None:
    """The page that stands where none is, for a person at a browser; None for a program, which gets its refusal.

    The address may be any, so the page's own links begin at the mount point.
    """
    first = "/" + request.path.lstrip("/").partition("/")[0]
    wished = request.accept_mimetypes
    if first in _FOR_PROGRAMS or wished["text/html"] <= wished["application/json"]:
        return None
    text = (frontend() / "missing.html").read_text("utf-8").replace('"./', f'"{escape(request.script_root)}/')
    answer = Response(text, 404, mimetype="text/html")
    answer.headers["Cache-Control"] = "no-store"
    answer.vary.add("Accept")
    return answer


_ASKED_FOR_EACH_TIME = "no-cache"
_KEPT_FOR_GOOD = "public, max-age=31536000, immutable"


def _page(name: str) -> Response:
    """A page. Browsers ask each time whether it still holds; what it is made of they keep, by its edition."""
    edition = editions.edition_of(frontend()).now()
    return assets.answer(frontend() / name, "text/html", _ASKED_FOR_EACH_TIME, editions.naming(edition))


def _file(name: str, cache_control: str = _ASKED_FOR_EACH_TIME) -> Response:
    """A file with its ETag."""
    kind = _TYPES.get(Path(name).suffix)
    path = safe_join(str(frontend()), name)
    if kind is None or path is None:
        abort(404)
    return assets.answer(Path(path), kind, cache_control)


def _charts(name: str) -> Response:
    """The charting library: under a name with its version, which holds for good, and under one that leads there."""
    versioned, path = charting.script()
    if name == versioned:
        return assets.answer(path, "text/javascript", _KEPT_FOR_GOOD, charting.part_by_part)
    if name != f"{charting.PLACE}.js":
        abort(404)
    answer = redirect(versioned)  # relative, so it holds below any mount point
    answer.headers["Cache-Control"] = _ASKED_FOR_EACH_TIME
    return answer  # type: ignore[return-value]


@pages.get("/")
def index() -> Response:
    if not request.environ.get("PATH_INFO"):  # mounted, and asked for without the slash: links would miss the mount
        return redirect(request.script_root + "/", 308)  # type: ignore[return-value]
    return _page("index.html")


@pages.get("/analyze")
def analyze() -> Response:
    return _page("analyze.html")


@pages.get("/upload")
def upload() -> Response:
    return _page("upload.html")


@pages.get("/activity")
def activity() -> Response:
    """What has happened in a course, in words."""
    return _page("activity.html")


@pages.get("/course")
def course() -> Response:
    """For teachers: who is at what now, the people of a course, how others come in."""
    return _page("course.html")


@pages.get("/signin")
def signin() -> Response:
    """Opening a link changes nothing: the page's button does."""
    return _page("signin.html")


@pages.get("/static/<path:name>")
def static(name: str) -> Response:
    """By a name alone, or below an edition; one of another day, as during an update, is not kept."""
    first, _, rest = name.partition("/")
    cache_control = _ASKED_FOR_EACH_TIME
    if editions.is_name(first):
        name = rest
        cache_control = _KEPT_FOR_GOOD if editions.edition_of(frontend()).holds(first) else _ASKED_FOR_EACH_TIME
    if name.endswith(".html"):
        abort(404)  # pages have addresses of their own
    return _charts(name) if first in (charting.PLACE, f"{charting.PLACE}.js") else _file(name, cache_control)
