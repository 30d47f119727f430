"""Notices at import whether this process was forked off one that uses OpenCL.

A user's program may load a driver, and fork, before it calls anything of polygen's.  So `import
polygen` calls `watch_forks`; nothing here takes time.
"""

import os
import re
import sys
from pathlib import Path

# Not empty in a process that was forked off one that had loaded a driver of OpenCL's.
FORKED: list[bool] = []
_DRIVERS = r"(?m)/lib(pocl|nvidia-opencl|amdocl|intelocl|igdrcl)[^/]*$"


def watch_forks() -> None:
    """Note in processes that are forked off this one, from now on, what they are."""
    os.register_at_fork(after_in_child=_note_fork)


def _note_fork() -> None:
    """Note in a forked process that it has its parent's driver without the threads of it."""
    if "pyopencl" in sys.modules and re.search(_DRIVERS, Path("/proc/self/maps").read_text()):
        FORKED.append(True)
