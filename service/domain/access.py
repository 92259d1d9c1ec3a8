"""Who may read and who may edit: one rule for every route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.domain.errors import MovieNotFound, NoRight, WrongCourse
from service.domain.movie import Movie


@dataclass(frozen=True, slots=True)
class Actor:
    """The person behind a request. `roles` holds `superadmin` or `superauditor`; courses are course ids."""

    user_id: str
    name: str
    email: str = ""
    course_id: str = ""
    courses: frozenset[str] = frozenset()
    admin_of: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def administers(self, course_id: str) -> bool:
        return "superadmin" in self.roles or course_id in self.admin_of

    @property
    def sees_everything(self) -> bool:
        return "superadmin" in self.roles or "superauditor" in self.roles


def may_edit(actor: Actor, movie: Movie) -> bool:
    """Owner, admin of the movie's course, superadmin."""
    return actor.user_id == movie.user_id or actor.administers(movie.course_id)


def may_read(actor: Actor, movie: Movie) -> bool:
    """Whoever may edit, superauditors, and members of the course if the movie is published and not deleted."""
    if actor.sees_everything or may_edit(actor, movie):
        return True
    return movie.published and not movie.deleted and movie.course_id in actor.courses


def check_read(actor: Actor, movie: Movie | None, course_id: str | None = None) -> Movie:
    """The movie, or MovieNotFound, NoRight or WrongCourse."""
    if movie is None:
        raise MovieNotFound
    if not may_read(actor, movie):
        raise NoRight(what="see this movie")
    if course_id and course_id != movie.course_id:
        raise WrongCourse
    return movie


def check_edit(actor: Actor, movie: Movie | None, course_id: str | None = None) -> Movie:
    """The movie, or MovieNotFound, NoRight or WrongCourse."""
    found = check_read(actor, movie, course_id)
    if not may_edit(actor, found):
        raise NoRight(what="change this movie")
    return found


def check_oversee(actor: Actor, movie: Movie | None) -> Movie:
    """What lies in the store for a movie: admins of its course, superauditors and superadmins see it.

    Raises MovieNotFound, NoRight.
    """
    found = check_read(actor, movie)
    if not (actor.sees_everything or actor.administers(found.course_id)):
        raise NoRight(what="look into the storage of this movie")
    return found


def sees_course(actor: Actor, course_id: str) -> bool:
    """Members, admins, superauditors and superadmins know a course by its name."""
    return course_id in actor.courses or actor.administers(course_id) or actor.sees_everything


def check_course(actor: Actor, course_id: str) -> None:
    """Raise NoRight unless the course is one that this person sees."""
    if not sees_course(actor, course_id):
        raise NoRight(what="see this course")


def check_administers(actor: Actor, course_id: str) -> None:
    """Raise NoRight unless this person administers the course."""
    if not actor.administers(course_id):
        raise NoRight(what="administer this course")


def check_superadmin(actor: Actor) -> None:
    """Raise NoRight for anybody but a superadmin."""
    if "superadmin" not in actor.roles:
        raise NoRight(what="do this; it takes a superadmin")


def check_sees_everything(actor: Actor) -> None:
    """Raise NoRight for anybody but superadmins and superauditors."""
    if not actor.sees_everything:
        raise NoRight(what="see this; it takes a superadmin or superauditor")


def may_read_members(actor: Actor, course_id: str) -> bool:
    """Who belongs to a course, with addresses: its admins, superauditors and superadmins."""
    return actor.sees_everything or actor.administers(course_id)


def may_read_event(actor: Actor, event: Mapping[str, Any], movie: Movie | None = None) -> bool:
    """Whoever acted, whom it concerns, course admins, superusers; of a movie its readers, of a course its members.

    `movie` is the one that the event is about, None if there is none or it is not known: then only those may read it
    who need not see the movie for that.
    """
    if knows_all_of(actor, event) or actor.user_id == event.get("subject_user_id"):
        return True
    if "movie_id" in event:
        return movie is not None and may_read(actor, movie)
    return event.get("course_id") in actor.courses


def knows_all_of(actor: Actor, event: Mapping[str, Any]) -> bool:
    """May this person know from where and by which request it was done? Whoever did it, course admins, superusers."""
    return (
        actor.sees_everything or actor.user_id == event.get("user_id") or actor.administers(event.get("course_id", ""))
    )
