"""How many jobs wait and run, and for how long the oldest has waited: for the metrics, never for a decision."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import get_args

from service import metrics
from service.domain.lease import Kind, State
from service.store.stores import Stores

FOR_EACH_SHARD = 25
"""A look costs a query for each shard and one batch of rows, however long the queue is."""
_FAR = 2**40


@dataclass(slots=True)
class Observed:
    """`jobs` by kind and state; `oldest`: seconds that the job of each kind has waited which waits longest, else 0."""

    jobs: Counter[tuple[str, str]] = field(default_factory=Counter)
    oldest: dict[str, int] = field(default_factory=lambda: dict.fromkeys(get_args(Kind), 0))


async def observe_jobs(stores: Stores) -> Observed:
    """Look at the jobs that are due first, at most FOR_EACH_SHARD of each shard. Raises Unavailable.

    Queued jobs are due within minutes, running ones when their lease ends, so these are mostly jobs that wait. With
    more than that the numbers are too low, and the age is at least what is told.
    """
    due: list[str] = []
    for shard in stores.movies.shards():
        due += [movie_id async for movie_id in stores.movies.due(shard, _FAR, FOR_EACH_SHARD)]
    now, found = stores.clock.now(), Observed()
    for movie in await stores.movies.many(due):
        job = movie.tracing
        if job is None:
            continue  # it waits for its upload, or has ended meanwhile
        found.jobs[job.kind, job.state] += 1
        if job.state == "queued":
            found.oldest[job.kind] = max(found.oldest[job.kind], job.waited(now))
    return found


def show(observed: Observed) -> None:
    """As metrics; what there is none of is told as 0."""
    for kind in get_args(Kind):
        metrics.QUEUE_AGE.labels(kind).set(observed.oldest[kind])
        for state in get_args(State):
            metrics.JOBS.labels(kind, state).set(observed.jobs[kind, state])
