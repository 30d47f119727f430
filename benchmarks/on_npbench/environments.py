"""An interpreter for each peer: a virtual environment of its own, or the one that runs this."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.on_npbench.frameworks import NEEDS

PACKAGES = {
    "numpy": ("numpy", "scipy"),
    "numba": ("numba", "scipy"),
    "jax": ("jax", "scipy"),
    "pythran": ("pythran", "scipy", "scipy-openblas64"),
    "dace": ("dace", "networkx<3.3", "scipy"),  # it does not work with later ones
    "cupy": ("cupy-cuda12x", "scipy"),
}


def interpreter(framework: str, folder: Path | None) -> tuple[str, str | None]:
    """Return the interpreter of a peer, and why it cannot be had, if it cannot.

    Parameters:
        framework: the peer.
        folder: holds environments by the names of peers; those that are not there are made.
    """
    if folder is None or framework not in PACKAGES:
        return sys.executable, _missing(sys.executable, framework)
    place = (folder / framework).absolute()
    python = str(place / "bin" / "python")
    if not Path(python).exists():
        _run(sys.executable, "-m", "venv", str(place))
    if _missing(python, framework) is None:
        return python, None
    said = _run(python, "-m", "pip", "install", "--quiet", *PACKAGES[framework])
    why = _missing(python, framework)
    return python, why and f"does not install: {said or why}"


def _missing(python: str, framework: str) -> str | None:
    """Return why a library cannot be imported."""
    module = NEEDS.get(framework, framework)
    return _run(python, "-c", f"import {module}")


def _run(*command: str) -> str | None:
    """Run a command; return the last line of what it says if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.returncode:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"{command[0]} ended with {done.returncode}"
