"""What every view reaches: the open runtime, who is known by which key, and the signer of sign-in links."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app

from service.domain.access import Actor, check_read
from service.domain.movie import Movie
from service.runtime import Runtime
from service.store.stores import Stores
from service.usecases.people import Authenticator
from service.web.kept_answers import KeptAnswers
from service.web.limits import Attempts
from service.web.sample_film import SampleFilm
from service.web.signer import Signer, signer_of

NAME = "tiptrace"


@dataclass(frozen=True, slots=True)
class Web:
    """One per application: `authenticator` remembers keys for seconds, `kept` what polls were told."""

    runtime: Runtime
    authenticator: Authenticator
    signer: Signer
    sample: SampleFilm
    attempts: Attempts
    kept: KeptAnswers


def web_over(runtime: Runtime) -> Web:
    """Everything that views reach, over an open runtime. Raises SecretMissing."""
    return Web(
        runtime=runtime,
        authenticator=Authenticator(runtime.stores),
        signer=signer_of(runtime.settings),
        sample=SampleFilm(),
        attempts=Attempts(runtime.settings.rate_limit_storage_url),
        kept=KeptAnswers(),
    )


def web() -> Web:
    """The running application's. Only inside a request."""
    held: Web = current_app.extensions[NAME]
    return held


async def polled_movie(actor: Actor, movie_id: str, course_id: str | None) -> Movie:
    """A movie that this person may see, read together with whoever else asks for it now. Never for a decision.

    Raises MovieNotFound, NoRight, WrongCourse, Unavailable.
    """
    return check_read(actor, await stores().movies.get(movie_id, consistent=False), course_id)


def stores() -> Stores:
    return web().runtime.stores
