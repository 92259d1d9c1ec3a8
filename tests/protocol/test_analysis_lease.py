"""The right of one page to edit: acquire, renew, release, take over."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields

import pytest

from service.domain.access import Actor
from service.domain.errors import BeingTraced, LeaseLost, LeaseRequired, MovieDeleted, NotReady
from service.domain.movie import Movie
from service.runtime import open_runtime
from service.store.expressions import Update
from service.store.schema import FRAMES, MOVIES
from service.store.stores import Stores
from service.store.table import Change, Item, Put
from service.usecases import edit_movie
from service.usecases.analysis_lease import acquire, drop, heartbeat, release
from service.usecases.manage_movie import delete_movie
from tests.support.engines import ScriptedEngine
from tests.support.lab import POINTS, Lab
from tests.support.lab_worker import claimed, message_of, run

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_of_a_hundred_simultaneous_acquires_exactly_one_wins_b23(lab: Lab) -> None:
    teacher = await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(teacher)
    answers = await asyncio.gather(*(acquire(lab.stores, teacher, movie_id) for _ in range(100)))
    granted = [answer.lease for answer in answers if answer.lease]
    assert len(granted) == 1
    assert (await lab.movie(movie_id)).row["analysis_lease_id"] == granted[0].lease_id
    denied = next(answer for answer in answers if not answer.lease)
    assert "Teacher is editing" in denied.message


async def test_the_same_request_key_gets_the_same_lease_again(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    first = await acquire(lab.stores, owner, movie_id, request_key="page-1")
    again = await acquire(lab.stores, owner, movie_id, request_key="page-1")
    assert first.lease
    assert again.lease == first.lease
    other_page = await acquire(lab.stores, owner, movie_id, request_key="page-2")
    assert other_page.lease is None


async def test_an_equal_request_key_of_another_person_gets_nothing(lab: Lab) -> None:
    owner, teacher = await lab.person("Owner"), await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(owner)
    assert (await acquire(lab.stores, owner, movie_id, request_key="page-1")).lease
    assert (await acquire(lab.stores, teacher, movie_id, request_key="page-1")).lease is None


async def test_a_reloaded_page_gets_a_new_token_and_the_old_pages_late_release_does_nothing_a07(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    old = (await acquire(lab.stores, owner, movie_id, request_key="load-1")).lease
    assert old
    new = (await acquire(lab.stores, owner, movie_id, request_key="load-2", former_lease_id=old.lease_id)).lease
    assert new
    assert new.lease_id != old.lease_id
    assert await release(lab.stores, owner, movie_id, old.lease_id) is False
    assert (await heartbeat(lab.stores, owner, movie_id, new.lease_id)).active
    assert not (await heartbeat(lab.stores, owner, movie_id, old.lease_id)).active


async def test_a_person_may_take_over_from_his_own_other_page_and_it_is_audited(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    first = (await acquire(lab.stores, owner, movie_id)).lease
    second = (await acquire(lab.stores, owner, movie_id, take_over=True)).lease
    assert first
    assert second
    assert not (await heartbeat(lab.stores, owner, movie_id, first.lease_id)).active
    events = await lab.events(movie_id)
    assert [(event["event_type"], event["user_id"]) for event in events] == [("movie.lease.taken-over", owner.user_id)]


async def test_what_an_operator_takes_away_is_audited_with_it_and_only_once(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    operator = Actor("operator", "operator", roles=frozenset({"superadmin"}))
    assert not await drop(lab.stores, operator, await lab.movie(movie_id))
    await acquire(lab.stores, owner, movie_id)
    held = await lab.movie(movie_id)
    assert [await drop(lab.stores, operator, held) for _ in range(2)] == [True, False]
    assert (await lab.movie(movie_id)).analysis is None
    events = await lab.events(movie_id)
    assert [(event["event_type"], event["user_id"]) for event in events] == [("movie.lease.taken-over", "operator")]


async def test_an_admin_of_the_course_may_take_over_from_anyone_but_the_owner_not_from_him(lab: Lab) -> None:
    owner, teacher = await lab.person("Owner"), await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(owner)
    assert (await acquire(lab.stores, owner, movie_id)).lease
    taken = (await acquire(lab.stores, teacher, movie_id, take_over=True)).lease
    assert taken
    assert (await acquire(lab.stores, owner, movie_id, take_over=True)).lease is None
    assert (await lab.movie(movie_id)).row["analysis_lease_id"] == taken.lease_id


async def test_who_may_not_edit_gets_no_lease_and_the_reason(lab: Lab) -> None:
    owner, classmate = await lab.person("Owner"), await lab.person("Classmate")
    movie_id = await lab.ready_movie(owner)
    await lab.stores.database.write(Change(MOVIES, {"movie_id": movie_id}, Update(set={"published": True})))
    answer = await acquire(lab.stores, classmate, movie_id)
    assert answer.lease is None
    assert "not change it" in answer.message


async def test_a_stale_lease_blocks_nobody_and_its_page_is_told_that_it_is_lost(lab: Lab) -> None:
    owner, teacher = await lab.person("Owner"), await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(owner)
    old = (await acquire(lab.stores, owner, movie_id)).lease
    assert old
    lab.clock.advance(899)
    assert (await acquire(lab.stores, teacher, movie_id)).lease is None
    lab.clock.advance(1)
    new = (await acquire(lab.stores, teacher, movie_id)).lease
    assert new
    with pytest.raises(LeaseLost):
        await edit_movie.set_fpm(lab.stores, owner, movie_id, old.lease_id, 2.0)
    assert not (await heartbeat(lab.stores, owner, movie_id, old.lease_id)).active
    assert await release(lab.stores, owner, movie_id, old.lease_id) is False


@pytest.mark.parametrize("lease_id", [None, "", "garbage", "0" * 32])
async def test_a_write_without_the_live_lease_changes_nothing_a08(lab: Lab, lease_id: str | None) -> None:
    owner = await lab.person("Owner")
    movie_id, other_id = await lab.ready_movie(owner), await lab.ready_movie(owner)
    elsewhere = (await acquire(lab.stores, owner, other_id)).lease
    assert elsewhere
    before = (await lab.movie(movie_id)).row, await lab.frames(movie_id)
    for token in (lease_id, elsewhere.lease_id):
        for write in (
            edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, token, 0, POINTS),
            edit_movie.set_trim(lab.stores, owner, movie_id, token, start=3),
            edit_movie.set_fpm(lab.stores, owner, movie_id, token, 2.0),
            edit_movie.rename_marker(lab.stores, owner, movie_id, token, "Apex", "Tip"),
            edit_movie.reset_tracing(lab.stores, owner, movie_id, token),
        ):
            with pytest.raises((LeaseRequired, LeaseLost)):
                await write
    assert ((await lab.movie(movie_id)).row, await lab.frames(movie_id)) == before


@pytest.mark.parametrize("rounds", [40, pytest.param(500, marks=pytest.mark.long)])
async def test_an_edit_and_another_pages_acquire_fired_together_never_both_win_a08(lab: Lab, rounds: int) -> None:
    """The edit is stored exactly if it was acknowledged, and the lease is the taker's whatever the edit did."""
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    for n in range(rounds):
        old = (await acquire(lab.stores, owner, movie_id)).lease
        assert old
        edit = edit_movie.set_fpm(lab.stores, owner, movie_id, old.lease_id, 1.0 + n)
        take = acquire(lab.stores, owner, movie_id, take_over=True)
        edited, taken = await asyncio.gather(edit, take, return_exceptions=True)
        row = (await lab.movie(movie_id)).row
        assert not isinstance(taken, BaseException)
        assert taken.lease
        assert row["analysis_lease_id"] == taken.lease.lease_id
        if isinstance(edited, LeaseLost):
            assert row.get("fpm") != f"{1.0 + n:.10g}"
        else:
            assert not isinstance(edited, BaseException), edited
            assert row["fpm"] == f"{1.0 + n:.10g}"
        await release(lab.stores, owner, movie_id, taken.lease.lease_id)


