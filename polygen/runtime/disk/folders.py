"""Folders on disk: the cache's, and one of each process for files that nobody else sees.

Neither is another user's, and both are closed to others.  What a killed process leaves is removed
by others, once it is old.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import resource
import shutil
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import platformdirs

from polygen.errors import NoTemporaryFiles
from polygen.source import caller_location

# Only what has a name that polygen gave it is touched: the folder may be one of many uses.
ENTRY = re.compile(r"[0-9a-f]{64}(\.[a-z]+)?")
UNFINISHED = re.compile(r"\.new-.*")
TURN = re.compile(r"\.turn-[0-9a-f]{2}")
_PRIVATE = "polygen-run-"
_LOCK = ".lock"
_STALE = 3600.0  # seconds after which nobody is still writing a temporary file


def is_own(name: str) -> bool:
    """Tell whether polygen gave a file in the cache's folder its name."""
    return any(pattern.fullmatch(name) for pattern in (ENTRY, UNFINISHED, TURN))


def folder() -> Path:
    """Return the folder of the cache, which belongs to this user and is closed to others.

    Where that cannot be had, it is a folder of this process's own, which goes when it ends.

    Raises:
        NoTemporaryFiles: if that cannot be had either.
    """
    found = _secured(str(chosen_folder()))
    return private_folder() if found is None else found


def chosen_folder() -> Path:
    """Return the folder that the cache should have; it need not be there, or be fit for it."""
    try:
        chosen = os.environ.get("POLYGEN_CACHE_DIR") or platformdirs.user_cache_dir("polygen")
        return Path(chosen).expanduser().absolute()
    except RuntimeError:  # this user has no home
        return Path(tempfile.gettempdir(), f"polygen-{os.geteuid()}")


@cache
def _secured(path: str) -> Path | None:
    """Return a folder that is there, this user's, closed, and can be written; else None."""
    root = Path(path)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A link that another user made may lead elsewhere tomorrow.
        if root.lstat().st_uid not in (0, os.geteuid()) or root.stat().st_uid != os.geteuid():
            return None
        if stat.S_IMODE(root.stat().st_mode) & 0o077:
            # Others may need what else is in it: /tmp, say.
            if not all(is_own(path.name) for path in root.iterdir()):
                return None
            root.chmod(0o700)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError:
        return None
    _sweep(root)
    return root


def _sweep(root: Path) -> None:
    """Remove what killed processes left half-written."""
    for leftover in root.glob(".new-*"):
        with contextlib.suppress(OSError):
            if _is_stale(leftover):
                leftover.unlink()


def _is_stale(path: Path) -> bool:
    return time.time() - path.lstat().st_mtime > _STALE


# --- of one process


def private_folder() -> Path:
    """Return a folder that only this process uses, and that goes when it ends.

    Raises:
        NoTemporaryFiles: if it cannot be made.
    """
    with temporary_files():
        found = _private_folder(os.getpid())
        found.mkdir(mode=0o700, exist_ok=True)  # somebody may have tidied up
        return found


def in_private_folder(path: str) -> bool:
    """Tell whether a path leads into the folder of a process."""
    return any(part.startswith(_PRIVATE) for part in Path(path).parts)


@contextmanager
def temporary_files() -> Generator[None]:
    """Say what is wrong where temporary files cannot be written.

    Raises:
        NoTemporaryFiles: if they cannot.
    """
    try:
        yield
    except OSError as error:
        raise no_temporary_files(error.strerror or str(error)) from None


def check_room(root: Path, needed: int) -> None:
    """Check that so many bytes can be written to files in a folder, which is made.

    Raises:
        NoTemporaryFiles: if not.
    """
    with temporary_files():
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(root).free
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most != resource.RLIM_INFINITY:
        free = min(free, most)
    if free < needed:
        raise no_temporary_files(f"there is room for {free} bytes, and {needed} may be needed")


def no_temporary_files(why: str) -> NoTemporaryFiles:
    """Return the error that temporary files cannot be written."""
    place = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108  (what Python takes, too)
    return NoTemporaryFiles(
        f"temporary files cannot be written to '{place}': {why}",
        where=caller_location(),
        remedy="make room there, or name another folder in the environment variable TMPDIR",
    )


@cache
def _private_folder(pid: int) -> Path:
    _sweep_private(Path(tempfile.gettempdir()))
    path = Path(tempfile.mkdtemp(prefix=_PRIVATE))
    # Locked for as long as the process lives: nobody closes it.
    descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):  # on file systems without locks, nobody can have it, either
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    atexit.register(_remove, path, pid)
    return path


def _remove(path: Path, pid: int) -> None:
    # A process that was forked off inherits the parent's exit handlers, but not its folder.
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)


def _sweep_private(parent: Path) -> None:
    """Remove the folders of processes that were killed."""
    for path in parent.glob(f"{_PRIVATE}*"):
        with contextlib.suppress(OSError):
            if path.lstat().st_uid == os.geteuid() and _is_stale(path) and not _is_locked(path):
                shutil.rmtree(path)


def _is_locked(path: Path) -> bool:
    """Tell whether the process whose folder this is still lives."""
    try:
        descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
