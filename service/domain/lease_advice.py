"""Do the lease's length, the heartbeat and the sweep interval fit what was measured? From distributions to findings.

D is the lease's length, H the heartbeat of workers; pages renew once a minute. A renewal that is due after H and late
by L keeps its lease if H + L < D. So D must leave room for the latest renewals that were seen, with as much again for
those that were not; H must let two renewals in a row fail; and a sweep must cost a lost job little beside the lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf

from service.domain.finding import Finding, advice, fault, well
from service.domain.policy import PAGE_BEAT_SECONDS

ENOUGH = 100
"""Renewals from which on something can be said of one in a hundred."""
_ROUND = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200)
_SPARE_RENEWALS = 3
_AMPLE = 4
"""So many times what the latest renewal needed is ample; more than twice that is too long."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many observations lie up to each bound (seconds) and above the bound before it, bounds rising."""

    buckets: tuple[tuple[float, float], ...] = ()

    @property
    def count(self) -> int:
        return int(sum(many for _, many in self.buckets))

    @property
    def highest(self) -> float:
        """The bound of the highest observation; 0 without any, infinity above all bounds."""
        return max((bound for bound, many in self.buckets if many > 0), default=0.0)

    def within(self, share: float) -> float:
        """The smallest bound that at least this share of the observations keeps; 0 without any."""
        wanted, seen = share * sum(many for _, many in self.buckets), 0.0
        for bound, many in self.buckets:
            seen += many
            if many > 0 and seen >= wanted - 1e-9:
                return bound
        return 0.0

    def above(self, seconds: float) -> int:
        """How many observations are surely longer: those in buckets that begin there or later."""
        found, begins = 0.0, 0.0
        for bound, many in self.buckets:
            found += many if begins >= seconds else 0.0
            begins = bound
        return int(found)

    def joined(self, other: Distribution) -> Distribution:
        """Both together."""
        summed = dict(self.buckets)
        for bound, many in other.buckets:
            summed[bound] = summed.get(bound, 0.0) + many
        return Distribution(tuple(sorted(summed.items())))


@dataclass(frozen=True, slots=True)
class Measured:
    """What metrics and receipts tell. Lateness by kind of lease: `tracing` (workers), `analysis` (pages)."""

    lateness: Mapping[str, Distribution] = field(default_factory=dict)
    jobs: Distribution = Distribution()
    stages: Mapping[str, Distribution] = field(default_factory=dict)
    queue_wait: Distribution = Distribution()
    leases_lost: int = 0
    resumed: int = 0


@dataclass(frozen=True, slots=True)
class Durations:
    """The settings that are judged, in seconds."""

    lease: float
    heartbeat: float
    sweep: float


@dataclass(frozen=True, slots=True)
class LeaseAdvice:
    """`recommended` is what is judged where that fits."""

    findings: tuple[Finding, ...]
    recommended: Durations


def advise(measured: Measured, durations: Durations) -> LeaseAdvice:
    """What of the three durations fits, in words with figures, and what would."""
    lease, said_of_lease = _lease(measured, durations)
    heartbeat, said_of_heartbeat = _heartbeat(measured, durations, lease)
    sweep, said_of_sweep = _sweep(measured, durations, lease)
    findings = (*said_of_lease, said_of_heartbeat, said_of_sweep, *_work(measured, durations))
    return LeaseAdvice(findings, Durations(lease, heartbeat, sweep))


def _lease(measured: Measured, now: Durations) -> tuple[float, list[Finding]]:
    """Judged by the renewals of workers and of pages, which both must live with it."""
    found: list[Finding] = []
    needed, short = 0.0, False
    for kind, who, interval in (("tracing", "workers", now.heartbeat), ("analysis", "pages", PAGE_BEAT_SECONDS)):
        late = measured.lateness.get(kind, Distribution())
        if late.count >= ENOUGH:
            enough = 2 * (interval + min(late.highest, _last_bound(late)))
            needed = max(needed, enough)
            found.append(_room(late, who, now.lease, interval, enough))
            short = short or found[-1].verdict != "well"
        elif kind == "tracing":
            said = f"Only {late.count} renewals of {who} were measured; {ENOUGH} are needed to judge the lease."
            found.append(advice("lease", said, "Read the metrics again after a day of usual work."))
    if short:
        return max(now.lease, _rounded_up(needed)), found
    ample = _rounded_up(_AMPLE * max(needed, 2 * PAGE_BEAT_SECONDS))
    if needed and now.lease > 2 * ample:
        said = (
            f"The lease ({_s(now.lease)}) is longer than renewals need, and a job that loses its worker waits for it."
        )
        return ample, [*found, advice("lease", said, f"Set TIPTRACE_LEASE_SECONDS to {ample:g}.")]
    return now.lease, found


