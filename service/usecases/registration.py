"""People who come in: by a course key, by their teacher's list, or again by a new link."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from service.domain.access import Actor, check_administers
from service.domain.address import checked_name, named_address, normal_email
from service.domain.errors import (
    AddressRefused,
    ChangedMeanwhile,
    CourseFull,
    InvalidCourseKey,
    InvalidParameter,
    MailFailed,
    MailNotSetUp,
    OutcomeUnknown,
    RegisteredWithoutMail,
    TiptraceError,
    UserDisabled,
)
from service.domain.letters import Letter, Mailer, sign_in_letter
from service.store.stores import Stores
from service.store.table import Item, TransactionRefused, Write
from service.usecases.sign_in import LINK_SECONDS, SignInLink, new_link

MAX_AT_ONCE = 200
"""Addresses in one list."""
SENT_TOGETHER = 4
ASKING_SECONDS = 0.25
"""How long it takes at least to ask for a link: as long as a mail server needs, so that time tells nothing."""
_TRIES = 5
_NOBODY = "u00000000-0000-0000-0000-000000000000"

Outcome = Literal["registered", "joined", "member", "repeated", "refused"]


@dataclass(frozen=True, slots=True)
class Post:
    """How a sign-in link reaches its person: what makes an address of it, and what carries the letter."""

    mailer: Mailer
    address_of: Callable[[SignInLink], str]

    def letter(self, email: str, link: SignInLink, *courses: str) -> Letter:
        return sign_in_letter(email, self.address_of(link), LINK_SECONDS // 60, courses)


@dataclass(frozen=True, slots=True)
class Enrolled:
    """`outcome`: a new person, a known one who joined the course, or one who was in it already."""

    user_id: str
    email: str
    course_id: str
    course_name: str
    outcome: Outcome
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one line of a list. `mailed`: a letter with a link is on its way."""

    typed: str
    outcome: Outcome
    user_id: str | None = None
    email: str | None = None
    mailed: bool = False
    code: str | None = None
    message: str | None = None


async def register(stores: Stores, post: Post, course_key: str, email: str, name: str) -> Enrolled:
    """Whoever has a course's key becomes a member of it and gets a sign-in link by mail.

    The same for a person who is known already, so that registering again does no harm and tells nothing about others.
    Raises InvalidCourseKey, InvalidParameter, CourseFull, AddressRefused, RegisteredWithoutMail (all of which but the
    last two wrote nothing), MailNotSetUp, Unavailable.
    """
    address = normal_email(email)
    called = checked_name(name, address)
    course = await _course_of(stores, course_key)
    enrolled = await enrol(stores, course, address, called)
    if enrolled.enabled:
        try:
            await _send(stores, post, enrolled)
        except MailNotSetUp:
            raise
        except MailFailed:
            raise RegisteredWithoutMail from None
    return enrolled


async def resend(stores: Stores, post: Post, email: str) -> None:
    """A new link for whoever has this address, if anybody has. The caller cannot tell, by the answer or by the time.

    Raises InvalidParameter, MailFailed (for an address that nobody has as well), Unavailable.
    """
    began = stores.clock.monotonic()
    address = normal_email(email)
    user = await stores.people.user(await stores.people.user_id_of_email(address) or _NOBODY)
    try:
        if user and user.get("enabled", 1):
            await post.mailer.send(post.letter(address, await new_link(stores, user["user_id"])))
        else:
            nothing = SignInLink(_NOBODY, stores.ids.token(), stores.clock.now() + LINK_SECONDS)
            await post.mailer.rehearse(post.letter(address, nothing))
    except AddressRefused:
        pass  # an address that nobody has could not be refused
    finally:
        await asyncio.sleep(max(0.0, ASKING_SECONDS - (stores.clock.monotonic() - began)))


async def bulk_register(
    stores: Stores,
    post: Post,
    actor: Actor,
    typed: Sequence[str],
    *,
    course_key: str | None = None,
    course_id: str | None = None,
) -> tuple[Item, list[Line]]:
    """Every line of a list on its own: what is wrong with one keeps no other out. Each person is one transaction.

    A line is an address, or `Name <address>`. Returns the course and what became of each line, in order. Raises
    InvalidParameter (no list, no course), InvalidCourseKey, CourseNotFound, NoRight, Unavailable.
    """
    if not 1 <= len(typed) <= MAX_AT_ONCE:
        raise InvalidParameter("emails", f"must have 1 to {MAX_AT_ONCE} addresses")
    if (course_key is None) == (course_id is None):
        raise InvalidParameter("course_id", "send exactly one of course_id and course_key")
    if course_id is not None:
        check_administers(actor, course_id)
        course = await stores.people.course(course_id)
    else:
        course = await _course_of(stores, course_key or "")
        check_administers(actor, course["course_id"])
    lines: list[Line] = []
    new: dict[str, Enrolled] = {}
    for text in typed:
        line, enrolled = await _line(stores, course, text, seen=new)
        lines.append(line)
        if enrolled:
            new[enrolled.email] = enrolled
    return course, await _mailed(stores, post, lines, new)