@pytest.mark.parametrize("rounds", [40, pytest.param(1000, marks=pytest.mark.long)])
async def test_a_heartbeat_and_a_release_fired_together_always_leave_the_movie_free(lab: Lab, rounds: int) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    for _ in range(rounds):
        lease = (await acquire(lab.stores, owner, movie_id)).lease
        assert lease
        beat, released = await asyncio.gather(
            heartbeat(lab.stores, owner, movie_id, lease.lease_id), release(lab.stores, owner, movie_id, lease.lease_id)
        )
        assert released
        assert beat.active == (beat.expires_at is not None)
        assert "analysis_lease_id" not in (await lab.movie(movie_id)).row


async def test_a_movie_that_is_not_ready_or_deleted_admits_no_lease(lab: Lab) -> None:
    owner = await lab.person("Owner")
    for changed, error in (
        ({"status": "processing"}, NotReady),
        ({"status": "uploading"}, NotReady),
        ({"status": "unusable"}, NotReady),
        ({"deleted": True}, MovieDeleted),
    ):
        movie_id = await lab.ready_movie(owner)
        await lab.stores.database.write(Change(MOVIES, {"movie_id": movie_id}, Update(set=changed)))
        with pytest.raises(error):
            await acquire(lab.stores, owner, movie_id)
        assert "analysis_lease_id" not in (await lab.movie(movie_id)).row


