"""The journal: an append-only file of records that survives the death of the process that writes it.

One line is one record: ``crc32 (8 hex digits), space, JSON object, newline``. The checksum covers the JSON text.

What is promised
    * `Journal.append` returns after the record was handed to the operating system by one ``write``. From then on it
      survives any death of the process, ``kill -9`` included.
    * A power cut or a kernel crash can take the records of the last `sync_seconds` (1 s by default, see `sync`) and of
      as long as the disk takes for it, and none from between them: the file is fsynced in a group, not once per record.
    * `Journal.give_way` is atomic: after a death at any moment the old journal or the new one stands there, whole.
    * A last line that was not written whole is dropped when the file is opened, and `Journal.dropped_bytes` says so.
      It was never acknowledged. A bad line with a good one after it is damage: `JournalDamaged`, and nothing is used.
"""

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

EXIT_JOURNAL = 65
"""With which a process ends that cannot use its journal."""
Record = dict[str, Any]
"""A JSON object. What its fields mean is the affair of the one who appends it."""


class JournalDamaged(Exception):
    """The journal is damaged in its middle. Nothing was changed; restore the file from a copy, or move it aside to
    start with empty tables."""

    def __init__(self, path: Path, line: int, offset: int) -> None:
        self.path, self.line, self.offset = path, line, offset
        super().__init__(
            f"The journal {path} is damaged at line {line} (byte {offset}): the line fails its checksum, and whole "
            "records follow it. Nothing was changed. Restore the file from a copy, or move it aside to start with "
            "empty tables."
        )


class JournalUnwritable(Exception):
    """The journal cannot be written (disk full?). The record is not kept and must not be acknowledged."""


def encode(record: Record) -> bytes:
    """The line of one record, newline included."""
    return frame(json.dumps(record, separators=(",", ":")).encode("ascii"))


def frame(text: bytes) -> bytes:
    """The line around a JSON text that holds no newline."""
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decode(line: bytes) -> Record | None:
    """The record of one line, or None if the line is not whole."""
    if len(line) < 10 or line[8:9] != b" " or not line.endswith(b"\n"):
        return None
    text = line[9:-1]
    if line[:8] != b"%08x" % zlib.crc32(text):
        return None
    record = json.loads(text)
    return record if isinstance(record, dict) else None


def read(file: BinaryIO, path: Path) -> Iterator[tuple[Record, int]]:
    """Yield every whole record with the offset of its end, in the order of writing.

    Stops before a torn tail. Raises `JournalDamaged` if a whole record follows a bad line, or if no record is whole
    though a line was ended: a first record that was torn has no end.
    """
    end = 0
    ended = False
    bad: tuple[int, int] | None = None
    for number, line in enumerate(file, start=1):
        record = _decode(line)
        if record is None:
            bad = bad or (number, end)
        elif bad:
            raise JournalDamaged(path, *bad)
        else:
            end += len(line)
            yield record, end
        ended = ended or line.endswith(b"\n")
    if bad and end == 0 and ended:
        raise JournalDamaged(path, *bad)


class Journal:
    """An open journal. One writer at a time: the caller holds the directory's lock and serialises its calls.

    After `open`, iterate `records()` once to the end before the first `append`: that finds the torn tail, cuts it off
    and leaves the file at its true end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """Bytes in the file."""
        self.dropped_bytes = 0
        """Bytes of a torn last line that were cut off when the file was opened."""
        self._fd = -1
        self._unsynced = False
        self._renamed = False
        self._heir: Successor | None = None

    def records(self) -> Iterator[Record]:
        """Open the file (an absent one is created empty), yield its records, cut off a torn tail, stand at the end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch(mode=0o600)
        with self.path.open("rb") as file:
            for record, end in read(file, self.path):
                self.size = end
                yield record
        self.dropped_bytes = self.path.stat().st_size - self.size
        self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        if self.dropped_bytes:
            os.ftruncate(self._fd, self.size)
            os.fsync(self._fd)

    def append(self, line: bytes) -> None:
        """Add one line from `encode` or `frame`. When this returns, a death of the process cannot lose it.

        Raises `JournalUnwritable` if it is not whole on file; what was written of it is cut off again.
        """
        try:
            written = os.write(self._fd, line)
            if written != len(line):
                raise OSError("short write")
        except OSError as error:
            with suppress(OSError):  # what cannot be cut off is a torn line, and found at the next start
                os.ftruncate(self._fd, self.size)
            raise JournalUnwritable(f"The journal {self.path} cannot be written: {error}") from error
        self.size += len(line)
        self._unsynced = True
        if self._heir is not None:
            try:
                self._heir.append(line)
            except OSError:  # it does not become the journal then
                self._heir = None

    def sync(self) -> None:
        """Bring all appended records to the disk (fsync). Blocks; safe to call from another thread beside `append`."""
        if self._unsynced:
            self._unsynced = False  # before the fsync: an append during it counts for the next one
            os.fsync(self._fd)
        if self._renamed:
            self._renamed = False
            self._sync_directory()

    def successor(self) -> "Successor":
        """An empty file that can take this journal's place later. Raises OSError."""
        return Successor(self.path.with_suffix(".new"))

    def shadow(self, successor: "Successor") -> None:
        """Append every record to this file too, which holds all that went before. Until `give_way` this one counts."""
        self._heir = successor

    def forsake(self) -> None:
        """Append to no other file."""
        self._heir = None

    def give_way(self) -> None:
        """Go on with the shadow in the place of the old file, atomically. Bring it to the disk first.

        Raises OSError with the old journal untouched and still open.
        """
        heir, self._heir = self._heir, None
        if heir is None:
            raise OSError("the new journal could not be written")
        heir.flush()
        fd = os.open(heir.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            heir.path.replace(self.path)
            os.dup2(fd, self._fd, inheritable=False)  # one step, so that a sync in another thread sees no closed fd
        finally:
            os.close(fd)
        self.size = heir.size
        self._unsynced = self._renamed = True
        heir.close()

    def close(self) -> None:
        """Bring everything to the disk and close the file."""
        if self._fd >= 0:
            self._unsynced = True
            self.sync()
            os.close(self._fd)
            self._fd = -1

    def _sync_directory(self) -> None:
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


class Successor:
    """A journal in the making, of which nothing counts before `Journal.give_way`. One left behind is written over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """Bytes that were appended."""
        self.records = 0
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")

    def append(self, line: bytes) -> None:
        """Add one line from `encode` or `frame`. Raises OSError."""
        self.size += self._file.write(line)
        self.records += 1

    def flush(self) -> None:
        self._file.flush()

    def sync(self) -> None:
        """Bring all lines to the disk (fsync). Blocks."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def discard(self) -> None:
        """Leave nothing of it."""
        with suppress(OSError):  # what could not be written out cannot be closed in order
            self._file.close()
        self.path.unlink(missing_ok=True)