def _room(late: Distribution, who: str, lease: float, interval: float, enough: float) -> Finding:
    """Did renewals come before the lease's end, with as much room again?"""
    room, over = lease - interval, late.above(lease - interval)
    told = f"999 of 1000 renewals of {who} were at most {_s(late.within(0.999))} late, the latest {_s(late.highest)}"
    if over:
        said = f"The lease ({_s(lease)}) is too short: {told}. {over} of {late.count} came after its end."
        return fault("lease", said, f"Set TIPTRACE_LEASE_SECONDS to {_rounded_up(enough):g} or more.")
    if late.highest > room / 2:
        said = f"The lease ({_s(lease)}) is tight: {told}, and it allows {_s(room)}."
        return advice("lease", said, f"Set TIPTRACE_LEASE_SECONDS to {_rounded_up(enough):g}.")
    return well("lease", f"The lease ({_s(lease)}) holds: {told}, and it allows {_s(room)}.")


def _last_bound(late: Distribution) -> float:
    """The highest bound that is a number."""
    return max((bound for bound, _ in late.buckets if bound < inf), default=0.0)


def _heartbeat(measured: Measured, now: Durations, lease: float) -> tuple[float, Finding]:
    """Judged with the lease that is recommended: who lengthens the lease need not shorten the heartbeat too."""
    late = measured.lateness.get("tracing", Distribution())
    usual = min(late.within(0.99), _last_bound(late)) if late.count >= ENOUGH else 0.0
    tries = floor((lease - usual) / now.heartbeat) if now.heartbeat else 0
    room = f"A lease of {_s(lease)} has room for {tries} renewals"
    if tries < _SPARE_RENEWALS:
        better = max(1.0, floor((lease - usual) / (_SPARE_RENEWALS + 1)))
        said = f"The heartbeat ({_s(now.heartbeat)}) is too long. {room} that are {_s(usual)} late: two may not fail."
        return better, fault("heartbeat", said, f"Set TIPTRACE_HEARTBEAT_SECONDS to {better:g} or less.")
    if tries > 20 * _SPARE_RENEWALS and now.heartbeat < 10:
        better = min(30.0, floor(lease / 10))
        said = f"The heartbeat ({_s(now.heartbeat)}) is shorter than it need be. {room}; each is a write."
        return better, advice("heartbeat", said, f"Set TIPTRACE_HEARTBEAT_SECONDS to {better:g}.")
    return now.heartbeat, well("heartbeat", f"The heartbeat ({_s(now.heartbeat)}) fits. {room}.")


def _sweep(measured: Measured, now: Durations, lease: float) -> tuple[float, Finding]:
    half = measured.jobs.within(0.5)
    waits = f"A job whose message was lost waits for up to {_s(30 + now.sweep)}, one that lost its worker"
    waits += f" for up to {_s(lease + now.sweep)}"
    longest = min(lease / 4, max(60.0, 2 * half) if measured.jobs.count else inf)
    if now.sweep > longest:
        better = max(1.0, min(15.0, floor(lease / 10)))
        said = f"Sweeps are too slow: one in {_s(now.sweep)}. {waits}"
        said += f"; half of all jobs take {_s(half)}." if measured.jobs.count else "."
        return better, advice("sweep", said, f"Set TIPTRACE_SWEEP_SECONDS to {better:g}.")
    return now.sweep, well("sweep", f"The sweep interval ({_s(now.sweep)}) fits. {waits}.")


def _work(measured: Measured, now: Durations) -> list[Finding]:
    """Jobs, waiting and losses: what D, H and the sweep interval are there for, and what they cannot cure."""
    found = []
    if measured.jobs.count:
        said = f"Of {measured.jobs.count} jobs half took {_s(measured.jobs.within(0.5))} at most,"
        said += f" 95 of 100 {_s(measured.jobs.within(0.95))}"
        slowest = max(measured.stages, key=lambda name: measured.stages[name].within(0.95), default=None)
        if slowest:
            said += f"; the longest stage is {slowest} ({_s(measured.stages[slowest].within(0.95))})"
        found.append(well("jobs", f"{said}."))
    wait = measured.queue_wait
    if wait.count:
        said = f"95 of 100 jobs waited {_s(wait.within(0.95))} at most for a worker"
        if wait.within(0.95) > now.lease / 3:
            found.append(advice("queue", f"{said}.", "Start more workers. A longer lease does not help."))
        else:
            found.append(well("queue", f"{said}."))
    late = measured.lateness.get("tracing", Distribution())
    lost = max(measured.leases_lost, measured.resumed)
    if lost and late.highest <= (now.lease - now.heartbeat) / 2:
        said = f"{lost} {'attempt' if lost == 1 else 'attempts'} lost the lease, though renewals were in time:"
        said += " jobs were cancelled, or workers died."
        found.append(advice("jobs", said, "Look for job.lease_lost and job.resumed in the log."))
    return found


def _rounded_up(seconds: float) -> float:
    """To a number that a person would choose."""
    return float(next((one for one in _ROUND if one >= seconds), ceil(seconds / 3600) * 3600))


def _s(seconds: float) -> str:
    if seconds == inf:
        return "longer than is measured"
    if seconds >= 120:
        return f"{seconds / 60:.3g} min"
    return f"{seconds:.3g} s"
