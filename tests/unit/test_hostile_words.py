"""Words that people give things: invisible ones, ones that turn the sentence around, ones as long as a book."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from service.domain import address
from service.domain.address import checked_name, normal_email
from service.domain.errors import InvalidParameter
from service.domain.markers import checked_label
from service.domain.narration import sentence
from service.domain.visible import is_blank
from service.usecases.manage_movie import checked_words

INVISIBLE = [
    "\u200b",
    "\u2060\u2060",
    "\ufeff",
    "\u00ad",
    "\u3164",
    "\u2800 \u2800",
    "\u00a0\u3000",
    "\u2066\u2069",
    "\u200e",
]
TURNING = ["Bean\u202e gnp.exe", "\u2067Bean", "\u202aC:\\movies\\bean.mp4", "Be\u2069an\u202d"]


def _code_points(text: str) -> str:
    return " ".join(f"{ord(c):04x}" for c in text[:12])


@pytest.mark.parametrize("text", INVISIBLE, ids=_code_points)
def test_a_name_that_nobody_can_see_is_none(text: str) -> None:
    assert is_blank(text)
    assert checked_words(text, 200, "title") == "", "the pages have a word for a movie without a title"
    with pytest.raises(InvalidParameter):
        checked_label(text)
    told = {"event_type": "movie.lease.taken-over", "user_id": "u", "movie_id": "m"}
    assert sentence(told, lambda *_: text) == "Somebody took over editing a movie."


@pytest.mark.parametrize("text", ["\u200b", "\u2060", "\u3164"], ids=_code_points)
def test_a_person_whose_name_cannot_be_seen_is_called_by_his_address(text: str) -> None:
    assert checked_name(text, "ada@x.example") == "ada"


@pytest.mark.parametrize(
    "text", ["0", "\u05d0\u05d1\u200f!", "👩\u200d🔬", "می\u200cخواهم", "\ue000"], ids=_code_points
)
def test_what_can_be_seen_stays_as_it_was_written(text: str) -> None:
    assert checked_words(text, 200, "title") == checked_label(text) == text


@pytest.mark.parametrize("text", TURNING, ids=_code_points)
def test_a_title_turns_nothing_around_that_stands_beside_it(text: str) -> None:
    """Also one that an older service let in."""
    turns = set(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
    assert not turns & set(checked_words(text, 200, "title"))
    told = {"event_type": "course.admin.removed", "user_id": "u", "course_id": "c", "subject_user_id": "s"}
    said = sentence(told, lambda *_: text)
    assert not turns & set(said)
    assert said.count("Be") == 3 or "bean" in said


@pytest.mark.parametrize(
    "typed", ["a@" + "é" * 50_000, "a@" + "a." * 200_000 + "b", "\ufdfa" * 50_000 + "@x.example"], ids=len
)
def test_an_address_as_long_as_a_book_is_not_even_read(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may ask for a link: bringing one such address to its form would hold up everybody else for a second."""

    def read(_form: str, _text: str) -> str:
        raise AssertionError("it was read")

    monkeypatch.setattr(address, "unicodedata", SimpleNamespace(normalize=read))
    with pytest.raises(InvalidParameter):
        normal_email(typed)
