"""The checker of the poll bench: it passes what a page may be shown and names what it may not."""

from __future__ import annotations

from service.bench.sightings import Sightings


def record() -> Sightings:
    """A page that holds edit 3 under the tag A."""
    seen = Sightings(late_seconds=1.0)
    seen.edited("m", 3, 9.0)
    seen.shown(1, "m", 10.0, None, b"A", 3)
    return seen


def test_a_page_that_is_told_of_each_edit_breaks_nothing() -> None:
    seen = record()
    seen.unchanged(1, "m", 11.0, b"A", b"A")
    seen.edited("m", 4, 12.0)
    seen.shown(1, "m", 12.1, b"A", b"B", 4)
    seen.unchanged(1, "m", 13.0, b"B", None)
    assert (seen.violations, seen.needless, seen.latest) == ([], 0, 0.0)


def test_an_edit_may_be_told_of_a_little_late() -> None:
    seen = record()
    seen.edited("m", 4, 12.0)
    seen.unchanged(1, "m", 12.5, b"A", b"A")
    assert (seen.violations, seen.latest) == ([], 0.5)


def test_another_page_may_be_behind_the_first() -> None:
    seen = record()
    seen.shown(2, "m", 9.5, None, b"0", 2)
    assert seen.violations == []


def test_a_poll_that_goes_backwards_is_named() -> None:
    seen = record()
    seen.shown(1, "m", 9.1, b"A", b"0", 2)
    assert seen.violations == ["m: page 1 was shown edit 2 after edit 3"]


def test_an_edit_that_stays_hidden_is_named() -> None:
    seen = record()
    seen.edited("m", 4, 12.0)
    seen.edited("m", 5, 13.0)
    seen.unchanged(1, "m", 13.5, b"A", b"A")
    seen.shown(2, "m", 14.5, None, b"B", 4)
    assert [sentence.partition(" was ")[0] for sentence in seen.violations] == ["m: page 1", "m: page 2"]
    assert seen.broken == 2


def test_nothing_changed_is_said_to_who_holds_that_very_version_alone() -> None:
    seen = record()
    seen.unchanged(1, "m", 11.0, None, None)
    seen.unchanged(2, "m", 11.0, b"A", b"A")
    seen.unchanged(1, "m", 11.0, b"A", b"B")
    assert seen.broken == 3
    assert "another is unchanged" in seen.violations[2]


def test_one_tag_for_two_versions_is_named_and_a_needless_answer_counted() -> None:
    seen = record()
    seen.shown(1, "m", 11.0, b"A", b"A", 3)
    assert (seen.needless, seen.violations) == (1, [])
    seen.shown(1, "m", 12.0, b"A", b"A", 4)
    assert seen.violations == ["m: edits 3 and 4 were shown to page 1 under one tag"]


def test_a_run_that_breaks_everything_keeps_few_sentences() -> None:
    seen = record()
    for _ in range(500):
        seen.unchanged(1, "m", 11.0, None, None)
    assert (seen.broken, len(seen.violations)) == (500, 100)
