"""The two leases of a movie row, and the one function that decides whether a lease is live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["inspect", "trace"]
State = Literal["queued", "running"]


def is_live(expires_at: int, now: int) -> bool:
    """Live while `expires_at > now`, stale from `expires_at <= now` on. Every moment is one or the other."""
    return expires_at > now


@dataclass(frozen=True, slots=True)
class AnalysisLease:
    """One page's exclusive right to edit. `lease_id` is a bearer secret and leaves the server to its holder alone."""

    lease_id: str
    user_id: str
    user_name: str
    started_at: int
    heartbeat_at: int
    expires_at: int
    request_key: str | None = None

    def live(self, now: int) -> bool:
        return is_live(self.expires_at, now)


@dataclass(frozen=True, slots=True)
class TracingLease:
    """One job's exclusive right to write to its movie.

    `claim_id` is None while queued. (`job_id`, `attempt`, `claim_id`) is the fence of every write that the job makes.
    `due_at` is when the sweeper looks at the row: the next announcement while queued, the expiry while running.
    """

    job_id: str
    kind: Kind
    state: State
    attempt: int
    claim_id: str | None
    receipt_id: str
    user_id: str
    user_name: str
    started_at: int
    heartbeat_at: int
    expires_at: int
    announced_at: int
    failures: int
    due_at: int
    checkpoint_frame: int | None = None

    def live(self, now: int) -> bool:
        return is_live(self.expires_at, now)

    def waited(self, now: int) -> int:
        """Seconds from the job's admission, or from its last announcement if it was handed back, to now."""
        return max(0, now - (self.started_at if self.attempt == 1 else self.announced_at))

    def resumes(self, max_attempts: int) -> bool:
        """If it is stale now: will another attempt follow? A queued job needs no attempt left, only an announcement."""
        return self.state == "queued" or self.failures + 1 < max_attempts

    def next_due(self, now: int, first: int, longest: int) -> int:
        """When to announce again: each gap is twice the one before, between `first` and `longest` seconds."""
        gap = 2 * max(0, self.due_at - self.announced_at)
        return now + min(longest, max(first, gap))


@dataclass(frozen=True, slots=True)
class Fence:
    """What a worker holds after a claim, and must name in every write."""

    movie_id: str
    job_id: str
    attempt: int
    claim_id: str
