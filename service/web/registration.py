"""Coming in: register with a course's key, ask for a new link, register a whole class."""

from __future__ import annotations

from flask import Blueprint, Response, request

from service.mail import Outbox
from service.usecases import registration as coming_in
from service.usecases.registration import Line, Post
from service.usecases.sign_in import SignInLink
from service.web.auth import caller
from service.web.context import stores, web
from service.web.people_schemas import BulkRegister, Register, ResendLink
from service.web.render import said
from service.web.schemas import parsed

registration = Blueprint("registration", __name__, url_prefix="/api")

IN_THE_OUTBOX = " (This machine has no mail server: letters lie in the folder outbox of its data.)"
LINK_COMES = "A sign-in link is on its way to this address. It works once, within the hour."
LINK_MAY_COME = "If this address has an account, a sign-in link is on its way. It works once, within the hour."


@registration.post("/register")
async def register() -> Response:
    """Become a member of a course by its key; a sign-in link comes by mail, to new and known people alike."""
    asked = parsed(Register)
    enrolled = await coming_in.register(stores(), _post(), asked.course_key, asked.email, asked.name)
    return said(
        email=enrolled.email, course_id=enrolled.course_id, course_name=enrolled.course_name, message=_said(LINK_COMES)
    )


@registration.post("/resend-link")
async def resend_link() -> Response:
    """A new sign-in link by mail; the answer is the same whether or not the address is known."""
    asked = parsed(ResendLink)
    await coming_in.resend(stores(), _post(), asked.email)
    return said(message=_said(LINK_MAY_COME))


@registration.post("/bulk-register")
async def bulk_register() -> Response:
    """A course administrator's list of addresses; each line has its own outcome, each new person gets a link."""
    actor, asked = await caller(), parsed(BulkRegister)
    course, lines = await coming_in.bulk_register(
        stores(), _post(), actor, asked.emails, course_key=asked.course_key, course_id=asked.course_id
    )
    outcomes = [line.outcome for line in lines]
    return said(
        course_id=course["course_id"],
        results=[_told(line) for line in lines],
        registered=outcomes.count("registered"),
        joined=outcomes.count("joined"),
        refused=outcomes.count("refused"),
        mailed=sum(line.mailed for line in lines),
    )


def _told(line: Line) -> dict[str, object]:
    """`outcome` is registered, joined, member, repeated or refused; `code` and `message` say what went wrong."""
    told: dict[str, object] = {"typed": line.typed, "email": line.email, "outcome": line.outcome, "mailed": line.mailed}
    if line.user_id:
        told["user_id"] = line.user_id
    if line.code:
        told |= {"code": line.code, "message": line.message}
    return told


def _said(sentence: str) -> str:
    """The sentence, and where to look on a machine whose letters go nowhere."""
    return sentence + IN_THE_OUTBOX if isinstance(web().runtime.mailer, Outbox) else sentence


def _post() -> Post:
    """The letters of this service. Where the public address is set, a request's own word for it counts nothing."""
    runtime = web().runtime
    base = (runtime.settings.public_url or request.url_root).rstrip("/")

    def address_of(link: SignInLink) -> str:
        return f"{base}/signin?token={web().signer.token(link)}"

    return Post(runtime.mailer, address_of)
