"""What lies in the cache's folder: counted, and cleared, on request."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polygen.runtime.cache import chosen_folder

# Only what has a name that polygen or PoCL gave it is touched: the folder may be one of many uses.
_ENTRY = re.compile(r"[0-9a-f]{64}(\.[a-z]+)?")
_UNFINISHED = re.compile(r"\.new-.*")
_POCL = "pocl"
_OF_POCL = re.compile(r"[A-P]{2}|tempfile.*|uncached")


@dataclass(frozen=True)
class Contents:
    """What a cache's folder holds.

    Attributes:
        folder: the folder; it need not be there.
        entries: how many files of polygen's there are, and
        entry_bytes: how large they are together.
        pocl_bytes: how large PoCL's files are together.
    """

    folder: Path
    entries: int
    entry_bytes: int
    pocl_bytes: int


def contents() -> Contents:
    """Look into the cache's folder; nothing is created or changed.

    Raises:
        OSError: if the folder cannot be read.
    """
    folder = chosen_folder()
    sizes = [path.lstat().st_size for path in _files(folder)]
    in_pocl = [p for path in _folders_of_pocl(folder) for p in (path, *path.rglob("*"))]
    pocl = sum(p.lstat().st_size for p in in_pocl if stat.S_ISREG(p.lstat().st_mode))
    return Contents(folder, len(sizes), sum(sizes), pocl)


def clear() -> Contents:
    """Remove what the cache's folder holds, and return what it was.

    Processes that use it go on: what they miss is made again.

    Raises:
        OSError: if something cannot be removed.
    """
    found = contents()
    for path in _files(found.folder):
        path.unlink(missing_ok=True)
    for path in _folders_of_pocl(found.folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return found


def _files(folder: Path) -> Iterator[Path]:
    """Yield entries, and what killed processes left half-written."""
    for path in _inside(folder):
        named = _ENTRY.fullmatch(path.name) or _UNFINISHED.fullmatch(path.name)
        if named and stat.S_ISREG(path.lstat().st_mode):
            yield path


def _folders_of_pocl(folder: Path) -> Iterator[Path]:
    inner = folder / _POCL
    if not inner.is_symlink():
        yield from (path for path in _inside(inner) if _OF_POCL.fullmatch(path.name))


def _inside(folder: Path) -> list[Path]:
    """Return what is in a folder of this user's, in order; nothing if there is none."""
    try:
        if folder.stat().st_uid != os.geteuid():
            return []
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