async def test_who_may_edit_no_more_loses_the_lease_by_asking_for_more_of_it(lab: Lab) -> None:
    owner, admin = await lab.person("Owner"), await lab.person("Admin", admin=True)
    movie_id = await lab.ready_movie(owner)
    lease = (await acquire(lab.stores, admin, movie_id)).lease
    assert lease
    assert (await heartbeat(lab.stores, admin, movie_id, lease.lease_id)).active
    student = dataclasses.replace(admin, admin_of=frozenset())
    beat = await heartbeat(lab.stores, student, movie_id, lease.lease_id)
    assert (beat.active, beat.message) == (False, "You do not have the right to edit this movie.")
    assert (await acquire(lab.stores, owner, movie_id)).lease


async def test_a_movie_goes_away_with_its_editors_lease_and_comes_back_free(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    lease = (await acquire(lab.stores, owner, movie_id)).lease
    assert lease
    await delete_movie(lab.stores, owner, movie_id, deleted=True, lease_id=lease.lease_id)
    assert not (await heartbeat(lab.stores, owner, movie_id, lease.lease_id)).active
    assert (await lab.movie(movie_id)).analysis is None
    await delete_movie(lab.stores, owner, movie_id, deleted=False)
    assert (await acquire(lab.stores, owner, movie_id)).lease


async def test_a_live_trace_denies_the_lease_and_refuses_edits_of_the_page_that_started_it(lab: Lab) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    lease = (await acquire(lab.stores, owner, movie_id)).lease
    assert lease
    await lab.submit(owner, movie_id, analysis_lease_id=lease.lease_id)
    assert (await acquire(lab.stores, owner, movie_id, take_over=True)).lease is None
    with pytest.raises(BeingTraced):
        await edit_movie.set_fpm(lab.stores, owner, movie_id, lease.lease_id, 2.0)
    assert await release(lab.stores, owner, movie_id, lease.lease_id) is False
    assert (await lab.movie(movie_id)).tracing is not None


@pytest.mark.parametrize("rounds", [60, pytest.param(1000, marks=pytest.mark.long)])
async def test_a_lease_just_granted_is_never_free_to_another_connection_a12(lab: Lab, rounds: int) -> None:
    owner, teacher = await lab.person("Owner"), await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(owner)
    async with open_runtime(lab.runtime.settings, endpoint=lab.runtime.endpoint, clock=lab.clock) as other:
        for _ in range(rounds):
            held = (await acquire(lab.stores, owner, movie_id)).lease
            assert held
            assert (await acquire(other.stores, teacher, movie_id)).lease is None
            seen = await other.stores.movies.get(movie_id)
            assert seen
            assert seen.analysis == held
            assert await release(lab.stores, owner, movie_id, held.lease_id)


@pytest.mark.parametrize(("first", "second"), [(-120, 120), (120, -120), (0, 120), (0, -120)])
async def test_hosts_whose_clocks_differ_hand_a_lease_over_once_and_at_a_stated_time_c02(
    lab: Lab, first: int, second: int
) -> None:
    """Tokens decide who may write; the clocks decide only when, and are wrong by no more than their difference."""
    owner, teacher = await lab.person("Owner"), await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(owner)
    one, other = (lab.with_clock(lab.clock.skewed(skew)) for skew in (first, second))
    held = (await acquire(one, owner, movie_id)).lease
    assert held
    free_after = 900 + first - second  # the second host's clock must reach what the first one wrote
    lab.clock.advance(free_after - 1)
    assert (await acquire(other, teacher, movie_id)).lease is None
    lab.clock.advance(1)
    taken = (await acquire(other, teacher, movie_id)).lease
    assert taken
    assert not (await heartbeat(one, owner, movie_id, held.lease_id)).active
    with pytest.raises(LeaseLost):
        await edit_movie.set_fpm(one, owner, movie_id, held.lease_id, 2)
    assert (await edit_movie.set_fpm(other, teacher, movie_id, taken.lease_id, 3)).row["fpm"] == "3"


async def test_of_two_editors_the_loser_is_told_and_the_first_save_stands_b21_c26(lab: Lab) -> None:
    owner, teacher = await lab.person("Owner"), await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(owner)
    held = (await acquire(lab.stores, owner, movie_id)).lease
    assert held
    lab.clock.advance(900)
    taken = (await acquire(lab.stores, teacher, movie_id)).lease
    assert taken
    saves = await asyncio.gather(
        edit_movie.put_frame_trackpoints(lab.stores, teacher, movie_id, taken.lease_id, 0, POINTS[:1]),
        edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, held.lease_id, 0, POINTS[:2]),
        return_exceptions=True,
    )
    assert not isinstance(saves[0], BaseException)
    assert isinstance(saves[1], LeaseLost)
    assert len((await lab.frames(movie_id))[0]["trackpoints"]) == 1


