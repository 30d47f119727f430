"""The state of polygen's own files, for what is kept of its decisions.

What was compiled depends on its text alone.  A schedule depends on the code that chose it, too: in
a checkout, that changes while the version stays.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.resources import files

_SUFFIXES = (".py", ".lark", ".tables", ".h", ".c", ".cu")


@cache
def sources_stamp() -> str:
    """Return a text that changes when a file of polygen's does; empty if it is installed."""
    root = str(files("polygen"))
    if "site-packages" in root:  # then the version says it
        return ""
    digest = hashlib.sha256()
    for folder, inner, names in os.walk(root, followlinks=True):
        inner.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES):
                status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118  (quicker)
                digest.update(f"{name} {status.st_mtime_ns} {status.st_size}\n".encode())
    return digest.hexdigest()
