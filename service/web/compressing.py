"""Large answers travel compressed: ten thousand frames of twenty markers are eighteen megabytes of JSON, or two."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from flask import Flask, Response, request

WORTH_BYTES = 8 * 1024
"""A poll is smaller, and there are many of them; below this, what is saved is not felt."""

_KINDS = frozenset({"application/json", "text/csv"})
_LEVEL = 1
"""Numbers and names that repeat become a tenth by this; higher levels take up to thrice as long for a quarter less."""
_GZIP = 31  # zlib's word for the largest window in a gzip wrapping


def install(app: Flask) -> None:
    """Let large JSON and CSV answers leave compressed, if whoever asked takes that.

    It happens in the request's own thread, and the interpreter is free meanwhile, so nobody's poll waits for it; a view
    that is awaited on the loop compresses what is large itself, in a thread. What is drawn piece by piece stays so.
    Secrets and a stranger's words do not meet in one such answer: sign-in links, keys and leases are told in short
    ones, so their lengths give nothing away.
    """
    app.after_request(compressed)


def compressed(answer: Response) -> Response:
    """The same answer, smaller where that is worth it.

    Its ETag becomes a weak one: it still names what is told, but two encodings do not have the same bytes (RFC 9110,
    8.8.1). A view compares tags weakly, so a poll with either finds what it told before.
    """
    if answer.status_code != 200 or answer.mimetype not in _KINDS or answer.content_encoding:
        return answer
    if not answer.is_streamed and len(answer.get_data()) < WORTH_BYTES:
        return answer
    answer.vary.add("Accept-Encoding")
    if request.accept_encodings.quality("gzip") <= 0:
        return answer
    if answer.is_streamed:
        answer.response = _drawn(answer.response)  # type: ignore[arg-type]
    else:
        answer.set_data(zlib.compress(answer.get_data(), _LEVEL, _GZIP))
    answer.content_encoding = "gzip"
    tag, weak = answer.get_etag()
    if tag is not None and not weak:
        answer.set_etag(tag, weak=True)
    return answer


def _drawn(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces compressed, each as soon as there is something to send of it."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    try:
        for piece in pieces:
            packed = packer.compress(piece)
            if packed:
                yield packed
        yield packer.flush()
    finally:
        close = getattr(pieces, "close", None)
        if close is not None:  # who leaves in the middle leaves the rest undrawn
            close()
