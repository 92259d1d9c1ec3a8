"""Who connects to the embedded database: it asks for no password, so it must know whose process that is.

A port on 127.0.0.1 is open to every user of the machine. The kernel tells which user a connection of this machine
belongs to; one that is neither ours nor the system's is closed before anything is read from it. Where the kernel tells
nothing (/proc is Linux's), everybody of the machine is let in, as is said in docs/threats.md.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _USER = 1, 2, 7
_TRIES = 3

log = structlog.get_logger(__name__)


def user_of(their_port: int, our_port: int) -> int | None:
    """The user id behind a connection from `their_port` to `our_port`, both of this machine; None if there is none.

    Raises OSError where the kernel does not tell.
    """
    theirs, ours = f":{their_port:04X}", f":{our_port:04X}"
    for table in _TABLES:
        if not table.exists() and table is not _TABLES[0]:
            continue
        for line in table.read_text("ascii").splitlines()[1:]:
            columns = line.split()
            if columns[_LOCAL].endswith(theirs) and columns[_REMOTE].endswith(ours):
                return int(columns[_USER])
    return None


def is_welcome(their_port: int, our_port: int) -> bool:
    """Is it a process of our own user, or of the system's?"""
    try:
        for _ in range(_TRIES):  # the kernel's table is read in pieces, between which a line may slip through
            user = user_of(their_port, our_port)
            if user is not None:
                return user in (os.geteuid(), 0)
    except OSError:
        return True
    return False


class OwnUserOnly(HttpToolsProtocol):
    """Uvicorn's connection, for the users of `is_welcome`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer, here = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not is_welcome(peer[1], here[1]):
            log.warning("stranger_refused")
            transport.abort()
        super().connection_made(transport)
