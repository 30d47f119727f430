"""Reductions on the processor: polygen's C target beside NumPy and Numba.

    pip install numba
    python -m benchmarks.cpu_reductions                    # one thread, then all cores
    python -m benchmarks.cpu_reductions --threads 16 --only 768 --megabytes 1000

As in `benchmarks.cpu_kernels`, whose processes these are.  Results are compared with sums in double
precision; calls are timed with all that they take, on an array that is there.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import platform
from math import prod
from typing import Any

import numpy as np

from benchmarks.cpu.data import Run
from benchmarks.cpu.reductions.data import REDUCTIONS, array_of, exact
from benchmarks.cpu_kernels import table

_ROUNDED = {"numpy": 1e-3}  # along axes that are not contiguous


def prepared(library: str, name: str) -> Run | None:
    """Return a reduction in a library."""
    run: Run = importlib.import_module(f"benchmarks.cpu.reductions.with_{library}").prepare(
        REDUCTIONS[name]
    )
    return run


def check(name: str, found: dict[str, list[Any]]) -> None:
    """Check results: NumPy's own sums along axes that are not contiguous lose many digits."""
    one = REDUCTIONS[name]
    expected = exact(one, array_of(one))
    for library, (result,) in found.items():
        least = 0 if one.dtype != "float32" else _ROUNDED.get(library, 2e-5)
        error = np.abs(result.astype(np.float64) - expected).max()
        if not error <= max(least, 1e-13 * (one.dtype == "float64")) * np.abs(expected).max():
            raise SystemExit(f"{name}: {library} is wrong by {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="*", help="one and all cores, if not given")
    parser.add_argument("--only", nargs="*", help="those with one of these in their names")
    parser.add_argument("--megabytes", type=int, default=1100, help="of the largest array")
    given = parser.parse_args()
    most = given.megabytes << 20
    names = [
        name
        for name, one in REDUCTIONS.items()
        if prod(one.shape) * np.dtype(one.dtype).itemsize <= most
        and (not given.only or any(part in name for part in given.only))
    ]
    peers = ["numpy"]
    if importlib.util.find_spec("numba") is None:
        print("numba is not installed: left out")
    else:
        peers.append("numba")
    cores = sorted(os.sched_getaffinity(0))
    print(f"{len(cores)} cores; Python {platform.python_version()}", end="")
    print(f", NumPy {np.__version__}; load {os.getloadavg()[0]:.1f}")
    for count in given.threads or dict.fromkeys((1, len(cores))):
        table(names, peers, cores[:count], prepared, check, spinning=False)


if __name__ == "__main__":
    main()
