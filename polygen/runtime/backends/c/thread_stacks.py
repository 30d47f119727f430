"""The stacks of threads that run C: a kernel whose variables do not fit would end the process."""

from __future__ import annotations

import math
import os
import re
import resource
import threading

from polygen.errors import LaunchFailed
from polygen.source import caller_location
from polygen.targets.programs.program import DeviceFunction

_FOR_OTHERS = 2**19  # Python's own calls, and what compilers keep
_WITHOUT_LIMIT = 2**21  # what threads get from glibc where processes have no limit
_UNITS = {"b": 1, "k": 2**10, "": 2**10, "m": 2**20, "g": 2**30}
_SIZE = re.compile(r"\s*(\d+)\s*([bkmg]?)\s*", re.IGNORECASE)
_BY_USERS = ("OMP_STACKSIZE", "GOMP_STACKSIZE")


def check_stack(function: DeviceFunction) -> None:
    """Check that what a function of C declares fits on the stack of each thread.

    Raises:
        LaunchFailed: if it does not.
    """
    size = function.local_bytes
    if size <= _FOR_OTHERS:  # nobody has a stack that is as small as this
        return
    most = max(_FOR_OTHERS, min(_own(), _of_openmp()) - _FOR_OTHERS)
    if size > most:
        raise LaunchFailed(
            f"kernel '{function.name}' keeps {size} bytes of local and private arrays on the "
            f"stack; threads have at most {most} for them here",
            where=caller_location(),
            remedy="use smaller tiles, or make large temporaries global: "
            "set_temporary_address_space(kernel, ..., 'global'); or raise the limit (ulimit -s)",
        )


def _own() -> float:
    """Return how large the stack of this thread is."""
    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    if threading.current_thread() is threading.main_thread():
        return math.inf if limit == resource.RLIM_INFINITY else limit
    return threading.stack_size() or _of_threads()


def _of_openmp() -> int:
    """Return how large the stacks of OpenMP's threads are."""
    found = [m for n in _BY_USERS if (m := _SIZE.fullmatch(os.environ.get(n, "")))]
    return int(found[0][1]) * _UNITS[found[0][2].lower()] if found else _of_threads()


def _of_threads() -> int:
    limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return _WITHOUT_LIMIT if limit == resource.RLIM_INFINITY else limit
