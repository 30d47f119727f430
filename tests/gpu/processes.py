"""Python in a process of its own.

NVIDIA's OpenCL builds nothing in one that has compiled with NVRTC, and a fault ends a context.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str, before: tuple[str, ...] = ()) -> str:
    """Run Python with arguments; return what it shows. What is `before` starts it."""
    done = subprocess.run(
        [*before, sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done.stdout
