"""What so many pages and jobs need on AWS, by arithmetic over measured calls, units, bytes and processor time. Pure.

The measured inputs are those of `pytest -m bench tests/bench/test_capacity_inputs.py`, which holds this module to what
it finds; tests/bench/test_capacity_simulation.py lets pages and jobs happen one by one and compares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from service.domain.policy import PAGE_BEAT_SECONDS
from service.usecases.people import REMEMBERED_SECONDS

PARTITION_READS, PARTITION_WRITES = 3000, 1000
"""Units a second that one partition of a table or of an index gives (Amazon DynamoDB developer guide)."""
TABLE_WRITES = 40_000
"""Units a second that one table takes until its owner asks for more (the same guide, under quotas)."""
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one deed: database calls, read units, write units of tables and of indexes, requests to queue and storage,
    processor seconds of whoever does it."""

    calls: int = 0
    read: float = 0.0
    write: float = 0.0
    index: float = 0.0
    queue: int = 0
    storage: int = 0
    processor_seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Cost)))

    def __sub__(self, other: Cost) -> Cost:
        return self + other.times(-1)

    def times(self, often: float) -> Cost:
        """So many of them; calls and requests become means."""
        return Cost(*(getattr(self, one.name) * often for one in fields(Cost)))


@dataclass(frozen=True, slots=True)
class Measured:
    """One movie of the real set, 296 frames of 640 x 480 with 3 markers: what each deed costs.

    `poll_seconds` and `change_seconds` (a lease renewed, a marker placed) are those of a web process under load;
    `row_bytes` the movie's row with its inspection, `frame_bytes` one frame's row; the other bytes are those of files
    in the storage.
    """

    poll: Cost = Cost(calls=1, read=0.5)
    authentication: Cost = Cost(calls=1, read=1.0)
    acquire: Cost = Cost(calls=1, write=2.0, index=4.0)
    heartbeat: Cost = Cost(calls=1, write=2.0, index=4.0)
    edit: Cost = Cost(calls=2, read=3.0, write=8.0, index=4.0)
    submit: Cost = Cost(calls=5, read=4.0, write=8.0, index=8.0, queue=1)
    inspection: Cost = Cost(
        calls=4, read=1.0, write=11.0, index=11.0, queue=1, storage=5, processor_seconds=296 * 0.0064
    )
    trace: Cost = Cost(calls=9, read=2.0, write=620.0, index=27.0, queue=1, storage=3, processor_seconds=296 * 0.012)
    poll_seconds: float = 0.0013
    change_seconds: float = 0.0038
    frames: int = 296
    row_bytes: int = 1822
    frame_bytes: int = 397
    movie_bytes: int = 690_774
    archive_bytes: int = 9_298_932
    labelled_bytes: int = 352_480


MEASURED = Measured()


@dataclass(frozen=True, slots=True)
class Habits:
    """What people and pages do. Intervals in seconds; those of polls and heartbeats are the pages' own."""

    editing: float = 0.7
    viewing: float = 0.2
    tracing: float = 0.1
    """Shares of the open pages, together 1."""
    heartbeat_every: float = PAGE_BEAT_SECONDS
    view_every: float = 10
    trace_every: float = 1
    edit_every: float = 20
    keys_kept: float = REMEMBERED_SECONDS
    """How long a web process remembers whose a key is."""
    busy: float = 0.6
    """How much of a processor may be used before another is wanted."""


@dataclass(frozen=True, slots=True)
class Prices:
    """List prices in US dollars, without tax, free allowance, backups and the balancer.

    Region us-east-1 as published at the end of 2024; look them up before you rely on them.
    """

    million_reads: float = 0.125
    million_writes: float = 0.625
    million_messages: float = 0.40
    thousand_puts: float = 0.005
    thousand_gets: float = 0.0004
    storage_gigabyte_month: float = 0.023
    gigabyte_out: float = 0.09
    cpu_hour: float = 0.04048
    memory_gigabyte_hour: float = 0.004445
    memory_per_cpu: float = 2.0


HABITS, PRICES = Habits(), Prices()


def rates(pages: float, jobs: float, measured: Measured = MEASURED, habits: Habits = HABITS) -> dict[str, float]:
    """Deeds a second of so many open pages and so many jobs at once; a job follows a job."""
    seconds = measured.trace.processor_seconds
    editing, viewing = pages * habits.editing, pages * habits.viewing
    tracing = pages * habits.tracing
    found = {
        "polls": viewing / habits.view_every + tracing / habits.trace_every,
        "heartbeats": editing / habits.heartbeat_every,
        "edits": editing / habits.edit_every,
        "jobs": jobs / seconds,
    }
    # A page that asks more rarely than keys are kept is looked up each time.
    found["authentications"] = (
        viewing / max(habits.view_every, habits.keys_kept)
        + tracing / max(habits.trace_every, habits.keys_kept)
        + editing / max(habits.heartbeat_every, habits.keys_kept)
        + editing / max(habits.edit_every, habits.keys_kept)
    )
    return found


