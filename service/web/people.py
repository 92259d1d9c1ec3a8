"""Who am I; signing in by a link, and out again."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, g, redirect, request, url_for

from service.domain.errors import NotAllowed
from service.domain.policy import SESSION_SECONDS
from service.runtime import Runtime
from service.usecases.sign_in import new_link, sign_in, sign_out
from service.web.auth import COOKIE, caller, check_same_site, own_origin
from service.web.context import stores, web
from service.web.movies import course_context
from service.web.render import said
from service.web.schemas import SignIn, parsed
from service.web.signer import signer_of

people = Blueprint("people", __name__)


@people.post("/api/check-api_key")
async def check_api_key() -> Response:
    actor = await caller()
    context = await course_context(actor, None)
    roles = sorted(actor.roles)
    if actor.course_id and actor.course_id in actor.admin_of:
        roles.append("course_admin")
    user: dict[str, Any] = {
        "user_id": actor.user_id,
        "user_name": actor.name,
        "email": actor.email,
        "course_id": actor.course_id,
        "course_name": context["course_name"] if context else "",
        "roles": roles,
        "admin_of": sorted(actor.admin_of),
        "max_upload_bytes": stores().policy.max_upload_bytes,
    }
    return said(user=user, course_context=context)


@people.post("/signin")
async def enter() -> Response:
    """Use a link up: by POST from our own page, so that a mail program which opens links does not sign anybody in."""
    check_same_site()
    try:
        link = web().signer.link(parsed(SignIn).token)
        api_key = await sign_in(stores(), link)
    except NotAllowed as refusal:
        g.refused_link = True
        if "text/html" not in request.accept_mimetypes.values():
            raise
        return _see_other("pages.signin", problem=refusal.code)  # a person is looking at this, not a program
    answer = _see_other("pages.index")
    answer.set_cookie(
        COOKIE, api_key, max_age=SESSION_SECONDS, path=_path(), httponly=True, samesite="Lax", secure=_https()
    )
    return answer


@people.post("/signout")
async def leave() -> Response:
    """Forget the cookie, and let its key be worth nothing any more."""
    check_same_site()
    api_key = request.cookies.get(COOKIE)
    if api_key:
        await sign_out(stores(), api_key)
        web().authenticator.forget(api_key)
    answer = _see_other("pages.index")
    answer.delete_cookie(COOKIE, path=_path(), httponly=True, samesite="Lax", secure=_https())
    return answer


def _see_other(page: str, **query: Any) -> Response:
    answer = redirect(url_for(page, **query), 303)
    assert isinstance(answer, Response)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _path() -> str:
    """The cookie goes to this application alone, also where a host serves others beside it."""
    return request.script_root + "/"


def _https() -> bool:
    return own_origin().startswith("https:")


async def sign_in_link(runtime: Runtime, user_id: str, base: str | None = None) -> str:
    """An address that signs this person in, once, within the hour.

    `base` is where the service is, unless TIPTRACE_PUBLIC_URL says; without either only the path is returned.
    Raises UserNotFound, SecretMissing, Unavailable.
    """
    token = signer_of(runtime.settings).token(await new_link(runtime.stores, user_id))
    return f"{(base or runtime.settings.public_url or '').rstrip('/')}/signin?token={token}"
