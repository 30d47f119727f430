"""What was compiled before, on disk: shared by processes, and never trusted.

An entry is one file.  It begins with a digest of its name and content, and it appears under its
name in one step, whole.  An entry that is truncated, damaged, or someone else's is as good as
none: what it held is made again.  Nothing in here is ever unpickled or executed unchecked.

Environment:
    POLYGEN_CACHE_DIR: the folder; by default `polygen` in the user's cache folder.
    POLYGEN_NO_CACHE: if set, and not to 0, nothing is kept, on disk or in memory.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from functools import cache
from pathlib import Path

import platformdirs

_MAGIC = b"polygen cache entry 1\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_STALE = 3600.0  # seconds after which nobody is still writing a temporary file


def caching() -> bool:
    """Tell whether anything may be kept."""
    return os.environ.get("POLYGEN_NO_CACHE", "") in ("", "0")


def key_of(*parts: str) -> str:
    """Return a name for what these texts determine."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def load(name: str) -> bytes | None:
    """Return the content that was stored under a name, or None if it is not there, whole."""
    if not caching():
        return None
    try:
        # An entry is a file that this user wrote: links and other users' files are none.
        descriptor = os.open(folder() / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(descriptor).st_uid != os.geteuid():
                return None
            entry = file.read()
    except OSError:
        return None
    content = entry[_HEADER:]
    return content if entry[:_HEADER] == _header(name, content) else None


def store(name: str, content: bytes) -> None:
    """Keep content under a name.

    Where that is impossible (the disk is full, say), it is not kept: a cache is no place to fail.
    """
    if not caching():
        return
    root = folder()
    _sweep(root)
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=root)
        with os.fdopen(descriptor, "wb") as file:
            file.write(_header(name, content))
            file.write(content)
        Path(temporary).replace(root / name)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _header(name: str, content: bytes) -> bytes:
    # With the name in it, an entry that was moved to another name is not taken for that one.
    return _MAGIC + hashlib.sha256(name.encode() + b"\0" + content).digest()


# --- folders


def folder() -> Path:
    """Return the folder of the cache, which belongs to this user and is closed to others.

    Where that cannot be had, it is a folder of this process's own, which goes when it ends.
    """
    return _secured(str(chosen_folder()), os.getpid())


def chosen_folder() -> Path:
    """Return the folder that the cache should have; it need not be there, or be fit for it."""
    chosen = os.environ.get("POLYGEN_CACHE_DIR") or platformdirs.user_cache_dir("polygen")
    return Path(chosen).expanduser().absolute()


@cache
def _secured(path: str, pid: int) -> Path:
    root = Path(path)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = root.stat()
        if status.st_uid != os.geteuid():
            return private_folder(pid)
        if stat.S_IMODE(status.st_mode) & 0o077:
            root.chmod(0o700)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError:
        return private_folder(pid)
    return root


@cache
def private_folder(pid: int) -> Path:
    """Return a folder that only the process with this id uses, and that goes when it ends."""
    path = Path(tempfile.mkdtemp(prefix="polygen-"))
    atexit.register(_remove, path, pid)
    return path


def _remove(path: Path, pid: int) -> None:
    # A process that was forked off inherits the parent's exit handlers, but not its folder.
    if os.getpid() == pid:
        shutil.rmtree(path, ignore_errors=True)


@cache
def _sweep(root: Path) -> None:
    """Remove, once per process, what killed processes left half-written."""
    for leftover in root.glob(".new-*"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _STALE:
                leftover.unlink()
