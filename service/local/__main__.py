"""The emulator's process: `python -m service.local`, started by `service.local.emulator.Emulator` and by nobody else.

Its standard input is the line of life: the first line is its configuration in JSON, and the end of the stream means
that the parent is gone, however it went. The process then ends itself, so no emulator outlives its service. The
listening socket and the lock of the data directory are inherited: the socket stays open while an emulator that died is
replaced, so callers wait instead of being refused; the lock is held until the last of the two processes is gone.
"""

import asyncio
import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog
import uvicorn

from service.local.durable import Durable, JournalDoesNotReplay
from service.local.expiry import keep_deleting
from service.local.journal import EXIT_JOURNAL, Journal, JournalDamaged
from service.local.journal_app import JournalApp
from service.local.neighbours import OwnUserOnly

SYNC_SECONDS = 1.0
"""How much a power cut can take: the journal is brought to the disk this often."""
ORPHAN_SECONDS = 3.0
"""How long requests in flight may take to end after the parent has gone."""
EXIT_GIVE_UP = 75

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Config:
    """What the parent says on the first line of standard input."""

    journal: str
    socket_fd: int
    instance: str
    max_journal_bytes: int


class Server(uvicorn.Server):
    """uvicorn, told by a flag whether it stops in order (SIGTERM) or because the parent has gone."""

    orphaned = False
    closing: Callable[[], None]
    """Told when it stops: requests that only wait are to be answered."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.closing()
        await super().shutdown(sockets)

    def watch_parent(self) -> None:
        """Wait in a thread for the end of standard input, then stop. If that takes too long, end at once."""

        def wait() -> None:
            while os.read(sys.stdin.fileno(), 4096):
                pass
            self.orphaned = True
            self.should_exit = True
            threading.Event().wait(ORPHAN_SECONDS)
            os._exit(0)

        threading.Thread(target=wait, name="parent-watch", daemon=True).start()


async def serve(config: Config) -> None:
    """Replay the journal, serve until told to stop, start a new journal."""
    from ministack.app import app  # reads its environment, and the stored objects, at import

    journal = Journal(Path(config.journal))
    durable = Durable(app, journal, max_bytes=config.max_journal_bytes)
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    served = JournalApp(app, durable, instance=config.instance, secret=secret, give_up=give_up)
    server = Server(
        uvicorn.Config(
            served,
            http=OwnUserOnly,
            lifespan="off",  # the emulator's own lifespan would open more ports and run start scripts
            log_config=None,
            access_log=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=2,  # a long poll of a queue may be cut off
        )
    )
    server.closing = served.close
    server.watch_parent()
    # uvicorn takes the signal while it serves, and raises it again for this handler when it has ended.
    signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    await durable.replay()
    if journal.dropped_bytes:
        log.warning("journal_torn_line_dropped", bytes=journal.dropped_bytes, path=config.journal)
    gc.collect()
    gc.freeze()  # what is loaded stays; looking through it again and again makes requests wait
    chores = [asyncio.create_task(keep_deleting(durable, give_up)), asyncio.create_task(_keep_syncing(journal))]
    await server.serve(sockets=[socket.socket(fileno=config.socket_fd)])
    for chore in chores:
        chore.cancel()
    await asyncio.gather(*chores, return_exceptions=True)
    if not server.orphaned:
        await durable.close()


def give_up(reason: str) -> None:
    """End at once: the journal is right and this memory may not be. The parent starts a successor that reads it."""
    log.critical("emulator_gives_up", reason=reason)
    os._exit(EXIT_GIVE_UP)


async def _keep_syncing(journal: Journal) -> None:
    while True:
        await asyncio.sleep(SYNC_SECONDS)
        try:
            await asyncio.to_thread(journal.sync)
        except OSError as error:
            log.error("journal_sync_failed", error=str(error))


def main() -> int:
    """Run the process. Exit codes: 0 stopped, 65 the journal cannot be used, 75 memory and journal may differ."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    config = Config(**json.loads(sys.stdin.buffer.readline()))
    try:
        asyncio.run(serve(config))
    except (JournalDamaged, JournalDoesNotReplay) as error:
        log.critical("journal_unusable", reason=str(error))
        return EXIT_JOURNAL
    return 0


if __name__ == "__main__":
    sys.exit(main())
