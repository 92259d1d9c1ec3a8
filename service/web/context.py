"""What every view reaches: the open runtime, who is known by which key, and the signer of sign-in links."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app

from service.domain.access import Actor, check_read
from service.domain.movie import Movie
from service.runtime import Runtime
from service.store.stores import Stores
from service.usecases.people import Authenticator
from service.web.sample_film import SampleFilm
from service.web.shared_reads import SharedReads
from service.web.signer import Signer, signer_of

NAME = "tiptrace"


@dataclass(frozen=True, slots=True)
class Web:
    """One per application: `authenticator` remembers keys for seconds, `polled` reads rows for many pages at once."""

    runtime: Runtime
    authenticator: Authenticator
    signer: Signer
    polled: SharedReads[Movie | None]
    sample: SampleFilm


def web_over(runtime: Runtime) -> Web:
    """Everything that views reach, over an open runtime. Raises SecretMissing."""
    movies = runtime.stores.movies
    return Web(
        runtime=runtime,
        authenticator=Authenticator(runtime.stores),
        signer=signer_of(runtime.settings),
        polled=SharedReads(lambda movie_id: movies.get(movie_id, consistent=False)),
        sample=SampleFilm(),
    )


def web() -> Web:
    """The running application's. Only inside a request."""
    held: Web = current_app.extensions[NAME]
    return held


async def polled_movie(actor: Actor, movie_id: str, course_id: str | None) -> Movie:
    """A movie that this person may see, read together with whoever else asks for it now. Never for a decision.

    Raises MovieNotFound, NoRight, WrongCourse, Unavailable.
    """
    return check_read(actor, await web().polled.get(movie_id), course_id)


def stores() -> Stores:
    return web().runtime.stores
