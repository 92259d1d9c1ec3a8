"""The description of the routes: as a document for programs, and as a page for people."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Response, current_app, request

from service.web.operations import describe
from service.web.reference_page import page
from service.web.render import fingerprint

reference = Blueprint("reference", __name__)

_MADE = "tiptrace-description"


@reference.get("/openapi.json")
def openapi_json() -> Response:
    """This description, as OpenAPI 3.1."""
    told = {**_told(), "servers": [{"url": request.script_root or "/"}]}
    return _kept(json.dumps(told, ensure_ascii=False), "application/json")


@reference.get("/docs")
def docs() -> Response:
    """This description as a page. It loads nothing from elsewhere and runs no script."""
    return _kept(page(_told()), "text/html")


def _told() -> dict[str, Any]:
    """Made once for an application: its routes never change."""
    if _MADE not in current_app.extensions:
        current_app.extensions[_MADE] = describe(current_app)
    told: dict[str, Any] = current_app.extensions[_MADE]
    return told


def _kept(text: str, kind: str) -> Response:
    """Browsers may keep it and ask each time whether it still holds."""
    answer = Response(text, mimetype=kind)
    answer.set_etag(fingerprint(text))
    answer.headers["Cache-Control"] = "no-cache"
    answer.make_conditional(request)
    return answer
