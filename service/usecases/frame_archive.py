"""Single pictures out of a movie's frame archive, by range: a ZIP whose members are stored, not deflated.

The archive's directory is small (about 60 bytes a frame) and never changes under one URN, so it is kept in memory.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections import OrderedDict

from service import metrics
from service.domain.errors import FrameNotFound
from service.domain.movie import Movie
from service.store.objects import Objects
from service.store.stores import Stores

_LOCAL_HEADER = 30
_TAIL = 65_557  # the longest end-of-directory record with its comment


class Directories:
    """(offset, length) of every frame of the archives last looked at."""

    def __init__(self, keep: int = 64) -> None:
        self._keep = keep
        self._known: OrderedDict[str, dict[int, tuple[int, int]]] = OrderedDict()

    async def of(self, objects: Objects, urn: str) -> dict[int, tuple[int, int]]:
        """The directory of the archive that `urn` names. Raises ObjectMissing, StoreUnavailable."""
        if urn in self._known:
            self._known.move_to_end(urn)
            return self._known[urn]
        found = await _read_directory(objects, objects.key_of(urn))
        self._known[urn] = found
        metrics.CACHE_WRITES.labels(cache="directories").inc()
        while len(self._known) > self._keep:
            self._known.popitem(last=False)
            metrics.CACHE_EVICTIONS.labels(cache="directories").inc()
        return found


async def _read_directory(objects: Objects, key: str) -> dict[int, tuple[int, int]]:
    stored = await objects.head(key)
    if stored is None:
        return {}
    start = max(0, stored.length - _TAIL)
    tail = await objects.read(key, start, stored.length - 1)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0:
        return {}
    size, offset = struct.unpack("<II", tail[end + 12 : end + 20])
    if offset < start:
        tail = await objects.read(key, offset, stored.length - 1)
        start = offset
    # zipfile finds its way in the directory alone when what lies before it is filled with a sparse prefix.
    directory = io.BytesIO(tail[offset - start :])
    with zipfile.ZipFile(_Shifted(directory, offset, size)) as archive:
        members = archive.infolist()
    return {
        int(m.filename.removeprefix("frame_").removesuffix(".jpeg")): (m.header_offset, m.file_size)
        for m in members
        if m.filename.startswith("frame_") and m.filename.endswith(".jpeg")
    }


class _Shifted(io.RawIOBase):
    """A file of which only the end is at hand; `shift` bytes before it are never read."""

    def __init__(self, end: io.BytesIO, shift: int, _size: int) -> None:
        self._end = end
        self._shift = shift
        self._length = shift + len(end.getbuffer())
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + {0: 0, 1: self._at, 2: self._length}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        if self._at < self._shift:
            raise ValueError("this part of the archive was not fetched")
        self._end.seek(self._at - self._shift)
        data = self._end.read(size)
        self._at += len(data)
        return data


async def picture(stores: Stores, directories: Directories, movie: Movie, frame_number: int) -> bytes:
    """One frame as JPEG, upright and at analysis size. Raises FrameNotFound."""
    urn: str = movie.row.get("movie_zipfile_urn") or ""
    directory = await directories.of(stores.objects, urn) if urn else {}
    if frame_number not in directory:
        raise FrameNotFound(frame=frame_number)
    offset, length = directory[frame_number]
    # A local header is as long as its name and extra field say; one read takes both with room to spare.
    raw = await stores.objects.read(stores.objects.key_of(urn), offset, offset + _LOCAL_HEADER + 128 + length)
    name, extra = struct.unpack("<HH", raw[26:30])
    begin = _LOCAL_HEADER + name + extra
    return raw[begin : begin + length]
