"""The right of one page to edit a movie: acquire, renew, release."""

from __future__ import annotations

from dataclasses import dataclass

from service.domain import audit
from service.domain.access import Actor, check_read, may_edit
from service.domain.errors import BeingEdited, EditedMeanwhile, MovieDeleted, NoRight, NotReady, OutcomeUnknown
from service.domain.failures import WORKER_LOST, Failure
from service.domain.lease import AnalysisLease
from service.domain.movie import COMPLETED, FAILED, READY, Movie, condition, movie_from_row
from service.store import conditions as when
from service.store.expressions import Condition
from service.store.stores import Stores
from service.store.table import ConditionFailed, TransactionRefused, Write
from service.usecases.end_job import commit_end, count_end, replaced_writes

_ROUNDS = 4
_MOST_COURSES = 50
"""Whoever administers more is judged here: a condition does not hold so many."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """The answer to an acquire: a lease, or the movie, which tells who holds it, and why there is none."""

    lease: AnalysisLease | None = None
    movie: Movie | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Beat:
    """The answer to a heartbeat: is the lease still the caller's, until when, how long ago was it renewed before?"""

    active: bool
    expires_at: int | None = None
    message: str = ""
    seconds_since: int = 0


async def acquire(
    stores: Stores,
    actor: Actor,
    movie_id: str,
    *,
    course_id: str | None = None,
    request_key: str | None = None,
    former_lease_id: str | None = None,
    take_over: bool = False,
    ipaddr: str | None = None,
) -> Acquired:
    """Get the analysis lease, or learn who has it. One request to the database if the movie is free, two at most.

    It is asked for by the write itself, whose condition is the whole rule of who may; a row that refuses it comes back
    with the refusal and is judged here. Where the movie seems held it is read instead.

    The same request key of the same user gets the same live lease again. `former_lease_id`, if it is the live one, is
    exchanged for a new token. `take_over` replaces a live analysis lease of the same user, or of anyone for an
    administrator of the course. Raises MovieNotFound, NoRight, NotReady, MovieDeleted, Unavailable.
    """
    now = stores.clock.now()
    tried = None
    if not take_over and len(actor.admin_of) < _MOST_COURSES and not stores.held.seems_held(movie_id, now):
        lease = _lease(stores, actor, now, request_key)
        over = when.editable_by(actor, course_id) & _free_or_former(actor, former_lease_id, now)
        tried = await _written(stores, movie_id, lease, over, now)
        if tried.granted:
            return Acquired(lease)
    for _ in range(_ROUNDS):
        found, tried = (tried.movie if tried else await stores.movies.get(movie_id)), None
        movie = check_read(actor, found, course_id)
        now = stores.clock.now()
        if not may_edit(actor, movie):
            return _refused(movie, "You can watch and download this movie, but not change it.")
        _check_analyzable(stores, movie, now)
        if movie.tracing and movie.tracing.live(now):
            return _refused(movie, "This movie is being traced. It becomes editable when the trace has ended.")
        held = movie.analysis if movie.analysis and movie.analysis.live(now) else None
        if held and request_key and held.request_key == request_key and held.user_id == actor.user_id:
            return Acquired(held)
        over_held = _may_replace(actor, movie, held, former_lease_id, take_over, now)
        if over_held is None:
            assert held is not None
            stores.held.seen(movie_id, held.expires_at)
            return _refused(movie, BeingEdited(name=held.user_name or "Somebody").message)
        stores.held.free(movie_id)
        lease = _lease(stores, actor, now, request_key)
        taken_over = held is not None and held.lease_id != former_lease_id
        if await _granted(stores, movie, lease, over_held, actor if taken_over else None, now, ipaddr):
            return Acquired(lease)
    raise EditedMeanwhile


def _refused(movie: Movie, why: str) -> Acquired:
    return Acquired(None, movie, why)


def _lease(stores: Stores, actor: Actor, now: int, request_key: str | None) -> AnalysisLease:
    return AnalysisLease(
        lease_id=stores.ids.token(),
        user_id=actor.user_id,
        user_name=actor.name,
        started_at=now,
        heartbeat_at=now,
        expires_at=now + stores.policy.lease_seconds,
        request_key=request_key,
    )


def _free_or_former(actor: Actor, former: str | None, now: int) -> Condition:
    """Nobody holds it, or this person by the token that is to be exchanged."""
    free = when.no_live_analysis_lease(now)
    if not former:
        return free
    return free | (when.holds_live_analysis_lease(former, now) & when.started_by(actor.user_id))


def _check_analyzable(stores: Stores, movie: Movie, now: int) -> None:
    if movie.deleted:
        raise MovieDeleted
    if movie.tracing and movie.tracing.kind == "trace":
        return
    status = condition(movie, now, stores.policy.max_attempts).status
    if status not in (READY, COMPLETED, FAILED):
        raise NotReady(status=status)


