"""The pages' files under a name that changes when any of them does, so that browsers may keep them for good.

A page is some sixty small files. To ask for each whether it still holds costs a browser sixty trips; so a page names
them below `static/<edition>/`, and modules, which name each other by their neighbourhood, follow. It also means that a
page never runs with half of its modules from before an update.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

_NAME = re.compile(r"e[0-9a-f]{12}")


class Edition:
    """What a folder's files are called together. Any thread may ask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp: tuple[tuple[str, int, int], ...] = ()
        self._name = ""
        self._one_at_a_time = threading.Lock()

    def now(self) -> str:
        """By the contents of the files as they lie there, so the same on every machine. Read when one has changed."""
        with self._one_at_a_time:
            paths = sorted(path for path in self._folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
            stamp = tuple((str(path), (found := path.stat()).st_mtime_ns, found.st_size) for path in paths)
            if stamp != self._stamp:
                whole = hashlib.sha256()
                for path in paths:
                    whole.update(f"{path.relative_to(self._folder).as_posix()}\0".encode())
                    whole.update(hashlib.sha256(path.read_bytes()).digest())
                self._stamp, self._name = stamp, f"e{whole.hexdigest()[:12]}"
            return self._name

    def holds(self, name: str) -> bool:
        """Whether these are the files of that edition: by what was found last, since each of them is asked for."""
        return name == (self._name or self.now())


@lru_cache(maxsize=4)
def edition_of(folder: Path) -> Edition:
    return Edition(folder)


def is_name(part: str) -> bool:
    """Whether this part of an address could be an edition, of now or of some other day."""
    return _NAME.fullmatch(part) is not None


@lru_cache(maxsize=4)
def naming(edition: str) -> Callable[[bytes], bytes]:
    """What lets a page ask for its files by this edition: the same function for the same one."""
    return partial(_named, edition.encode())


def _named(edition: bytes, page: bytes) -> bytes:
    return page.replace(b'"static/', b'"static/' + edition + b"/")
