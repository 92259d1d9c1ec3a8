"""Answers that were made once and are given again as long as nothing changes: a class polls one movie."""

from __future__ import annotations

from collections.abc import Hashable

from service import metrics


class KeptAnswers:
    """The bodies of at most `most` answers, of at most `largest` bytes each; the longest kept goes first."""

    def __init__(self, most: int = 1024, largest: int = 16 * 1024) -> None:
        self._most = most
        self._largest = largest
        self._kept: dict[Hashable, bytes] = {}

    def get(self, version: Hashable) -> bytes | None:
        return self._kept.get(version)

    def keep(self, version: Hashable, body: bytes) -> None:
        """`version` names everything that the body depends on."""
        if len(body) > self._largest:
            return
        if len(self._kept) >= self._most:
            del self._kept[next(iter(self._kept))]
            metrics.CACHE_EVICTIONS.labels(cache="polls").inc()
        self._kept[version] = body
        metrics.CACHE_WRITES.labels(cache="polls").inc()
