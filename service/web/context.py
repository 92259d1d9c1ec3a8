"""What every view reaches: the open runtime, who is known by which key, and the signer of sign-in links."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app

from service.domain.access import Actor, check_read
from service.domain.movie import Movie, movie_from_row
from service.runtime import Runtime
from service.store.stores import Stores
from service.store.table import Item
from service.usecases.people import Authenticator
from service.usecases.shared_reads import SharedReads
from service.web.kept_answers import KeptAnswers
from service.web.limits import Attempts
from service.web.sample_film import SampleFilm
from service.web.signer import Signer, signer_of

NAME = "tiptrace"


@dataclass(frozen=True, slots=True)
class Web:
    """One per application: `authenticator` remembers keys for seconds, `polled` reads rows for many pages at once."""

    runtime: Runtime
    authenticator: Authenticator
    signer: Signer
    polled: SharedReads[Item]
    sample: SampleFilm
    attempts: Attempts
    kept: KeptAnswers


def web_over(runtime: Runtime) -> Web:
    """Everything that views reach, over an open runtime. Raises SecretMissing."""
    return Web(
        runtime=runtime,
        authenticator=Authenticator(runtime.stores),
        signer=signer_of(runtime.settings),
        polled=SharedReads(runtime.stores.movies.rows),
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
    row = await web().polled.get(movie_id)
    return check_read(actor, movie_from_row(row) if row else None, course_id)


def stores() -> Stores:
    return web().runtime.stores
