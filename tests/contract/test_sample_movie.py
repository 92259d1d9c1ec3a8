"""The movie for those who have none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from service.web import sample_film
from tests.support.service import Lab
from tracer.media import inspect

pytestmark = pytest.mark.asyncio(loop_scope="module")
SAMPLE = "/resize-api/v1/sample-movie"


async def test_the_sample_is_a_movie_that_can_be_traced_and_is_filmed_once(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty students who press the button together get one film."""
    films: list[bytes] = []
    really_filmed = sample_film._filmed

    async def filmed() -> bytes:
        films.append(await really_filmed())
        return films[-1]

    monkeypatch.setattr(sample_film, "_filmed", filmed)
    answers = await asyncio.gather(*(lab.get(SAMPLE, lab.people.ada) for _ in range(3)))
    assert {(answer.status_code, answer.headers["Content-Type"]) for answer in answers} == {(200, "video/mp4")}
    assert [answer.content for answer in answers] == 3 * films
    film = tmp_path / "sample.mp4"
    film.write_bytes(films[0])
    found = inspect(film)
    assert (found.decoded_frames, found.completeness, found.cuts) == (120, "whole", ())


async def test_nobody_without_a_key_makes_the_machine_film(lab: Lab) -> None:
    answer = await lab.get(SAMPLE, None)
    assert answer.status_code == 403
