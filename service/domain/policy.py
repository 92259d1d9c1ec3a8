"""The numbers of the protocol, in one record, so that rules take them as one argument."""

from __future__ import annotations

from dataclasses import dataclass

DAY = 86_400
PAGE_BEAT_SECONDS = 60
"""How often our pages renew their lease; a page that does it less often is late by the difference."""
SESSION_SECONDS = 180 * DAY
"""How long a browser keeps the key that signing in made for it, and how long that key is good for anything."""
SESSION = "session"
"""What such a key is marked with; keys that people use elsewhere have no end."""


@dataclass(frozen=True, slots=True)
class Policy:
    """`lease_seconds` is D, `heartbeat_seconds` H of the protocol. All durations in seconds."""

    lease_seconds: int = 900
    heartbeat_seconds: float = 30
    max_attempts: int = 3
    receipt_days: int = 30
    announce_first: int = 30
    announce_longest: int = 300
    upload_seconds: int = DAY
    max_upload_bytes: int = 268_435_456
    max_frames: int = 10_000
    max_pixels: int = 16_000_000
    sweep_shards: int = 4

    def receipt_expiry(self, now: int) -> int:
        """When a receipt that becomes terminal now may be retired."""
        return now + self.receipt_days * DAY
