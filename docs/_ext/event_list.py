"""The events of the audit trail, and how often one may try to come in."""

from __future__ import annotations

from typing import get_args

from pieces import code, spoken, table

from service.domain import narration
from service.domain.audit import EventType
from service.web import limits
from service.web.app import bare_app


def events() -> str:
    """A table of every event with the sentence that tells it."""
    rows = [(code(name), spoken(narration._SENTENCES[name])) for name in get_args(EventType)]
    return table(("event", "the sentence that tells it"), rows)


def tries() -> str:
    """A table of every limit: how often, counted for whom."""
    paths: dict[str, list[str]] = {}
    for rule in bare_app().url_map.iter_rules():
        paths.setdefault(rule.endpoint, []).append(rule.rule)
    rows = [
        (
            ", ".join(map(code, paths[rule.endpoint])),
            rule.often.replace(";", ","),
            "an e-mail address" if rule.per is limits.person_asked_for else "a client address",
            "refused tries" if rule.failures else "all tries",
        )
        for rule in limits.RULES
    ]
    rows.append(("every route with a key", limits.WRONG_KEYS, "a client address", "keys that are nobody's"))
    return table(("route", "how often", "counted for", "what counts"), rows)
