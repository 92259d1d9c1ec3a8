"""Addresses, names, courses, rights and sentences: pure rules, tried at their edges (A30, A31)."""

from __future__ import annotations

import itertools
from email.headerregistry import Address
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.access import Actor, check_oversee, knows_all_of, may_read_event, may_read_members, sees_course
from service.domain.address import checked_name, named_address, normal_email
from service.domain.audit import OPERATOR, EventType, event, for_readers
from service.domain.courses import checked_course_id, shown_course, shown_user
from service.domain.errors import InvalidParameter, MovieNotFound, NoRight
from service.domain.movie import movie_from_row
from service.domain.narration import sentence

MEMBER = Actor("member", "Member", courses=frozenset({"bio"}))
TEACHER = Actor("teacher", "Teacher", courses=frozenset({"bio"}), admin_of=frozenset({"bio"}))
AUDITOR = Actor("auditor", "Auditor", roles=frozenset({"superauditor"}))
ROOT = Actor("root", "Root", roles=frozenset({"superadmin"}))


@given(st.text(max_size=40) | st.emails() | st.emails().map(lambda a: f" {a.upper()}\t"))
def test_a_normal_address_is_normal_already_and_is_one_address_a30(typed: str) -> None:
    try:
        email = normal_email(typed)
    except InvalidParameter:
        return
    assert normal_email(email) == normal_email(email.upper()) == email
    local, _, domain = email.rpartition("@")
    assert str(Address("", local, domain)) == email, "as a header writes it, without quotes"
    assert not set(email) & set(' \t\r\n\x00,;<>"()[]\\:')
    assert domain.isascii()


@pytest.mark.parametrize(
    ("text", "name", "email"),
    [
        ("ada@x.example", "", "ada@x.example"),
        ("Ada Green <ada@x.example>", "Ada Green", "ada@x.example"),
        (' "Green, Ada"  <ada@x.example> ', "Green, Ada", "ada@x.example"),
        ("<ada@x.example>", "", "ada@x.example"),
        ("Ada <ada@x.example", "", "Ada <ada@x.example"),
        ("<<ada@x.example>>", "", "<<ada@x.example>>"),
    ],
)
def test_a_line_of_a_list_is_an_address_or_a_name_with_one(text: str, name: str, email: str) -> None:
    assert named_address(text) == (name, email)


def test_a_line_as_long_as_a_request_may_be_is_read_at_once() -> None:
    """A pattern that looks for the end of the spaces from each of them takes hours, and holds up everybody."""
    for text in (" " * 1_000_000, "a " * 500_000 + "<", "<" * 1_000_000, "x<" + " " * 1_000_000):
        assert named_address(text) == ("", text)


def test_a_name_is_kept_as_people_write_it_and_is_never_empty() -> None:
    assert checked_name("  Łukasz Žižka ", "l@x.example") == "Łukasz Žižka"
    assert checked_name("می‌خواهم", "l@x.example") == "می‌خواهم", "a joiner is a letter's business"
    assert checked_name(" ", "lukasz@x.example") == "lukasz"
    for bad in ("a\nb", "a\x7fb", "a\u2028b", "a\u202eb", "\ud800", "x" * 101):
        with pytest.raises(InvalidParameter):
            checked_name(bad, "l@x.example")


@pytest.mark.parametrize("course_id", ["bio-101", "Bio 101", "ökologie", "7", "a.b_c~d:e@f", "x" * 100])
def test_a_course_id_is_free_text_that_can_stand_in_an_address(course_id: str) -> None:
    assert checked_course_id(f" {course_id} ") == course_id


def test_a_course_shows_its_key_to_those_alone_who_may_let_others_in() -> None:
    stored = {"course_id": "bio", "course_name": "Bio", "course_key": "k", "max_enrollment": 5, "enrolled": 2, "x": 1}
    assert shown_course(stored, administers=False) == {"course_id": "bio", "course_name": "Bio", "course_admin": False}
    assert shown_course(stored, administers=True)["course_key"] == "k"
    assert "x" not in shown_course(stored, administers=True)


def test_a_user_of_an_older_service_can_be_shown_and_nothing_that_was_not_named_is() -> None:
    told = shown_user({"user_id": "u1", "courses": frozenset({"b", "a"}), "password": "secret", "superadmin": 1})
    assert told == {
        "user_id": "u1", "user_name": "", "email": "", "primary_course_id": "", "courses": ["a", "b"], "admin_of": [],
        "roles": ["superadmin"], "enabled": True, "created": 0,
    }  # fmt: skip


def test_who_looks_into_the_store_oversees_the_movie() -> None:
    movie = movie_from_row({"movie_id": "m1", "user_id": "member", "course_id": "bio", "published": True})
    for actor in (TEACHER, AUDITOR, ROOT):
        assert check_oversee(actor, movie) is movie
    with pytest.raises(NoRight):
        check_oversee(MEMBER, movie)
    with pytest.raises(MovieNotFound):
        check_oversee(ROOT, None)


