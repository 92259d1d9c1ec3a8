"""What a labelled movie says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from service.domain.movie import movie_from_row
from service.usecases.trace_plan import tags_of

REFUSED = "Whoever made this movie has not allowed its use in research."


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({}, {"comment": REFUSED}),
        ({"title": "Bean", "research_use": 0}, {"title": "Bean", "comment": REFUSED}),
        ({"research_use": 1}, {"comment": "Whoever made this movie allows its use in research."}),
        ({"attribution_name": "Ada", "credit_by_name": 0}, {"comment": REFUSED}),
        ({"attribution_name": "Ada", "credit_by_name": 1}, {"artist": "Ada", "comment": REFUSED}),
    ],
)
def test_a_person_is_named_in_the_movie_only_if_he_wishes_it(row: dict[str, Any], told: dict[str, str]) -> None:
    assert tags_of(movie_from_row({"movie_id": "m", **row})) == told
