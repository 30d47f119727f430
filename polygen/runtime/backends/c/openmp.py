"""Loading code with OpenMP: its threads sleep between calls, and processes can fork.

GNU's library reads once, when it is loaded, how long threads spin before they sleep: milliseconds,
unless the environment says otherwise, which on a busy machine is what a call then takes.  So it is
loaded under an environment that lets them spin for microseconds: for about as long as it takes to
wake them.  Where another library has loaded it before, polygen's
code gets a copy of it under another name.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
from collections.abc import Generator
from pathlib import Path

_GNU, _COPY = "libgomp.so.1", "libgomp.so.p"  # of one length: names are exchanged in binaries
_BY_USERS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
_CALM = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "0"}
_SOFTLY = 1  # omp_pause_soft


class _OpenMP:
    """The state of the OpenMP library of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decided = False
        self._copied = False
        self._library: ctypes.CDLL | None = None

    def load(self, path: Path, binary: bytes) -> ctypes.CDLL:
        """Load a shared object that may use OpenMP.

        Parameters:
            path: where to write it: a file that nobody else can change; it is removed.
            binary: its content.

        Raises:
            OSError: if it cannot be loaded.
        """
        with self._lock, _calm() as is_calm:
            if is_calm and not self._decided:
                self._decide(path)
            if self._copied:
                binary = _renamed(binary)
            library = _load(path, binary)
            if self._library is None and hasattr(library, "omp_get_max_threads"):
                library.omp_get_max_threads()  # some read the environment at the first call
                self._library = library
                os.register_at_fork(before=self._release)
            return library

    def _decide(self, path: Path) -> None:
        """Find out whether another library has loaded GNU's, and copy it then."""
        loaded = _loaded(_GNU)
        if loaded is not None:
            # It stays loaded for as long as the process lives.
            _load(path.with_name(_COPY), _renamed(loaded.read_bytes()))
            self._copied = True
        self._decided = True

    def _release(self) -> None:
        """Let the threads of the calling thread's pool end: a child would wait for them."""
        pause = getattr(self._library, "omp_pause_resource_all", None)  # since OpenMP 5.0
        if pause is not None:
            pause(_SOFTLY)


@contextlib.contextmanager
def _calm() -> Generator[bool]:
    """Say in the environment that threads soon sleep, unless the user has said what they do."""
    if any(name in os.environ for name in _BY_USERS):
        yield False
        return
    os.environ.update(_CALM)
    try:
        yield True
    finally:
        for name in _CALM:
            os.environ.pop(name, None)


def _loaded(name: str) -> Path | None:
    """Return the file of a shared object that is loaded under a name; None if none is."""
    with contextlib.suppress(OSError):
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
        found = re.search(rf"\S*/{re.escape(name)}\S*", Path("/proc/self/maps").read_text())
        return None if found is None else Path(found[0])
    return None


def _renamed(binary: bytes) -> bytes:
    return binary.replace(f"{_GNU}\0".encode(), f"{_COPY}\0".encode())


def _load(path: Path, binary: bytes) -> ctypes.CDLL:
    path.write_bytes(binary)
    try:
        return ctypes.CDLL(str(path))
    finally:
        path.unlink()


OPENMP = _OpenMP()