async def test_a_crashed_pages_own_person_gets_in_at_once_and_anybody_after_the_lease_c24(lab: Lab) -> None:
    owner, teacher = await lab.person("Owner"), await lab.person("Teacher", admin=True)
    movie_id = await lab.ready_movie(owner)
    crashed = (await acquire(lab.stores, owner, movie_id, request_key="a page that sent no farewell")).lease
    assert crashed
    denied = await acquire(lab.stores, owner, movie_id, request_key="a new page")
    assert denied.lease is None  # it offers "Continue here"
    assert (await acquire(lab.stores, owner, movie_id, request_key="a new page", take_over=True)).lease
    lab.clock.advance(900)
    assert (await acquire(lab.stores, teacher, movie_id)).lease


@pytest.mark.parametrize("stage", ["queued", "running", "stale", "done"])
async def test_an_edit_beside_a_trace_is_refused_or_calls_for_a_retrace_a13(lab: Lab, stage: str) -> None:
    owner = await lab.person("Owner")
    movie_id = await lab.ready_movie(owner)
    held = (await acquire(lab.stores, owner, movie_id)).lease
    assert held
    submitted = await lab.submit(owner, movie_id, key=f"{movie_id}-{stage}", analysis_lease_id=held.lease_id)
    if stage != "queued":
        job = await claimed(lab.stores, message_of(submitted))
        if stage == "stale":
            lab.clock.advance(900)
        elif stage == "done":
            assert await run(lab.stores, job, ScriptedEngine()) == "completed"
            assert (await lab.movie(movie_id)).row["needs_retracing"] == 0
    with pytest.raises((BeingTraced, LeaseLost)):  # the page that started it, and any other tab with that lease
        await edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, held.lease_id, 0, POINTS[:1])
    again = (await acquire(lab.stores, owner, movie_id)).lease
    assert (again is None) == (stage in ("queued", "running"))
    if again:
        await edit_movie.put_frame_trackpoints(lab.stores, owner, movie_id, again.lease_id, 0, POINTS[:1])
        assert (await lab.movie(movie_id)).row["needs_retracing"] == 1


