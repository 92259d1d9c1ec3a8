"""What may be changed about a movie without an editing lease: its words, who sees it, whether it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from service.domain.access import Actor, check_edit, check_read
from service.domain.address import MAX_NAME, checked_name
from service.domain.errors import (
    BeingEdited,
    BeingTraced,
    EditedMeanwhile,
    InvalidParameter,
    MovieDeleted,
    MovieNotFound,
    NoRight,
    NotReady,
    OutcomeUnknown,
    UserNotFound,
)
from service.domain.movie import Movie, movie_from_row
from service.domain.visible import is_blank, without_embeddings
from service.store import conditions as when
from service.store.expressions import Condition
from service.store.movies import ANALYSIS
from service.store.stores import Stores
from service.store.table import ConditionFailed

MAX_TITLE = 200
MAX_DESCRIPTION = 4000
_WORDS = {"title": MAX_TITLE, "description": MAX_DESCRIPTION}


async def delete_movie(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    *,
    deleted: bool,
    lease_id: str | None = None,
    course_id: str | None = None,
) -> Movie:
    """Put a movie away, with the caller's own lease, or take it back. Refused while anybody else works on it.

    Raises MovieNotFound, NoRight, WrongCourse, BeingEdited, BeingTraced, NotReady (its upload is being read),
    Unavailable.
    """
    movie = check_edit(actor, await stores.movies.get(movie_id), course_id)
    now = stores.clock.now()
    details = {"deleted": deleted, "last_activity_at": now}
    try:
        condition = when.only_own_lease_is_live(lease_id, now)
        return await _set(stores, movie, details, condition, removed=ANALYSIS if deleted else ())
    except ConditionFailed as refusal:
        _explain(refusal.item, now)
        raise EditedMeanwhile from None


def _explain(row: Mapping[str, Any] | None, now: int) -> None:
    """Raise what stands in the way."""
    if row is None:
        raise MovieNotFound
    movie = movie_from_row(row)
    if movie.tracing and movie.tracing.live(now):
        if movie.tracing.kind == "trace":
            raise BeingTraced
        raise NotReady(status=movie.status)
    if movie.analysis and movie.analysis.live(now):
        raise BeingEdited(name=movie.analysis.user_name or "Somebody")


async def set_property(
    stores: Stores, actor: Actor, movie_id: str, name: str, value: Any, *, course_id: str | None = None
) -> Movie:
    """Change `title` or `description` (who may edit) or `published` (the owner may hide, a course admin may do both).

    Raises InvalidParameter (another property, an unusable value), MovieNotFound, NoRight, WrongCourse, MovieDeleted,
    Unavailable.
    """
    movie = check_edit(actor, await stores.movies.get(movie_id), course_id)
    if name in _WORDS:
        details: dict[str, Any] = {name: checked_words(value, _WORDS[name], "value")}
    elif name == "published":
        if value and not actor.administers(movie.course_id):
            raise NoRight(what="publish this movie; ask an administrator of the course")
        details = {"published": bool(value)}
    else:
        raise InvalidParameter("property", "must be title, description or published")
    return await _set_living(stores, movie, details)


async def set_research(
    stores: Stores, actor: Actor, movie_id: str, changed: Mapping[str, Any], *, course_id: str | None = None
) -> Movie:
    """What the uploader, and nobody else, allows: research_use, credit_by_name, attribution_name.

    Raises InvalidParameter if nothing is to be changed, MovieNotFound, NoRight, WrongCourse, MovieDeleted, Unavailable.
    """
    movie = check_read(actor, await stores.movies.get(movie_id), course_id)
    if movie.user_id != actor.user_id:
        raise NoRight(what="decide this; only the person who uploaded the movie has it")
    if not changed:
        raise InvalidParameter("research_use", "send at least one of research_use, credit_by_name, attribution_name")
    return await _set_living(stores, movie, changed)


async def rename_self(stores: Stores, actor: Actor, user_id: str, name: Any) -> str:
    """A person's own name. Raises NoRight, InvalidParameter, UserNotFound, Unavailable."""
    if user_id != actor.user_id:
        raise NoRight(what="change another person's name")
    if not isinstance(name, str):
        raise InvalidParameter("value", "must be text")
    clean = checked_name(name, "", "value")
    if not clean:
        raise InvalidParameter("value", f"must have 1 to {MAX_NAME} characters")
    if not await stores.people.set_user(user_id, {"user_name": clean}):
        raise UserNotFound
    return clean


def checked_words(value: Any, longest: int, name: str) -> str:
    """Text that people wrote, trimmed, without what would turn the text around it; empty where nothing can be seen.

    Raises InvalidParameter.
    """
    if not isinstance(value, str):
        raise InvalidParameter(name, "must be text")
    clean = without_embeddings(value).strip()
    if len(clean) > longest:
        raise InvalidParameter(name, f"must have at most {longest} characters")
    if any(ord(c) < 32 and c not in "\n\r\t" for c in clean):
        raise InvalidParameter(name, "must not hold control characters")
    return "" if is_blank(clean) else clean


async def _set_living(stores: Stores, movie: Movie, details: Mapping[str, Any]) -> Movie:
    try:
        return await _set(stores, movie, {**details, "last_activity_at": stores.clock.now()}, when.not_deleted())
    except ConditionFailed as refusal:
        if refusal.item is None:
            raise MovieNotFound from None
        raise MovieDeleted from None


async def _set(
    stores: Stores, movie: Movie, details: Mapping[str, Any], condition: Condition, *, removed: Sequence[str] = ()
) -> Movie:
    """One conditional write of whole values. After a lost reply the row tells whether it was made."""
    try:
        return await stores.movies.set_details(movie.movie_id, details, condition, removed=removed)
    except OutcomeUnknown:
        after = await stores.movies.get(movie.movie_id)
        if after and all(after.row.get(name) == value for name, value in details.items()):
            return after
        raise
