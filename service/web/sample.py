"""The sample movie, to be tried out."""

from __future__ import annotations

from flask import Blueprint, Response

from service.web.auth import caller
from service.web.context import web

sample = Blueprint("sample", __name__, url_prefix="/resize-api/v1")

_DAY = 86_400


@sample.get("/sample-movie")
async def sample_movie() -> Response:
    """A plant that nods for 120 frames, to be uploaded like any movie."""
    await caller()
    answer = Response(await web().sample.movie(), mimetype="video/mp4")
    answer.headers["Cache-Control"] = f"private, max-age={_DAY}"
    return answer
