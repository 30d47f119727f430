"""The cache of compiled programs on disk: shared by processes, and never trusted.

An entry is one file.  It begins with a digest of its name and content, and it appears under its
name in one step, whole.  An entry that is truncated, damaged, or someone else's is as good as
none: what it held is made again.  Nothing in here is ever unpickled or executed unchecked.

Environment:
    POLYGEN_CACHE_DIR: the folder; by default `polygen` in the user's cache folder.
    POLYGEN_NO_CACHE: if set, and not to 0, nothing is kept, on disk or in memory.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from polygen.runtime.disk.folders import folder

_MAGIC = b"polygen cache entry 1\n"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_LONGEST_TURN = 60.0  # seconds after which a process no longer waits for another
_PAUSE = 0.01


def caching() -> bool:
    """Tell whether anything may be kept."""
    return os.environ.get("POLYGEN_NO_CACHE", "") in ("", "0")


def key_of(*parts: str) -> str:
    """Return a name for what these texts, and this version of polygen, determine."""
    digest = hashlib.sha256()
    version: str = importlib.import_module("polygen").__version__  # it imports this module
    for part in (version, *parts):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def kept(
    name: str, make: Callable[[], bytes], is_usable: Callable[[bytes], bool] | None = None
) -> bytes:
    """Return the content that was stored under a name; where there is none, make and store it.

    Of processes that ask for it at the same time, one makes it, and the others wait.

    Parameters:
        name: that of the entry.
        make: returns the content; what it raises is raised, and nothing is stored.
        is_usable: tells whether content that was stored will do; if not, it is made again.
    """

    def found() -> bytes | None:
        content = load(name)
        if content is None or is_usable is None or is_usable(content):
            return content
        return None

    content = found()
    if content is not None or not caching():
        return make() if content is None else content
    with turn(name):
        content = found()
        if content is None:
            content = make()
            store(name, content)
    return content


def load(name: str) -> bytes | None:
    """Return the content that was stored under a name, or None if it is not there, whole."""
    if not caching():
        return None
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        # An entry is a file that this user wrote: links and other users' files are none.
        with os.fdopen(os.open(folder() / name, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
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


@contextmanager
def turn(name: str) -> Generator[None]:
    """Let one process at a time make something with such a name; if in doubt, let all.

    The lock goes with its process, however that ends.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(folder() / f".turn-{name[:2]}", flags, 0o600)
    except OSError:
        yield
        return
    try:
        _wait_for(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    """Lock a file, unless that cannot be, or takes too long."""
    end = time.monotonic() + _LONGEST_TURN
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
        else:
            return
