"""Who may read and who may edit: one rule for every route."""

from __future__ import annotations

from dataclasses import dataclass

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