def demand(pages: int, jobs: int, measured: Measured = MEASURED, habits: Habits = HABITS) -> dict[str, Any]:
    """What they need in all, a second, on average. Bursts at the start of a lesson: see the simulation."""
    often = rates(pages, jobs, measured, habits)
    all_of = (
        measured.poll.times(often["polls"])
        + measured.authentication.times(often["authentications"])
        + measured.heartbeat.times(often["heartbeats"])
        + measured.edit.times(often["edits"])
        + (measured.submit + measured.trace).times(often["jobs"])
    )
    # Each watching page reads each frame of its trace once, in queries.
    watched = often["jobs"] * measured.frames * measured.frame_bytes / 4096 / 2
    changes = sum(often[name] for name in ("heartbeats", "edits", "jobs"))
    busy = often["polls"] * measured.poll_seconds + changes * measured.change_seconds
    return {
        "pages": pages,
        "jobs": jobs,
        "requests": often["polls"] + changes,
        "calls": all_of.calls,
        "read_units": all_of.read + watched,
        "write_units": all_of.write + all_of.index,
        "messages": 3 * often["jobs"],
        "storage_requests": all_of.storage,
        "megabytes": often["jobs"] * (measured.movie_bytes + measured.labelled_bytes) / 1e6,
        "web_cpus": math.ceil(busy / habits.busy),
        "worker_cpus": jobs,
    }


def limits(measured: Measured = MEASURED, habits: Habits = HABITS, chunk_seconds: float = 2.0) -> dict[str, float]:
    """Where the first partitions are full, in pages, and how far one job is from it.

    `one_movie`: pages that watch one movie's trace, each poll a read of its row, if none were shared. `one_course`:
    pages that edit movies of one course, all of which lie in one partition of the course's index. `job_share`: the part
    of the row's partition that one running job takes with a chunk every `chunk_seconds`; `frames_a_second`: how fast
    one job may write frames, each twice in a transaction. `jobs`: traces at once until the table of frames is full.
    """
    row = max(1, math.ceil(measured.row_bytes / 1024))
    a_page = row * (1 / habits.heartbeat_every + 1 / habits.edit_every)
    return {
        "one_movie": PARTITION_READS / measured.poll.read * habits.trace_every,
        "one_course": PARTITION_WRITES / a_page,
        "job_share": 2 * row / chunk_seconds / PARTITION_WRITES,
        "jobs": TABLE_WRITES * measured.trace.processor_seconds / measured.trace.write,
        "frames_a_second": PARTITION_WRITES / (2 * max(1, math.ceil(measured.frame_bytes / 1024))),
    }


def movies_cost(
    movies: int,
    prices: Prices = PRICES,
    measured: Measured = MEASURED,
    habits: Habits = HABITS,
    *,
    minutes: float = 45,
    traces: float = 2,
    months: float = 6,
) -> dict[str, float]:
    """Dollars for so many movies: each uploaded, inspected, edited for `minutes`, traced so often, kept so long.

    Processor time is that of the work alone; what waits for work costs besides.
    """
    seconds = minutes * 60
    done = (
        measured.inspection
        + measured.submit
        + (measured.submit + measured.trace).times(traces)
        + measured.acquire.times(1 + traces)
        + measured.heartbeat.times(seconds / habits.heartbeat_every)
        + measured.edit.times(seconds / habits.edit_every)
        + measured.authentication.times(seconds / habits.edit_every)
        + measured.poll.times(traces * measured.trace.processor_seconds / habits.trace_every + 10)
    ).times(movies)
    kept = measured.movie_bytes + measured.archive_bytes + measured.labelled_bytes
    asked = seconds * (1 / habits.heartbeat_every + 1 / habits.edit_every)
    cpu = done.processor_seconds + movies * asked * measured.change_seconds
    found = {
        "database": (done.read * prices.million_reads + (done.write + done.index) * prices.million_writes) / 1e6,
        "queue": 3 * movies * (1 + traces) * prices.million_messages / 1e6,
        "storage_requests": movies * (4 + traces) * prices.thousand_puts / 1e3
        + movies * (measured.frames / 10 + 2 * traces) * prices.thousand_gets / 1e3,
        "storage": movies * kept / 1e9 * months * prices.storage_gigabyte_month,
        "traffic": movies * kept / 1e9 * prices.gigabyte_out,
        "processor": cpu / HOUR * (prices.cpu_hour + prices.memory_per_cpu * prices.memory_gigabyte_hour),
    }
    return found | {"all": sum(found.values())}
