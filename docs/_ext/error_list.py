"""The codes of refusals and of failed jobs, as the domain has them."""

from __future__ import annotations

from collections.abc import Iterator

from pieces import code, spoken, table

from service.domain.errors import TiptraceError
from service.domain.failures import RETRYABLE, SENTENCES
from service.web import app, problems

NOT_ANSWERS = frozenset({"engine_crashed", "fence_lost"})
"""Errors that stay inside a worker."""
BEFORE_THE_ROUTES = (
    ("overloaded", 503, True, "Too many requests are waiting. Try again in a moment."),
    ("not_running", 503, True, "The service is not running. Try again in a moment."),
)
"""What is answered before a request reaches any route: by the bridge and by a service that starts or stops."""


def refusals() -> str:
    """A table of every code that a refused request can carry, with its status."""
    rows = [
        (code(name), str(status), "yes" if again else "no", spoken(sentence))
        for name, status, again, sentence in sorted(every_refusal())
    ]
    return table(("code", "status", "same request may succeed later", "what people are told"), rows)


def every_refusal() -> Iterator[tuple[str, int, bool, str]]:
    """Code, status, whether a repetition may help, and sentence, of the errors and of what Flask refuses by itself."""
    assert app.BLUEPRINTS, "importing the application defines the errors of every room"
    told: set[str] = set()
    for kind in _below(TiptraceError):
        if kind.code not in told | NOT_ANSWERS:
            told.add(kind.code)
            yield kind.code, int(problems.status_of(kind.__new__(kind))), kind.retryable, kind.__doc__ or ""
    for status, (name, sentence) in problems._SAID.items():
        if name not in told:
            yield name, status, False, sentence
    yield from BEFORE_THE_ROUTES


def _below(kind: type[TiptraceError]) -> Iterator[type[TiptraceError]]:
    """The class itself first, so that a code that several share is told by the plainest."""
    yield kind
    for child in kind.__subclasses__():
        yield from _below(child)


def failures() -> str:
    """A table of every reason why a job can fail."""
    rows = [(code(name), "yes" if name in RETRYABLE else "no", spoken(said)) for name, said in SENTENCES.items()]
    return table(("code", "the same file may succeed later", "what people are told"), rows)