def _may_replace(
    actor: Actor, movie: Movie, held: AnalysisLease | None, former: str | None, take_over: bool, now: int
) -> Condition | None:
    """The condition under which this person may put a lease on the row, or None if he may not."""
    if held is None:
        return when.no_live_analysis_lease(now)
    own = held.user_id == actor.user_id
    if own and former and held.lease_id == former:
        return when.holds_live_analysis_lease(former, now)
    if take_over and (own or actor.administers(movie.course_id)):
        return when.analysis_lease_is(held.lease_id)
    return None


async def _granted(
    stores: Stores,
    movie: Movie,
    lease: AnalysisLease,
    over: Condition,
    taken_over_by: Actor | None,
    now: int,
    ipaddr: str | None,
) -> bool:
    """Write the lease. False if the row changed meanwhile.

    After a lost reply the row is read again.
    """
    if not movie.tracing and not taken_over_by:
        return (await _written(stores, movie.movie_id, lease, over, now)).granted
    writes: list[Write] = [stores.movies.grant_write(movie.movie_id, lease, now, over, movie.tracing)]
    if movie.tracing:
        writes += replaced_writes(stores, movie, movie.tracing, Failure(WORKER_LOST), now)
    if taken_over_by:
        writes.append(_taken_over(stores, movie, taken_over_by, now, ipaddr))
    try:
        await commit_end(stores, writes)
    except TransactionRefused:
        return False
    except OutcomeUnknown:
        return _carries(await stores.movies.get(movie.movie_id), lease)
    if movie.tracing:
        count_end(movie.tracing, Failure(WORKER_LOST))
    return True


@dataclass(frozen=True, slots=True)
class _Written:
    """What one conditional write came to; if it was refused, the row that refused it, or None if there is none."""

    granted: bool
    movie: Movie | None = None


async def _written(stores: Stores, movie_id: str, lease: AnalysisLease, over: Condition, now: int) -> _Written:
    """Put the lease on a row without a job by one write. A row that carries our token means that it arrived twice."""
    try:
        await stores.movies.grant(movie_id, lease, now, over)
    except ConditionFailed as refusal:
        movie = movie_from_row(refusal.item) if refusal.item else None
    except OutcomeUnknown:
        movie = await stores.movies.get(movie_id)
    else:
        return _Written(True)
    return _Written(_carries(movie, lease), movie)


def _carries(movie: Movie | None, lease: AnalysisLease) -> bool:
    return bool(movie and movie.analysis and movie.analysis.lease_id == lease.lease_id)


def _taken_over(stores: Stores, movie: Movie, by: Actor, now: int, ipaddr: str | None = None) -> Write:
    happened = audit.event(
        stores.ids.log_id(now),
        "movie.lease.taken-over",
        now,
        user_id=by.user_id,
        movie_id=movie.movie_id,
        course_id=movie.course_id,
        ipaddr=ipaddr,
    )
    return stores.audit.event_write(happened)


async def drop(stores: Stores, operator: Actor, movie: Movie) -> bool:
    """Take the analysis lease that the movie carries away from its holder, with its event in the same transaction.

    False if there is none, or if it changed hands meanwhile. Raises Unavailable.
    """
    held = movie.analysis
    if held is None:
        return False
    released = stores.movies.release_write(movie.movie_id, held.lease_id, held.user_id)
    try:
        await stores.transact([released, _taken_over(stores, movie, operator, stores.clock.now())])
    except TransactionRefused:
        return False
    return True


async def heartbeat(stores: Stores, actor: Actor, movie_id: str, lease_id: str) -> Beat:
    """Renew a live lease. A lost lease is an answer, an unreachable database an error: a page tells them apart.

    Who may edit the movie no more loses the lease by asking, so that he keeps nobody else from it.
    """
    right = when.not_deleted()
    if len(actor.admin_of) < _MOST_COURSES:
        right = right & when.editable_by(actor, None)
    for last in (False, True):
        now = stores.clock.now()
        try:
            expires, former = await stores.movies.renew_analysis(movie_id, lease_id, actor.user_id, now, right)
            return Beat(True, expires, seconds_since=max(0, now - former))
        except ConditionFailed as failed:
            if failed.item is None:
                return Beat(False, message="There is no such movie any more.")
            movie = movie_from_row(failed.item)
            if not may_edit(actor, movie):
                await release(stores, actor, movie_id, lease_id)
                return Beat(False, message=NoRight(what="edit this movie").message)
            if movie.deleted:
                return Beat(False, message=MovieDeleted().message)
            return Beat(False, message="Editing moved to another page, or this page's time ran out.")
        except OutcomeUnknown:  # renewing twice is harmless
            if last:
                raise
    raise AssertionError("unreachable")


async def release(stores: Stores, actor: Actor, movie_id: str, lease_id: str) -> bool:
    """Give the lease back. False if it was not there any more, which is no error. Touches no other page's lease."""
    stores.held.free(movie_id)
    try:
        return await stores.movies.release_analysis(movie_id, lease_id, actor.user_id)
    except OutcomeUnknown:
        await stores.movies.release_analysis(movie_id, lease_id, actor.user_id)
        return True
