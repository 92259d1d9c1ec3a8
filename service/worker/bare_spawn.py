"""Child processes that inherit nothing of the environment but what an interpreter needs.

What decodes strangers' files must not hold the secret key, a mail server's password or the cloud's credentials, not
even in the block that the system keeps of a process's first environment. So they are left out when it is started.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import popen_spawn_posix, util
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

NEEDED = frozenset({"PATH", "HOME", "LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV"})
NEEDED_KINDS = ("LC_", "PYTHON", "MALLOC_")

_swap = threading.Lock()


def bare(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that finding and running the interpreter and its libraries takes."""
    return {name: value for name, value in environment.items() if name in NEEDED or name.startswith(NEEDED_KINDS)}


def _start(path: bytes | str, args: Sequence[bytes | str], passed: Sequence[int]) -> int:
    """As multiprocessing starts a process, but with a bare environment. `passed`: descriptors that stay open in it."""
    kept = [(os.POSIX_SPAWN_DUP2, fd, fd) for fd in sorted({int(fd) for fd in passed})]
    return os.posix_spawn(path, list(args), bare(os.environ), file_actions=kept)


@contextmanager
def _started_bare() -> Iterator[None]:
    """Multiprocessing has no parameter for a child's environment: its starter is replaced while one is launched."""
    with _swap:
        usual = util.spawnv_passfds
        util.spawnv_passfds = _start  # type: ignore[assignment]
        try:
            yield
        finally:
            util.spawnv_passfds = usual


class _Popen(popen_spawn_posix.Popen):
    def _launch(self, process_obj: Any) -> None:
        with _started_bare():
            super()._launch(process_obj)  # type: ignore[misc]


class BareProcess(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return _Popen(process_obj)


class BareContext(SpawnContext):
    """The context `spawn`, whose processes start with a bare environment."""

    Process = BareProcess