class Behind(Stores):
    """Stores whose next reading of frames is of a moment before `meanwhile`, that of the row with it of one after."""

    async def with_frames(self, movie_id: str, numbers: Sequence[int]) -> tuple[Movie | None, dict[int, Item | None]]:
        movie, read = await super().with_frames(movie_id, numbers)
        if meanwhile := MEANWHILE.pop(movie_id, None):
            await meanwhile()
            movie = await self.movies.get(movie_id)
        return movie, read


MEANWHILE: dict[str, Callable[[], Awaitable[object]]] = {}


@pytest.mark.parametrize("bud", [[], [{"label": "Bud", "x": 40, "y": 50}]], ids=["known markers", "a new marker"])
@pytest.mark.parametrize("elsewhere", [0, 1], ids=["the same frame", "another frame"])
async def test_an_edit_that_read_what_another_edit_changed_since_is_planned_again(
    lab: Lab, bud: list[dict[str, object]], elsewhere: int
) -> None:
    ada = await lab.person("Ada")
    movie_id = await lab.ready_movie(ada)
    apex = {"marker_id": "id-Apex", "x": 10.0, "y": 20.0, "status": 1, "err": 0.4}
    traced = {"job_id": "earlier", "attempt": 1, "plan_version": 1}
    frame = {"movie_id": movie_id, "frame_number": 3, "trackpoints": [apex], **traced}
    await lab.stores.database.write(Put(FRAMES, frame))
    lease = (await acquire(lab.stores, ada, movie_id)).lease
    assert lease is not None

    async def move() -> None:
        """The page's other edit moves Apex, and brings another marker."""
        moved = [{"label": "Apex", "x": 90, "y": 90}, {"label": "Leaf", "x": 1, "y": 2}]
        await edit_movie.put_frame_trackpoints(lab.stores, ada, movie_id, lease.lease_id, 3 + elsewhere, moved)

    MEANWHILE[movie_id] = move
    behind = Behind(**{field.name: getattr(lab.stores, field.name) for field in fields(Stores)})
    back = [{"label": "Apex", "x": 10, "y": 20}, *bud]
    await edit_movie.put_frame_trackpoints(behind, ada, movie_id, lease.lease_id, 3, back)
    assert movie_id not in MEANWHILE
    frame = (await lab.frames(movie_id))[3]
    assert (frame["trackpoints"][0]["placed"], frame["edit_seq"]) == ("trace" if elsewhere else "user", 2)
    labels = {entry["label"] for entry in (await lab.stores.frames.markers(movie_id)).values()}
    assert labels == {"Apex", "Leaf", *(p["label"] for p in POINTS), *(p["label"] for p in bud)}


async def test_points_are_not_placed_for_a_marker_that_another_edit_renamed_meanwhile(lab: Lab) -> None:
    ada = await lab.person("Ada")
    movie_id = await lab.ready_movie(ada)
    lease = (await acquire(lab.stores, ada, movie_id)).lease
    assert lease is not None

    async def rename() -> None:
        await edit_movie.rename_marker(lab.stores, ada, movie_id, lease.lease_id, "Apex", "Tip")

    MEANWHILE[movie_id] = rename
    behind = Behind(**{field.name: getattr(lab.stores, field.name) for field in fields(Stores)})
    points = [{"label": "Apex", "x": 10, "y": 20}]
    await edit_movie.put_frame_trackpoints(behind, ada, movie_id, lease.lease_id, 3, points)
    (placed,) = (await lab.frames(movie_id))[3]["trackpoints"]
    markers = await lab.stores.frames.markers(movie_id)
    assert (markers[placed["marker_id"]]["label"], markers["id-Apex"]["label"]) == ("Apex", "Tip")
