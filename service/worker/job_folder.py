"""The folder in which one job works. What a killed worker left behind goes when the next worker starts."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "tiptrace-job-"
_YOUNG_SECONDS = 60.0
"""A folder is made a moment before it is locked."""


@contextmanager
def job_folder() -> Iterator[Path]:
    """An empty folder, locked while it is used, and removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(lock)


def remove_left_folders() -> int:
    """Remove the job folders of our user that no process holds any more; how many there were."""
    return sum(map(_removed, Path(tempfile.gettempdir()).glob(f"{_PREFIX}*")))


def _removed(folder: Path) -> bool:
    try:
        found = folder.lstat()
        if found.st_uid != os.geteuid() or found.st_mtime > time.time() - _YOUNG_SECONDS:
            return False
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    except OSError:  # held by a job that runs, or no longer there
        return False
    finally:
        os.close(lock)
    return True
