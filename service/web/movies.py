"""A movie's life on the way in: announced, uploaded, listed, described, put away."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from service.domain.access import Actor, check_course
from service.domain.errors import CourseNotFound, InvalidParameter
from service.domain.movie import PROCESSING, Movie
from service.usecases import manage_movie, upload_movie
from service.usecases.list_movies import courses_of, list_movies
from service.usecases.manage_movie import MAX_DESCRIPTION, MAX_TITLE, checked_words
from service.usecases.read_movie import metadata
from service.web import intent
from service.web.auth import caller, reachable
from service.web.context import stores, web
from service.web.kinds import flag
from service.web.render import said
from service.web.schemas import (
    DeleteMovie,
    ListMovies,
    NewMovie,
    OfMovie,
    SetMetadata,
    SetResearch,
    parsed,
)

movies = Blueprint("movies", __name__)


@movies.post("/api/new-movie")
async def new_movie() -> Response:
    actor, asked = await caller(), parsed(NewMovie)
    details: dict[str, Any] = {
        "description": checked_words(asked.description, MAX_DESCRIPTION, "description"),
        "research_use": int(asked.research_use),
        "credit_by_name": int(asked.credit_by_name),
    }
    if asked.attribution_name:
        details["attribution_name"] = asked.attribution_name
    if asked.fpm is not None:
        details["fpm"] = f"{asked.fpm:.10g}"
    sender = intent.sender()
    order = upload_movie.NewMovie(
        title=checked_words(asked.title, MAX_TITLE, "title"),
        sha256=asked.movie_data_sha256,
        length=asked.movie_data_length,
        request_key=intent.request_key(),
        sent=intent.sent(),
        details=details,
        sender=sender,
    )
    with intent.counted(sender):
        announced = await upload_movie.new_movie(stores(), actor, order)
    if announced.replayed:
        intent.repeated(sender, announced.created_at)
    else:
        intent.accepted("inspect", sender, retired=announced.retired)
    return said(
        200,
        {"Idempotent-Replay": "true"} if announced.replayed else {},
        movie_id=announced.movie_id,
        presigned_post={**announced.form, "url": reachable(announced.form["url"])},
        upload_completion_mode="process-upload",
        request_key=announced.request_key,
        replayed=announced.replayed,
        retired=announced.retired,
    )


@movies.post("/resize-api/v1/process-upload")
async def process_upload() -> Response:
    """202 while the file is being inspected, 200 once that has ended."""
    actor, asked = await caller(), parsed(OfMovie)
    movie = await upload_movie.process_upload(
        stores(),
        actor,
        asked.movie_id,
        course_id=asked.course_id,
        ipaddr=request.remote_addr,
        sender=intent.sender(),
    )
    told = _told(actor, movie)
    return said(202 if told["status"] == PROCESSING else 200, movie_id=movie.movie_id, status=told["status"])


@movies.post("/api/list-movies")
async def list_all() -> Response:
    actor, asked = await caller(), parsed(ListMovies)
    context = await course_context(actor, asked.course_id)
    listed = await list_movies(stores(), actor, course_id=asked.course_id)
    return said(movies=listed, courses=await courses_of(stores(), listed), course_context=context)


async def course_context(actor: Actor, course_id: str | None) -> dict[str, Any] | None:
    """The course that a list is of: the one asked for, else the person's own; None for a person without one.

    Raises NoRight for a course that is not the caller's, CourseNotFound for one that a superuser asks for in vain.
    """
    if course_id:
        check_course(actor, course_id)
    shown = course_id or actor.course_id
    if not shown:
        return None
    try:
        course = await stores().people.course(shown)
    except CourseNotFound:
        if course_id:
            raise
        return None
    return {
        "course_id": shown,
        "course_name": course.get("course_name", ""),
        "course_admin": actor.administers(shown),
    }


@movies.post("/api/delete-movie")
async def delete_movie() -> Response:
    actor, asked = await caller(), parsed(DeleteMovie)
    movie = await manage_movie.delete_movie(
        stores(),
        actor,
        asked.movie_id,
        deleted=asked.delete,
        lease_id=asked.analysis_lease_id,
        course_id=asked.course_id,
    )
    return said(movie_id=movie.movie_id, deleted=movie.deleted, metadata=_told(actor, movie))


@movies.post("/api/set-metadata")
async def set_metadata() -> Response:
    actor, asked = await caller(), parsed(SetMetadata)
    if (asked.set_movie_id is None) == (asked.set_user_id is None):
        raise InvalidParameter("set_movie_id", "send exactly one of set_movie_id and set_user_id")
    if asked.set_user_id is not None:
        if asked.property != "user_name":
            raise InvalidParameter("property", "must be user_name")
        name = await manage_movie.rename_self(stores(), actor, asked.set_user_id, asked.value)
        web().authenticator.forget_person(actor.user_id)
        return said(user_id=asked.set_user_id, user_name=name)
    assert asked.set_movie_id is not None
    value = flag(asked.value, "value") if asked.property == "published" else asked.value
    movie = await manage_movie.set_property(
        stores(), actor, asked.set_movie_id, asked.property, value, course_id=asked.course_id
    )
    return said(movie_id=movie.movie_id, metadata=_told(actor, movie))


@movies.post("/api/set-research-metadata")
async def set_research_metadata() -> Response:
    actor, asked = await caller(), parsed(SetResearch)
    changed: dict[str, Any] = {
        name: int(value)
        for name, value in (("research_use", asked.research_use), ("credit_by_name", asked.credit_by_name))
        if value is not None
    }
    if asked.attribution_name is not None:
        changed["attribution_name"] = checked_words(asked.attribution_name, MAX_TITLE, "attribution_name")
    movie = await manage_movie.set_research(stores(), actor, asked.movie_id, changed, course_id=asked.course_id)
    return said(movie_id=movie.movie_id, metadata=_told(actor, movie))


def _told(actor: Actor, movie: Movie) -> dict[str, Any]:
    return metadata(stores(), actor, movie)
