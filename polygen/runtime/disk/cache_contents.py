"""Counts and clears the entries of the cache, on request."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polygen.runtime.disk.folders import ENTRY, chosen_folder, is_own


@dataclass(frozen=True)
class Contents:
    """The contents of a cache's folder.

    Attributes:
        folder: the folder; it need not be there.
        entries: how many files there are with what was compiled, and
        entry_bytes: how large all of polygen's files are together.
    """

    folder: Path
    entries: int
    entry_bytes: int


def contents() -> Contents:
    """Look into the cache's folder; nothing is created or changed.

    Raises:
        OSError: if the folder cannot be read.
    """
    folder = chosen_folder()
    sizes = {path.name: path.lstat().st_size for path in _files(folder)}
    entries = sum(bool(ENTRY.fullmatch(name)) for name in sizes)
    return Contents(folder, entries, sum(sizes.values()))


def clear() -> Contents:
    """Remove what the cache's folder holds, and return what it was.

    Processes that use it go on: what they miss is made again.

    Raises:
        OSError: if something cannot be removed.
    """
    found = contents()
    for path in _files(found.folder):
        path.unlink(missing_ok=True)
    return found


def _files(folder: Path) -> Iterator[Path]:
    """Yield entries, locks, and what killed processes left half-written."""
    for path in _inside(folder):
        if is_own(path.name) and _is_file(path):
            yield path


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:  # another process may have been faster
        return False


def _inside(folder: Path) -> list[Path]:
    """Return what is in a folder of this user's, in order; nothing if there is none."""
    try:
        if folder.stat().st_uid != os.geteuid():
            return []
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
