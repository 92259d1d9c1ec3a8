"""Who is asking: the API key of a request, and the proof that a cookie's request came from our own page."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from flask import request

from service.domain.access import Actor
from service.domain.errors import CrossSite, InvalidApiKey
from service.domain.origin import origin_of
from service.web.context import web
from service.web.fields import body_fields

COOKIE = "api_key"
_READS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Credential:
    """The key that a request shows. `ambient`: the browser sent it by itself, so the request may be a forgery."""

    api_key: str
    ambient: bool = False


def credential() -> Credential | None:
    """The first key found: header `x-api-key`, `Authorization: Bearer`, body field, cookie.

    The query string comes last, and only for older clients (TIPTRACE_LEGACY_QUERY_KEY): addresses end up in logs and
    histories.
    """
    header = request.headers.get("X-Api-Key")
    if header:
        return Credential(header)
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return Credential(token.strip())
    field = body_fields().get("api_key")
    if field:
        return Credential(str(field))
    cookie = request.cookies.get(COOKIE)
    if cookie:
        return Credential(cookie, ambient=True)
    if web().runtime.settings.legacy_query_key and request.args.get("api_key"):
        return Credential(request.args["api_key"])
    return None


async def caller() -> Actor:
    """The person behind this request. Raises InvalidApiKey, CrossSite, TooMany, Unavailable."""
    shown = credential()
    if shown is None:
        raise InvalidApiKey
    if shown.ambient and request.method not in _READS:
        check_same_site()
    try:
        actor = await web().authenticator.actor(shown.api_key)
    except InvalidApiKey:
        if too_many := await web().attempts.wrong_key():
            raise too_many from None
        raise
    structlog.contextvars.bind_contextvars(user_id=actor.user_id)
    return actor


def check_same_site() -> None:
    """Raise CrossSite unless the browser says that one of our own pages sent this request.

    A browser sends `Origin` with every write and lets no page forge it; `Sec-Fetch-Site` says the same where a proxy
    hides from us the address that people see. A request with neither proves nothing and is refused.
    """
    if request.headers.get("Sec-Fetch-Site") == "same-origin":
        return
    origin = request.headers.get("Origin")
    if not origin or origin.lower() != own_origin():
        raise CrossSite


def own_origin() -> str:
    """Scheme, host and port of our pages, as a browser writes them in `Origin`."""
    public = web().runtime.settings.public_url
    return origin_of(public if public else request.host_url)


def reachable(address: str) -> str:
    """A signed link as the asker can follow it: a path leads to this service itself, as it is seen from outside."""
    if not address.startswith("/"):
        return address
    public = web().runtime.settings.public_url
    return (public.rstrip("/") if public else origin_of(request.host_url) + request.script_root) + address
