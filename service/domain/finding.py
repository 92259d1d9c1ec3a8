"""What a look at a deployment found, in words for whoever runs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["well", "advice", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`part`: of the deployment, in a word. `said`: what is so. `todo`: what to do about it; empty if all is well.

    `advice` is what works and could be better; a `fault` is what does not work, or is not safe.
    """

    part: str
    verdict: Verdict
    said: str
    todo: str = ""


def well(part: str, said: str) -> Finding:
    return Finding(part, "well", said)


def advice(part: str, said: str, todo: str) -> Finding:
    return Finding(part, "advice", said, todo)


def fault(part: str, said: str, todo: str) -> Finding:
    return Finding(part, "fault", said, todo)


def all_well(findings: Iterable[Finding]) -> bool:
    """No fault among them. Advice may be left for later."""
    return all(finding.verdict != "fault" for finding in findings)
