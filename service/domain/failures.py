"""The closed list of reasons why a job failed, each with one fixed sentence for a person.

A summary is made from a code and whole numbers, never from an exception's text: that could hold a signed URL, a path,
a key or a stack trace.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

WORKER_LOST = "worker_lost"
CANCELLED = "cancelled"
UPLOAD_EXPIRED = "upload_expired"
INTERNAL = "internal"

SENTENCES: Mapping[str, str] = {
    WORKER_LOST: "The computer that worked on this movie stopped answering. Nothing you placed is lost; try again.",
    CANCELLED: "It was cancelled. Your markers are kept; trace again whenever you like.",
    UPLOAD_EXPIRED: "The upload was never completed. Upload the movie again.",
    INTERNAL: "Something went wrong on our side. Try again; if it happens again, tell us the job number.",
    "engine_crashed": (
        "The program that reads movies broke down on this one, more than once. Export it again as MP4 (H.264)."
    ),
    "out_of_memory": "This movie needs more memory than one job may use. Export it with smaller frames.",
    "took_too_long": "This movie took longer than one job may take. Trim it and try again.",
    "storage_unavailable": "The movie could not be fetched from storage or stored there. Try again in a few minutes.",
    "upload_length": "The file that arrived is {actual} bytes long, but {expected} were announced. Upload it again.",
    "upload_checksum": "The file changed on its way here: its checksum is not the announced one. Upload it again.",
    "upload_missing": "The file has not arrived. Upload it again.",
    "movie_empty": "This file is empty. Choose the movie itself.",
    "movie_unreadable": (
        "This file cannot be read as a movie. It may be damaged or cut off; export it again as MP4 and upload that."
    ),
    "movie_no_frames": (
        "None of the {promised} frames that this file promises can be read; it looks cut off."
        " Export it again as MP4 and upload that."
    ),
    "movie_no_picture": "This file has sound but no picture. Choose the movie itself.",
    "movie_codec": (
        "The picture in this file is coded in a way that cannot be decoded here."
        " Export it as MP4 (H.264) and upload that."
    ),
    "movie_too_many_pixels": (
        "Each frame of this movie is {width} x {height} pixels, more than the {limit} million allowed."
        " Export a smaller one."
    ),
    "movie_too_many_frames": (
        "This movie has more than the {limit} frames allowed. Trim it or take fewer pictures per minute."
    ),
    "movie_cut_off": (
        "The movie ends after frame {last} of {promised}: it looks cut off."
        " Upload it again, or trim it to the part that can be read."
    ),
    "no_markers": "There are no markers on frame {frame}. Place at least one and trace again.",
}

RETRYABLE = frozenset({WORKER_LOST, INTERNAL, "storage_unavailable", "upload_missing"})
"""Codes after which the same file may succeed without being changed."""

_BLANK = re.compile(r"\{\w+\}")


def sentence(code: str, numbers: Mapping[str, int] | None = None) -> str:
    """The fixed sentence of a code with its numbers filled in. An unknown code reads as an internal failure."""
    template = SENTENCES.get(code, SENTENCES[INTERNAL])
    try:
        return template.format(**{k: int(v) for k, v in (numbers or {}).items()})
    except (KeyError, ValueError):
        return _BLANK.sub("?", template)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job ended without a result: a code of the closed list and the numbers of its sentence."""

    code: str
    numbers: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.code not in SENTENCES:
            object.__setattr__(self, "code", INTERNAL)

    @property
    def summary(self) -> str:
        return sentence(self.code, self.numbers)
