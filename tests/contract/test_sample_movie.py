"""The movie for those who have none."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from service.domain.errors import Unavailable
from service.web import sample_film
from service.web.sample_film import SampleFilm
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


def _children_do(work: str) -> Callable[[pytest.MonkeyPatch, Path], None]:
    """The process that should film does this instead, where the film's path is `path`."""

    def arrange(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        python = folder / "python"
        python.write_text(
            f"#!{sys.executable}\nimport os, pathlib, signal, sys\npath = pathlib.Path(sys.argv[-1])\n{work}\n"
        )
        python.chmod(0o700)
        monkeypatch.setattr(sample_film.sys, "executable", str(python))

    return arrange


def _no_room(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))


@pytest.mark.parametrize(
    "arrange",
    [
        pytest.param(_children_do("os.kill(os.getpid(), signal.SIGKILL)"), id="killed"),
        pytest.param(_children_do("sys.exit(1)"), id="gave up"),
        pytest.param(_children_do("pass"), id="filmed nothing"),
        pytest.param(_children_do("path.parent.rmdir()"), id="the folder is gone"),
        pytest.param(lambda patch, folder: patch.setattr(sample_film.sys, "executable", str(folder)), id="no process"),
        pytest.param(_no_room, id="no room"),
    ],
)
async def test_a_sample_that_cannot_be_filmed_now_is_unavailable_to_all_who_wait_and_tried_again_later(
    arrange: Callable[[pytest.MonkeyPatch, Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed child, a full disk, a machine without processes left: thirty who wait cost one try, not thirty."""
    tries = 0
    really_filmed = sample_film._filmed

    async def counted() -> bytes:
        nonlocal tries
        tries += 1
        return await really_filmed()

    monkeypatch.setattr(sample_film, "_filmed", counted)
    film = SampleFilm()
    with monkeypatch.context() as broken:
        arrange(broken, tmp_path)
        told = await asyncio.gather(*(film.movie() for _ in range(30)), return_exceptions=True)
    assert [type(failure) for failure in told] == [Unavailable] * 30
    assert tries == 1
    _children_do("path.write_bytes(b'film')")(monkeypatch, tmp_path)
    assert await film.movie() == await film.movie() == b"film"
    assert tries == 2