def test_rights_of_courses_at_their_edges() -> None:
    seen = [(sees_course(actor, "bio"), may_read_members(actor, "bio")) for actor in (MEMBER, TEACHER, AUDITOR, ROOT)]
    assert seen == [(True, False), (True, True), (True, True), (True, True)]
    assert not sees_course(TEACHER, "chem")


@pytest.mark.parametrize(
    ("told", "readers", "knowing"),
    [
        ({"user_id": "member", "course_id": "chem"}, "MAR", "MAR"),
        ({"user_id": "root", "subject_user_id": "member", "course_id": "chem"}, "MAR", "AR"),
        ({"user_id": "root", "course_id": "bio"}, "MTAR", "TAR"),
        ({"user_id": "root", "course_id": "bio", "movie_id": "m"}, "TAR", "TAR"),
        ({"user_id": "root"}, "AR", "AR"),
    ],
    ids=["own", "about", "of the course", "of a movie", "of nothing"],
)
def test_who_reads_an_event_and_who_knows_all_of_it_a31(told: dict[str, Any], readers: str, knowing: str) -> None:
    """The letters are those with which the four begin."""
    people = {"M": MEMBER, "T": TEACHER, "A": AUDITOR, "R": ROOT}
    assert "".join(letter for letter, actor in people.items() if may_read_event(actor, told)) == readers
    assert "".join(letter for letter, actor in people.items() if knows_all_of(actor, told)) == knowing


def test_an_event_of_a_movie_is_read_by_whoever_may_read_the_movie_now() -> None:
    told = {"user_id": "owner", "course_id": "bio", "movie_id": "m"}
    row = {"movie_id": "m", "user_id": "owner", "course_id": "bio", "status": "ready"}
    for shown, deleted, readable in ((True, False, True), (False, False, False), (True, True, False)):
        movie = movie_from_row({**row, "published": shown, "deleted": deleted})
        assert may_read_event(MEMBER, told, movie) == readable
        assert may_read_event(Actor("owner", "Owner"), {**told, "user_id": "teacher"}, movie), "it is the owner's movie"
        assert not may_read_event(Actor("eve", "Eve", courses=frozenset({"chem"})), told, movie)


def test_readers_are_told_what_was_done_and_not_from_where_or_by_which_request() -> None:
    told = event(
        "l", "movie.tracing.failed", 7, user_id="owner", movie_id="m", course_id="bio", ipaddr="192.0.2.7",
        request_key="k", error_type="cut_off", error_summary="It is cut off.", elapsed_seconds=3, anything_new="secret",
    )  # fmt: skip
    assert for_readers(told) == {
        "log_id": "l", "event_type": "movie.tracing.failed", "time_t": 7, "user_id": "owner", "movie_id": "m",
        "course_id": "bio", "elapsed_seconds": 3,
    }  # fmt: skip


@pytest.mark.parametrize("event_type", get_args(EventType))
def test_every_event_has_a_sentence_whatever_it_lacks(event_type: str) -> None:
    fields: dict[str, Any] = {
        "movie_id": "m", "course_id": "c", "subject_user_id": "s", "frames": 1, "elapsed_seconds": 90.4,
        "error_summary": "It {looks} cut off.",
    }  # fmt: skip
    names = {("user", "u"): "Ada {0}", ("user", "s"): "Ben", ("movie", "m"): "Bean", ("course", "c"): "Bio"}
    for number in range(len(fields) + 1):
        for some in itertools.combinations(fields, number):
            for user_id in ("u", "unknown", OPERATOR):
                told = event("l", event_type, 0, user_id=user_id, **{name: fields[name] for name in some})
                said = sentence(told, lambda kind, identity: names.get((kind, identity)))
                assert said[0] == "“" or said[0].isupper(), said
                assert said.endswith((".", "?")), said
                assert "None" not in said
                assert "  " not in said
                assert not any(placeholder in said for placeholder in ("{who}", "{movie}", "{why}")), said


def test_a_cancelled_trace_is_no_failure_in_words() -> None:
    told = event("l", "movie.tracing.failed", 0, user_id="u", movie_id="m", error_type="cancelled",
                 error_summary="It was cancelled.", elapsed_seconds=0)  # fmt: skip
    names = {("user", "u"): "Ada", ("movie", "m"): "Bean"}
    assert sentence(told, lambda kind, identity: names.get((kind, identity))) == "Ada cancelled the trace of “Bean”."
    told |= {"elapsed_seconds": 12}
    assert sentence(told, lambda _, __: None) == "Somebody cancelled the trace of a movie after 12 seconds."


def test_an_event_of_a_newer_version_is_told_without_breaking() -> None:
    told = sentence({"event_type": "movie.sung.to", "user_id": "u"}, lambda *_: "Ada")
    assert told == "Ada did something that this version does not know."
