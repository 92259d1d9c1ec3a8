"""Who connects to the embedded database: it asks for no password, so it must know whose process that is.

A port on 127.0.0.1 is open to every user of the machine. The kernel tells which user a connection of this machine
belongs to; one that is neither ours nor the system's is closed before anything is read from it. Where the kernel tells
nothing (/proc is Linux's), everybody of the machine is let in, as is said in docs/threats.md.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7
_ESTABLISHED = "01"
_TABLES = ((Path("/proc/net/tcp"), b""), (Path("/proc/net/tcp6"), bytes(10) + b"\xff\xff"))
"""With what each puts before an IPv4 address."""
_TRIES = 3

Address = tuple[str, int]
"""An IPv4 address of this machine, and a port."""

log = structlog.get_logger(__name__)


def user_of(theirs: Address, ours: Address) -> int | None:
    """The user id behind an open connection from `theirs` to `ours`, both of this machine; None if there is none.

    Of a connection that its owner has closed the kernel says it were the system's: such a one is none. Raises OSError
    where the kernel does not tell.
    """
    for table, prefix in _TABLES:
        if not table.exists() and table is not _TABLES[0][0]:
            continue
        ends = [_shown(prefix, theirs), _shown(prefix, ours)]
        for line in table.read_text("ascii").splitlines()[1:]:
            columns = line.split()
            if [columns[_LOCAL], columns[_REMOTE]] == ends and columns[_STATE] == _ESTABLISHED:
                return int(columns[_USER])
    return None


def _shown(prefix: bytes, address: Address) -> str:
    """As the kernel writes it: 32 bits at a time, each a number of the machine's own byte order."""
    packed = prefix + socket.inet_aton(address[0])
    words = (packed[start : start + 4] for start in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{address[1]:04X}"


def is_welcome(theirs: Address, ours: Address) -> bool:
    """Is it a process of our own user, or of the system's?"""
    try:
        for _ in range(_TRIES):  # the kernel's table is read in pieces, between which a line may slip through
            user = user_of(theirs, ours)
            if user is not None:
                return user in (os.geteuid(), 0)
    except OSError:
        return True
    return False


class OwnUserOnly(HttpToolsProtocol):
    """Uvicorn's connection, for the users of `is_welcome`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer, here = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not is_welcome(peer[:2], here[:2]):
            log.warning("stranger_refused")
            transport.abort()
        super().connection_made(transport)
