"""The data directory of the embedded default: who runs on it, and the lock that keeps it to one.

`DIR/lock` is flocked by the running service and by its emulator; the kernel drops it with the last of them, however
they end. `DIR/endpoint.json` names the running emulator, so that a second command can join it.
"""

import fcntl
import http.client
import json
import os
import select
import time
from dataclasses import asdict, dataclass
from pathlib import Path

HEALTH = "/_tiptrace/health"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running emulator. `started` is in epoch seconds, `instance` a random id of this run."""

    endpoint: str
    pid: int
    """The emulator's process."""
    owner_pid: int
    """The process that started it and keeps it running."""
    instance: str
    started: float

    @property
    def port(self) -> int:
        """The TCP port on 127.0.0.1."""
        return int(self.endpoint.rpartition(":")[2])


class DataDirInUse(Exception):
    """Another service runs on this data directory."""

    def __init__(self, data_dir: Path, running: Endpoint | None) -> None:
        self.data_dir, self.running = data_dir, running
        by = f" by process {running.owner_pid}, whose emulator answers at {running.endpoint}" if running else ""
        super().__init__(
            f"The data directory {data_dir} is in use{by}. Stop that service first, or choose another directory."
        )


class NothingRuns(Exception):
    """Whoever would join the service on this data directory finds none there, or the one it had joined is gone."""


class NotOurs(Exception):
    """The data directory belongs to another user, whose files a stop of ours would make our own."""


class DataDirLock:
    """The exclusive lock on a data directory. The descriptor may be inherited: the lock lives as long as any copy."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.fd = -1

    def acquire(self, *, patience: float = 5.0) -> None:
        """Take the lock. Raises `DataDirInUse` if a living service holds it, `NotOurs` if root would work in it.

        A service that was killed leaves an emulator that is about to end: that one is waited for, `patience` seconds. A
        service that seems to live gets half a second, since a kill takes its time.
        """
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        owner = self.data_dir.stat().st_uid
        if owner != os.geteuid() == 0:
            raise NotOurs(
                f"The data directory {self.data_dir} belongs to user {owner}. Start the service first and try again,"
                " or become that user: what root writes there, the service could not open any more."
            )
        fd = os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                running = read_endpoint(self.data_dir)
                lives = running is not None and _alive(running.owner_pid)
                if time.monotonic() - began < (min(0.5, patience) if lives else patience):
                    time.sleep(0.05)  # the kernel tells nobody when a lock becomes free without queueing for it
                    continue
                os.close(fd)
                raise DataDirInUse(self.data_dir, running) from None
            self.fd = fd
            return

    def release(self) -> None:
        """Give up our copy of the lock."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def write_endpoint(data_dir: Path, endpoint: Endpoint) -> None:
    """Put `DIR/endpoint.json` in its place, whole or not at all."""
    new = data_dir / "endpoint.json.new"
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(json.dumps(asdict(endpoint)) + "\n", encoding="utf-8")
    new.replace(data_dir / "endpoint.json")


def read_endpoint(data_dir: Path) -> Endpoint | None:
    """What `DIR/endpoint.json` says, which may be of a service that is gone. None if it says nothing of use."""
    try:
        return _endpoint_in(data_dir)
    except OSError:
        return None


def _endpoint_in(data_dir: Path) -> Endpoint | None:
    text = (data_dir / "endpoint.json").read_text(encoding="utf-8", errors="replace")
    try:
        found = Endpoint(**json.loads(text))
        usable = 0 < found.port < 1 << 16 and found.owner_pid > 0 and isinstance(found.instance, str)
    except (ValueError, TypeError, AttributeError):
        return None
    return found if usable else None


def find_running(data_dir: Path, *, timeout: float = 5.0) -> Endpoint | None:
    """The emulator that runs on this directory, or None. It is asked, and must know the file's instance id.

    Blocks for at most `timeout` seconds; an emulator that is just being replaced answers within that. What a file says
    that a killed service left behind is not asked: its port may be a stranger's by now.
    """
    endpoint = read_endpoint(data_dir)
    if endpoint is None or not _locked(data_dir):
        return None
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=timeout)
    try:
        connection.request("GET", HEALTH)
        answer = json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return endpoint if isinstance(answer, dict) and answer.get("instance") == endpoint.instance else None


def still_runs(data_dir: Path, joined: Endpoint) -> bool:
    """Whether the emulator that was joined is still kept running, if only to be replaced when it just died.

    Asked of the lock, not of the process: whoever keeps it running may be in another container. Where the folder cannot
    be asked, for want of file descriptors say, nothing is known to be gone.
    """
    try:
        now = _endpoint_in(data_dir)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return now is not None and now.instance == joined.instance and _locked(data_dir)


def _locked(data_dir: Path) -> bool:
    try:
        fd = os.open(data_dir / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # for a moment: who wants it in earnest tries more than once
    except OSError:  # held, or the file system cannot say
        return True
    finally:
        os.close(fd)
    return False


def _alive(pid: int) -> bool:
    """Whether the process runs: one that has ended and was not yet waited for does not."""
    try:
        pidfd = os.pidfd_open(pid)
    except (ProcessLookupError, OverflowError):
        return False
    try:
        return not select.select([pidfd], [], [], 0)[0]
    finally:
        os.close(pidfd)
