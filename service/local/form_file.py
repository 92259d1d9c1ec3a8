"""The file of a multipart form, cut out of the stream while it arrives. Source of the rules: RFC 7578 and RFC 2046."""

from __future__ import annotations

import re
from collections.abc import Callable

HEAD_BYTES = 1 << 16
"""The fields before the file, all together."""
_BOUNDARY = re.compile(r'multipart/form-data;.*\bboundary="?([^";]{1,200})"?', re.IGNORECASE)
_FILE = re.compile(rb'[; ]name="file"', re.IGNORECASE)


class WrongForm(ValueError):
    """The body is not a form whose last field is a file of the announced length."""


class FileForm:
    """Feed it the body piece by piece; it hands the bytes of the field `file` to `write`, `length` of them in all."""

    def __init__(self, content_type: str, length: int, write: Callable[[bytes], object]) -> None:
        """Raises WrongForm, as feed and end do."""
        found = _BOUNDARY.match(content_type)
        if not found:
            raise WrongForm("file: must be the last field of a multipart form")
        self._edge = b"\r\n--" + found[1].encode("latin-1")
        self._left = length
        self._write = write
        self._held = b"\r\n"
        self._inside = False
        self._read_to = 0

    def feed(self, piece: bytes) -> None:
        if not self._inside:
            piece = self._begin(piece)
        taken = piece[: self._left]
        if taken:
            self._write(taken)
            self._left -= len(taken)
        rest = piece[len(taken) :]
        if rest:
            self._held += rest
            if len(self._held) > len(self._edge) + 1024 or not self._held.startswith(self._edge[: len(self._held)]):
                raise WrongForm("file: is longer than was announced, or is not the last field")

    def end(self) -> None:
        """The body is over."""
        if self._left or not self._inside or not self._held.startswith(self._edge + b"--"):
            raise WrongForm("file: is shorter than was announced, or its form breaks off")

    def _begin(self, piece: bytes) -> bytes:
        """Look for the file's part among the fields. Returns what of the file has come already."""
        self._held += piece
        start = self._read_to
        while (start := self._held.find(self._edge, start)) >= 0:
            self._read_to = start  # a body in single bytes is not searched from its beginning for each of them
            start += len(self._edge)
            head_end = self._held.find(b"\r\n\r\n", start)
            if head_end < 0:
                break
            if _FILE.search(self._held, start, head_end):
                begun, self._held, self._inside = self._held[head_end + 4 :], b"", True
                return begun
        if len(self._held) > HEAD_BYTES:
            raise WrongForm("file: must come after a few short fields")
        return b""
