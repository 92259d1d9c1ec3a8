"""The rules of leases, jobs, receipts, markers and access: pure functions, tried at their edges."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain import errors
from service.domain.access import Actor, may_edit, may_read
from service.domain.errors import InvalidParameter, LabelTaken, TiptraceError
from service.domain.failures import SENTENCES, Failure, sentence
from service.domain.job import STRATEGIES, checked_options
from service.domain.lease import is_live
from service.domain.markers import (
    COLORS,
    checked_label,
    checked_points,
    default_points,
    identified,
    label_id,
    renamed,
    shown_point,
    unmoved_kept,
    with_markers_of,
)
from service.domain.movie import Hidden, condition, frame_shows, hidden_row, hide, movie_from_row
from service.domain.receipt import Receipt, checked_key, input_digest, receipt_from_row, receipt_id, receipt_to_row
from service.store.marshal import pack, unpack
from service.usecases.people import normal_email
from tracer import errors as tracer_errors
from tracer import follow

NOW = 1_800_000_000


def movie(**row: Any) -> Any:
    return movie_from_row({"movie_id": "m1", "user_id": "u1", "course_id": "bio", "status": "ready", **row})


def job(state: str = "running", expires: int = NOW + 1, **row: Any) -> dict[str, Any]:
    return {
        "status": "tracing",
        "trace_job_id": "j1",
        "tracing_state": state,
        "tracing_attempt": 1,
        "tracing_expires_at": expires,
        **row,
    }


@given(st.integers(0, 2**33), st.integers(0, 2**33))
def test_every_moment_is_either_live_or_stale(expires: int, now: int) -> None:
    assert is_live(expires, now) == (expires > now)
    assert is_live(now, now) is False


def test_a_running_job_reads_as_tracing_until_the_very_second_its_lease_ends() -> None:
    assert condition(movie(**job(expires=NOW + 1)), NOW, 3).status == "tracing"
    ended = condition(movie(**job(expires=NOW)), NOW, 3)
    assert (ended.status, ended.failure_code, ended.resuming) == ("tracing failed", "worker_lost", True)
    last = condition(movie(**job(expires=NOW, tracing_failures=2)), NOW, 3)
    assert (last.status, last.resuming) == ("tracing failed", False)


def test_a_row_that_an_older_service_left_tracing_without_a_job_reads_as_failed() -> None:
    assert condition(movie(status="tracing"), NOW, 3).status == "tracing failed"


def test_an_inspection_reads_as_processing_and_unusable_when_its_worker_is_lost_for_good() -> None:
    inspecting = job(trace_job_kind="inspect", expires=NOW)
    assert condition(movie(**inspecting), NOW - 1, 3).status == "processing"
    assert condition(movie(**inspecting), NOW, 3).status == "processing"
    assert condition(movie(**{**inspecting, "tracing_failures": 2}), NOW, 3).status == "unusable"


SPAN = {
    "hidden_from": 5,
    "hidden_to": 9,
    "hidden_job_id": "j2",
    "hidden_edit_seq": 4,
    "hidden_keep_placed": True,
}


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ({"frame_number": 4, "job_id": "j1"}, ["user", "trace"]),
        ({"frame_number": 5, "job_id": "j1"}, ["user"]),
        ({"frame_number": 9, "job_id": "j2"}, ["user", "trace"]),
        ({"frame_number": 10, "job_id": "j1"}, ["user", "trace"]),
        ({"frame_number": 7, "edit_seq": 4}, ["user"]),
        ({"frame_number": 7, "edit_seq": 5}, ["user", "trace"]),
    ],
)
def test_a_hidden_span_shows_only_what_belongs_to_its_job_or_came_after_it(item: Any, shown: list[str]) -> None:
    points = [{"placed": "user"}, {"placed": "trace"}]
    found = frame_shows(movie(**SPAN), {**item, "trackpoints": points})
    assert [point["placed"] for point in found] == shown


CLEARED, KEPT = Hidden(5, 9, "j1", 3, keep_placed=False), Hidden(8, 20, "j2", 6, keep_placed=True)


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ({"frame_number": 7, "edit_seq": 3}, []),
        ({"frame_number": 7, "edit_seq": 4}, ["user", "trace"]),  # an edit made between the two, where only one hides
        ({"frame_number": 9, "edit_seq": 3}, []),
        ({"frame_number": 9, "edit_seq": 5}, ["user"]),
        ({"frame_number": 9, "edit_seq": 7}, ["user", "trace"]),
        ({"frame_number": 9, "job_id": "j1"}, ["user"]),  # made after the first
        ({"frame_number": 9, "job_id": "j2"}, ["user", "trace"]),
        ({"frame_number": 9, "job_id": "j0"}, []),
        ({"frame_number": 10, "job_id": "j0"}, ["user"]),
        ({"frame_number": 4, "job_id": "j0"}, ["user", "trace"]),
    ],
)
def test_of_two_hidden_spans_each_hides_what_was_there_when_it_was_made(item: Any, shown: list[str]) -> None:
    row = movie(**hidden_row((CLEARED, KEPT)))
    assert row.hidden == (CLEARED, KEPT)
    found = frame_shows(row, {**item, "trackpoints": [{"placed": "user"}, {"placed": "trace"}]})
    assert [point["placed"] for point in found] == shown


def test_spans_that_hide_nothing_of_their_own_are_not_kept() -> None:
    assert hide((), CLEARED) == (CLEARED,)
    assert hide((CLEARED,), KEPT) == (CLEARED, KEPT)
    whole = Hidden(0, 99, "j3", 8, keep_placed=False)
    assert hide((CLEARED, KEPT), whole) == (whole,)
    kept = Hidden(0, 99, "j3", 8, keep_placed=True)
    assert hide((CLEARED, KEPT), kept) == (CLEARED, kept), "what one clears the other would leave"
    assert hide((CLEARED,), Hidden(40, 39, "j3", 8, keep_placed=False)) == (CLEARED,), "no frame follows the last"
    assert hidden_row(()) == {}


def test_a_digest_depends_on_what_was_sent_and_not_on_its_order() -> None:
    assert input_digest({"a": 1, "b": [2]}) == input_digest({"b": [2], "a": 1})
    assert input_digest({"a": 1}) != input_digest({"a": "1"})
    assert input_digest({"a": 1}) != input_digest({"a": 1, "b": None})


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_receipts_of_different_people_never_share_an_id(one: str, other: str, key: str) -> None:
    assert (receipt_id(one, key) == receipt_id(other, key)) == (one == other)


@pytest.mark.parametrize("key", ["", " ", "a b", "ключ", "x" * 201, "x" * 10_000, "a\n", "\x7f"])
def test_a_request_key_is_1_to_200_visible_ascii_characters_c12(key: str) -> None:
    with pytest.raises(InvalidParameter):
        checked_key(key)


def test_a_request_key_of_every_visible_character_is_taken() -> None:
    key = "".join(map(chr, range(0x21, 0x7F)))
    assert checked_key(key) == key


def test_only_a_terminal_receipt_can_be_retired() -> None:
    row = {
        **{"receipt_id": "r", "user_id": "u", "request_key": "k", "kind": "trace", "input_digest": "d", "job_id": "j"},
        **{"movie_id": "m", "attempts": 1, "created_at": NOW, "updated_at": NOW, "expires_at": NOW},
    }
    assert Receipt(**row, state="done").retired(NOW)
    assert not Receipt(**row, state="done").retired(NOW - 1)
    assert not Receipt(**row, state="running").retired(NOW)
    receipt = Receipt(**row, state="failed", failure_code="cancelled", inputs={"frame_start": 3})
    assert receipt_from_row(receipt_to_row(receipt)) == receipt


KNOWN = {"m1": {"label": "Apex", "color": "#0072B2"}}


def test_points_name_their_marker_by_id_or_by_label_and_keep_their_decimals() -> None:
    ids = itertools.count()
    points, labels = checked_points(
        [{"marker_id": "m1", "x": "12.34", "y": 1}, {"label": " Tip ", "x": -3.25, "y": 4.0}],
        KNOWN,
        lambda: f"new{next(ids)}",
    )
    assert [(p["marker_id"], p["x"], p["y"], p["placed"]) for p in points] == [
        ("m1", 12.3, 1.0, "user"),
        ("new0", -3.2, 4.0, "user"),
    ]
    assert labels["new0"]["label"] == "Tip"
    assert labels["new0"]["color"] != KNOWN["m1"]["color"]
    assert checked_points([{"label": "Apex", "x": 1, "y": 1}], KNOWN, str)[0][0]["marker_id"] == "m1"


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "[]",
        {"x": 1},
        [1],
        [{"label": "A", "x": float("nan"), "y": 0}],
        [{"label": "A", "x": float("inf"), "y": 0}],
        [{"label": "A", "x": True, "y": 0}],
        [{"label": "A", "x": "1e9", "y": 0}],
        [{"label": "A", "x": 1}],
        [{"label": "", "x": 1, "y": 1}],
        [{"label": "x" * 101, "x": 1, "y": 1}],
        [{"label": "a\x00b", "x": 1, "y": 1}],
        [{"label": 7, "x": 1, "y": 1}],
        [{"label": f"m{n}", "x": 1, "y": 1} for n in range(51)],
    ],
)
def test_points_that_cannot_be_are_refused_by_name(sent: Any) -> None:
    with pytest.raises(InvalidParameter) as refused:
        checked_points(sent, {}, lambda: "new")
    assert refused.value.details["name"].startswith("trackpoints")


def test_names_that_other_frames_may_tell_of_are_never_forgotten() -> None:
    """A movie has 50 markers at a time, and may give them other names some times."""
    ids = itertools.count()
    known: dict[str, Any] = {}
    for batch in range(4):
        sent = [{"label": f"{batch}-{n}", "x": n, "y": n} for n in range(50)]
        known = checked_points(sent, known, lambda: f"m{next(ids)}")[1]
    assert {entry["label"] for entry in known.values()} == {f"{batch}-{n}" for batch in range(4) for n in range(50)}
    with pytest.raises(InvalidParameter, match="more than 200 marker names"):
        checked_points([{"label": "one more", "x": 1, "y": 1}], known, lambda: "new")
    assert len(checked_points([{"label": "0-0", "x": 1, "y": 1}], known, lambda: "new")[1]) == 200


def test_a_marker_that_did_not_move_stays_what_it_was_when_its_frame_is_saved_again() -> None:
    known = {**KNOWN, "m2": {"label": "Leaf"}, "m3": {"label": "Base"}}
    shown = [
        {"marker_id": "m1", "x": 10.0, "y": 20.0, "status": 0, "err": 9.5, "placed": "trace"},
        {"marker_id": "m2", "x": 30.04, "y": 40.0, "status": 0, "err": 8.0, "placed": "trace"},
        {"marker_id": "m3", "x": 50.0, "y": 60.0, "status": 1, "err": 0.3},
    ]
    sent = [
        {"marker_id": "m1", "x": 11.0, "y": 20.0},
        {"marker_id": "m2", "x": 30.0, "y": 40.0},
        {"marker_id": "m3", "x": 50.0, "y": 60.0},
        {"label": "New", "x": 1, "y": 2},
    ]
    points = unmoved_kept(checked_points(sent, known, lambda: "m4")[0], shown)
    assert [(p["marker_id"], p["status"], p["err"], p["placed"]) for p in points] == [
        ("m1", 1, 0.0, "user"),
        ("m2", 0, 8.0, "trace"),
        ("m3", 1, 0.3, "trace"),
        ("m4", 1, 0.0, "user"),
    ]


def test_the_options_of_a_trace_name_the_tracers_own_strategies() -> None:
    assert set(STRATEGIES) == {*follow.STRATEGIES}
    assert STRATEGIES[0] == follow.DEFAULT_STRATEGY
    assert checked_options({"strategy": "plain-flow"}) == {"strategy": "plain-flow"}
    with pytest.raises(InvalidParameter, match="quality"):
        checked_options({"quality": 1})


def test_one_marker_cannot_be_in_two_places_of_one_frame() -> None:
    with pytest.raises(LabelTaken):
        checked_points([{"label": "Apex", "x": 1, "y": 1}, {"marker_id": "m1", "x": 2, "y": 2}], KNOWN, str)


def test_a_rename_frees_the_old_name_and_refuses_a_taken_one() -> None:
    known = {**KNOWN, "m2": {"label": "Base"}}
    assert renamed(known, "Apex", " Tip ")["m1"]["label"] == "Tip"
    assert renamed(known, "Apex", "Apex") == known
    with pytest.raises(LabelTaken):
        renamed(known, "Apex", "Base")
    with pytest.raises(InvalidParameter):
        renamed(known, "Nobody", "X")
    assert known["m1"]["label"] == "Apex"


def test_labels_are_stripped_and_composed() -> None:
    assert checked_label("  Spitze a\u0308 ") == "Spitze ä"


def test_default_markers_lie_at_the_lower_left_form_of_their_image_places_a02() -> None:
    assert [(p["label"], p["x"], p["y"]) for p in default_points(480)] == [
        ("Apex", 50.0, 430.0),
        ("Ruler 0mm", 50.0, 380.0),
        ("Ruler 10mm", 50.0, 330.0),
    ]


def test_a_label_only_legacy_point_gets_a_stable_id_and_keeps_its_own_label() -> None:
    (point,) = identified([{"label": " Apex ", "x": 1, "y": 2}], {})
    shown = shown_point(point, with_markers_of([point], {}), 3)
    assert (shown["label"], shown["frame_number"], shown["status"]) == ("Apex", 3, 1)
    # Stored maps of laboratories hold this very id.
    assert shown["marker_id"] == label_id("Apex") == "c4a5cb17019956a88dc213539e08a8b7"


def test_a_label_only_point_means_the_marker_that_has_or_had_its_label() -> None:
    known = {"m1": {"label": "Apex"}, "m2": {"label": "Base"}}
    points = [{"label": "Apex"}, {"label": "Base"}, {"label": "Other"}, {"marker_id": "m9", "label": "Apex"}]
    expected = ["m1", "m2", label_id("Other"), "m9"]
    assert [p["marker_id"] for p in identified(points, known)] == expected
    after = renamed(known, "Apex", "Tip")
    assert [p["marker_id"] for p in identified(points, after)] == expected
    # The freed name may be another marker's now, and be given away again: old points still mean the first one.
    again = renamed({**after, "m3": {"label": "Apex"}}, "Apex", "Leaf")
    assert [p["marker_id"] for p in identified(points, again)] == expected


def test_markers_of_label_only_points_get_colours_of_their_own_once() -> None:
    points = identified([{"label": "Apex", "color": "#123456"}, {"label": "Base", "undeletable": 1}, {"x": 1}], {})
    labels = with_markers_of(points, {})
    assert [(e["label"], e["color"], e.get("undeletable", False)) for e in labels.values()] == [
        ("Apex", "#123456", False),
        ("Base", COLORS[0], True),
    ]
    assert with_markers_of(points, labels) is labels


OWNER = Actor("u1", "Owner", courses=frozenset({"bio"}))
CLASSMATE = Actor("u2", "Classmate", courses=frozenset({"bio"}))
TEACHER = Actor("u3", "Teacher", courses=frozenset({"bio"}), admin_of=frozenset({"bio"}))
STRANGER = Actor("u4", "Stranger", courses=frozenset({"chem"}), admin_of=frozenset({"chem"}))
AUDITOR = Actor("u5", "Auditor", roles=frozenset({"superauditor"}))
SUPER = Actor("u6", "Super", roles=frozenset({"superadmin"}))


@pytest.mark.parametrize(
    ("actor", "reads_hidden", "reads_published", "edits"),
    [
        (OWNER, True, True, True),
        (CLASSMATE, False, True, False),
        (TEACHER, True, True, True),
        (STRANGER, False, False, False),
        (AUDITOR, True, True, False),
        (SUPER, True, True, True),
    ],
)
def test_one_rule_says_who_reads_and_who_edits_a31(
    actor: Actor, reads_hidden: bool, reads_published: bool, edits: bool
) -> None:
    assert may_read(actor, movie()) is reads_hidden
    assert may_read(actor, movie(published=True)) is reads_published
    assert may_read(actor, movie(published=True, deleted=True)) is (reads_published and actor is not CLASSMATE)
    assert may_edit(actor, movie()) is edits


def test_every_sentence_of_a_failure_is_complete_and_tells_its_numbers() -> None:
    for code in SENTENCES:
        assert sentence(code).endswith(".")
        assert "{" not in sentence(code)
    told = sentence("movie_cut_off", {"last": 212, "promised": 300})
    assert told.startswith("The movie ends after frame 212 of 300")
    assert Failure("s3://bucket/key?X-Amz-Signature=1").code == "internal"


def every_kind(base: type[BaseException]) -> set[type[BaseException]]:
    return {base} | {kind for child in base.__subclasses__() for kind in every_kind(child)}


def test_the_service_says_of_a_bad_movie_what_the_tracer_says() -> None:
    for kind in every_kind(tracer_errors.MovieError):
        first = " ".join((kind.__doc__ or "").split())
        assert kind.code in SENTENCES, kind
        if kind is not tracer_errors.MovieError:
            assert SENTENCES[kind.code] == first


def test_every_error_has_a_message_and_a_code_of_its_own() -> None:
    kinds = [kind for kind in every_kind(TiptraceError) if kind.__module__ == errors.__name__]
    codes = [kind.code for kind in kinds]
    assert len(codes) == len(set(codes)) == len(kinds)
    assert all((kind.__doc__ or "").strip().endswith((".", "}")) for kind in kinds)


@pytest.mark.parametrize(
    ("typed", "one"),
    [
        ("A@Example.org", "a@example.org"),
        (" a@example.org\n", "a@example.org"),
        ("a@BÜCHER.example", "a@xn--bcher-kva.example"),
    ],
)
def test_an_address_has_one_form_however_it_is_typed_a30(typed: str, one: str) -> None:
    assert normal_email(typed) == one


@pytest.mark.parametrize("typed", ["", "a", "@b.c", "a@b", "a b@c.de", "a@" + "x" * 300 + ".de"])
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(InvalidParameter):
        normal_email(typed)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text()
    | st.floats(-1e9, 1e9).map(lambda x: round(x, 3)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_what_is_stored_comes_back_equal(value: Any) -> None:
    assert unpack(pack(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), set(), object()])
def test_what_the_database_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        pack(value)
