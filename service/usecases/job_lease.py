"""A worker's hold on its job: the claim, the fence, and writes that stop at once when the hold is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from service.domain.clock import Clock
from service.domain.errors import FenceLost, OutcomeUnknown, Unavailable
from service.domain.lease import Fence, TracingLease
from service.domain.movie import Movie, movie_from_row
from service.store.queue import JobMessage
from service.store.stores import Stores
from service.store.table import ConditionFailed, TransactionRefused

_PAUSE = 0.05
_LONGEST_PAUSE = 5.0


async def claim(stores: Stores, message: JobMessage) -> JobLease | None:
    """Take the attempt that a message names. None if that was done, is over, or never was: a proven no-op.

    A lost reply is decided by re-reading the claim id. Raises Unavailable; the message is then left in the queue.
    """
    claim_id = stores.ids.token()
    started = stores.clock.monotonic()
    try:
        movie: Movie | None = await stores.movies.claim(
            message.movie_id, message.job_id, message.attempt, claim_id, stores.clock.now()
        )
    except ConditionFailed as refusal:
        movie = movie_from_row(refusal.item) if refusal.item else None
        if not (movie and movie.tracing and movie.tracing.claim_id == claim_id):
            return None  # else the claim arrived twice, and it was this one that won
    except OutcomeUnknown:
        movie = await stores.movies.get(message.movie_id)
        if not (movie and movie.tracing and movie.tracing.claim_id == claim_id):
            raise
    if movie is None or movie.tracing is None:
        return None
    return JobLease(stores, movie, movie.tracing, claim_id, started)


class JobLease:
    """The fence of one claimed attempt.

    One writer at a time (`lock`), so that a heartbeat and a chunk never conflict. The clock is read before each call,
    so that a slow reply can only shorten what the worker believes it holds.
    """

    def __init__(self, stores: Stores, movie: Movie, job: TracingLease, claim_id: str, started: float) -> None:
        self.movie = movie
        self.job = job
        self.fence = Fence(movie.movie_id, job.job_id, job.attempt, claim_id)
        self.lock = asyncio.Lock()
        self._stores = stores
        self._clock: Clock = stores.clock
        self._renewed_at = started
        self.lost = False
        self.over = False

    def since_renewal(self) -> float:
        """Seconds since the last write that renewed the lease."""
        return self._clock.monotonic() - self._renewed_at

    def remaining(self) -> float:
        """Seconds for which the lease is surely still held."""
        return self._stores.policy.lease_seconds - self.since_renewal()

    async def renew(self) -> float | None:
        """One heartbeat; returns how many seconds after the last renewal its reply came, None if none was needed.

        Raises FenceLost, or Unavailable if the database cannot be reached just now.
        """
        async with self.lock:
            if self.over or self.since_renewal() < self._stores.policy.heartbeat_seconds / 2:
                return None  # a chunk renewed it meanwhile, or the job has ended well and only tidies up
            started = self._clock.monotonic()
            try:
                await self._stores.movies.renew_tracing(self.fence, self._clock.now())
            except ConditionFailed:
                self.lost = True
                raise FenceLost from None
            after = self.since_renewal()
            self._renewed_at = started
            return after

    async def write(
        self,
        attempt: Callable[[int], Awaitable[Any]],
        applied: Callable[[], Awaitable[bool]] | None = None,
        *,
        renews: bool = True,
        ends: bool = False,
    ) -> None:
        """Make a fenced write, however often the database does not answer, until the lease would have run out.

        `attempt(now)` makes it. `applied` tells, after a refusal, whether it had been made already: a write whose reply
        was lost, or that arrived twice, is refused when it is repeated, because it itself removed the fence.
        `renews`: the write extends the lease, as all but a few do. `ends`: the write gives the lease up.
        Raises FenceLost when the fence refuses, or when the lease ran out before the database could be reached.
        """
        pause = _PAUSE
        async with self.lock:
            while True:
                started = self._clock.monotonic()
                with suppress(Unavailable):
                    if await _taken(attempt(self._clock.now())) or (applied and await applied()):
                        break
                    self.lost = True
                    raise FenceLost
                if self.remaining() <= 0:
                    self.lost = True
                    raise FenceLost
                await asyncio.sleep(min(pause, max(0.0, self.remaining())))
                pause = min(2 * pause, _LONGEST_PAUSE)
            if renews:
                self._renewed_at = started
            self.over = self.over or ends


async def _taken(write: Awaitable[Any]) -> bool:
    """False if the database refused the write."""
    try:
        await write
    except (ConditionFailed, TransactionRefused):
        return False
    return True