async def _line(stores: Stores, course: Item, text: str, *, seen: dict[str, Enrolled]) -> tuple[Line, Enrolled | None]:
    name, typed = named_address(text)
    try:
        address = normal_email(typed)
        if address in seen:
            return Line(text, "repeated", seen[address].user_id, address), None
        enrolled = await enrol(stores, course, address, checked_name(name, address))
        if not enrolled.enabled:
            raise UserDisabled
    except TiptraceError as refusal:
        return Line(text, "refused", code=refusal.code, message=refusal.message), None
    return Line(text, enrolled.outcome, enrolled.user_id, address), enrolled


async def _mailed(stores: Stores, post: Post, lines: list[Line], new: dict[str, Enrolled]) -> list[Line]:
    """Send a link to everybody who came in now, a few at a time; once the mail server fails, it is left alone."""
    places = asyncio.Semaphore(SENT_TOGETHER)
    down: MailFailed | None = None

    async def sent(line: Line) -> Line:
        nonlocal down
        if line.outcome not in ("registered", "joined") or line.email is None:
            return line
        async with places:
            try:
                if down is not None:
                    raise down
                await _send(stores, post, new[line.email])
            except MailFailed as failure:
                down = failure
                return _said_of(line, failure)
            except TiptraceError as failure:
                return _said_of(line, failure)
        return Line(line.typed, line.outcome, line.user_id, line.email, mailed=True)

    return list(await asyncio.gather(*(sent(line) for line in lines)))


def _said_of(line: Line, failure: TiptraceError) -> Line:
    return Line(line.typed, line.outcome, line.user_id, line.email, False, failure.code, failure.message)


async def enrol(stores: Stores, course: Item, email: str, name: str) -> Enrolled:
    """Make the person with this normal address a member of the course, in one transaction with the course's count.

    Raises CourseFull, ChangedMeanwhile (too many did the same at once), Unavailable; nothing was written then.
    """
    people = stores.people
    await people.count_members(course)
    course_id, course_name = course["course_id"], course.get("course_name", "")
    for _ in range(_TRIES):
        now = stores.clock.now()
        user = await people.user_of_email(email)
        if user is None:
            made = _new_user(stores, email, name, course_id)
            user_id, outcome, enabled = made["user_id"], "registered", True
            writes: list[Write] = people.new_user_writes(made, course_id, now, course_admin=False)
        else:
            user_id, outcome, enabled = user["user_id"], "joined", bool(user.get("enabled", 1))
            if course_id in (user.get("courses") or ()) or not enabled:
                return Enrolled(user_id, email, course_id, course_name, "member", enabled)
            writes = people.join_writes(user, course_id, now)
        enrolled = Enrolled(user_id, email, course_id, course_name, outcome, enabled)  # type: ignore[arg-type]
        try:
            await stores.transact([*writes, people.seat_write(course_id, limited=True)])
        except TransactionRefused as refusal:
            if set(refusal.refused) == {len(writes)}:
                raise CourseFull from None
            continue  # the same person came in or was changed meanwhile: look again
        except OutcomeUnknown:
            after = await people.user_of_email(email)
            if after is None or after["user_id"] != user_id or course_id not in (after.get("courses") or ()):
                raise
        return enrolled
    raise ChangedMeanwhile


def _new_user(stores: Stores, email: str, name: str, course_id: str) -> dict[str, Any]:
    return {
        "user_id": stores.ids.user_id(),
        "email": email,
        "user_name": name,
        "primary_course_id": course_id,
    }


async def _course_of(stores: Stores, course_key: str) -> Item:
    course = await stores.people.course_of_key(course_key.strip()) if course_key.strip() else None
    if course is None:
        raise InvalidCourseKey
    return course


async def _send(stores: Stores, post: Post, enrolled: Enrolled) -> None:
    link = await new_link(stores, enrolled.user_id, consistent=True)
    await post.mailer.send(post.letter(enrolled.email, link, enrolled.course_name or enrolled.course_id))
