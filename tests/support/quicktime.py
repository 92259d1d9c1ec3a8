"""QuickTime files that keep their pictures in another file: the index names it, and a careless reader opens it."""

from __future__ import annotations

import struct

_PARENTS = (b"moov", b"trak", b"mdia", b"minf", b"dinf")
_ABSOLUTE_PATH, _END = 2, -1


def elsewhere(movie: bytes, other: str) -> bytes:
    """The movie (its index behind its pictures) without its pictures, which its index says lie in the file `other`."""
    return b"".join(
        _box(kind, bytes(len(body))) if kind == b"mdat" else _rewritten(kind, body, other)
        for kind, body in _boxes(movie)
    )


def _boxes(data: bytes) -> list[tuple[bytes, bytes]]:
    """(kind, content) of the boxes of a file or of a parent, in order."""
    found, at = [], 0
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        found.append((kind, data[at + 8 : at + size]))
        at += size
    return found


def _box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def _rewritten(kind: bytes, content: bytes, other: str) -> bytes:
    if kind in _PARENTS:
        return _box(kind, b"".join(_rewritten(*child, other) for child in _boxes(content)))
    if kind == b"dref":
        return _box(kind, struct.pack(">II", 0, 1) + _box(b"alis", struct.pack(">I", 0) + _alias(other)))
    return _box(kind, content)


def _alias(path: str) -> bytes:
    """An alias record: 150 bytes of fixed fields, of which a reader wants the names, then tagged ones with the path."""
    name = path.rsplit("/", 1)[-1].encode()[:63]
    fixed = bytearray(150)
    fixed[10:12] = b"\x01v"  # the volume's name: length, characters
    fixed[50 : 51 + len(name)] = bytes([len(name)]) + name
    where = path.encode()
    tagged = struct.pack(">hH", _ABSOLUTE_PATH, len(where)) + where + b"\0" * (len(where) % 2)
    return bytes(fixed) + tagged + struct.pack(">hH", _END, 0)
