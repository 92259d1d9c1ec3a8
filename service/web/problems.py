"""What is wrong, as HTTP says it: the only place that knows statuses, and the one shape of every refusal."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from flask import Flask, Response, jsonify
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from service.domain.errors import (
    BadRequest,
    Conflict,
    KeyReused,
    MailFailed,
    NotAllowed,
    NotFound,
    TiptraceError,
    TooLarge,
    TooMany,
    Unavailable,
)
from service.web import pages

_STATUS: dict[type[TiptraceError], HTTPStatus] = {
    BadRequest: HTTPStatus.BAD_REQUEST,
    NotAllowed: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    KeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    TooMany: HTTPStatus.TOO_MANY_REQUESTS,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
_SAID = {
    400: ("bad_request", "The request cannot be understood."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take this kind of request."),
    413: ("too_large", "The request is larger than this service takes."),
    415: ("unsupported_media_type", "Send form fields or JSON."),
    416: ("range_not_satisfiable", "The part asked for is not there."),
}
RETRY_SECONDS = 2
MAIL_SECONDS = 60
"""A mail server takes longer to come back than a database, and each try may send a letter."""

log = structlog.get_logger(__name__)


def status_of(error: TiptraceError) -> HTTPStatus:
    """By the nearest ancestor in the tree of errors."""
    for kind in type(error).__mro__:
        if kind in _STATUS:
            return _STATUS[kind]
    return HTTPStatus.INTERNAL_SERVER_ERROR


def envelope(status: int, code: str, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """The one shape of a refusal: {"error": true, "message": for a person, "code": for a program}."""
    answer = jsonify(error=True, message=message, code=code, **more)
    answer.status_code = status
    answer.headers["Cache-Control"] = "no-store"
    answer.headers.update(headers or {})
    return answer


def install(app: Flask) -> None:
    """Let every error of this application leave it in that shape."""
    app.register_error_handler(TiptraceError, _refused)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)


def _refused(error: TiptraceError) -> Response:
    status = status_of(error)
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        return _unexpected(error)
    usual = MAIL_SECONDS if isinstance(error, MailFailed) else RETRY_SECONDS
    wait = error.details.get("retry_after", usual)
    headers = {"Retry-After": str(wait)} if status in (429, 503) else {}
    structlog.contextvars.bind_contextvars(code=error.code)
    return envelope(status, error.code, error.message, headers)


def _http(error: HTTPException) -> Any:
    status = error.code or 500
    if status < 400:  # a redirect is raised too, and is no refusal
        return error
    if status == HTTPStatus.NOT_FOUND:
        page = pages.missing()
        if page is not None:
            return page
    code, message = _SAID.get(status, (f"http_{status}", HTTPStatus(status).phrase + "."))
    headers = {}
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return envelope(status, code, message, headers)


def _unexpected(error: Exception) -> Response:
    """Nothing answers 500 by design. The log has the traceback under the request's id; the answer has neither."""
    log.error("request_raised", exc_info=error)
    return envelope(500, TiptraceError.code, TiptraceError().message)
