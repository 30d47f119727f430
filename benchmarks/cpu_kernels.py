"""Kernels on the processor: polygen's C target beside NumPy, Numba, DaCe and JAX.

    pip install numba dace jax scipy
    python -m benchmarks.cpu_kernels              # one thread, then all cores
    python -m benchmarks.cpu_kernels saxpy triad  # some of the kernels

Each library works in a process of its own, on the same arguments; the processes take turns, a few
calls each, round after round, and the least time of each counts.  Threads are pinned to cores.
Results are compared with NumPy's.  Values are as IEEE 754 has them everywhere: DaCe's flags are
without -ffast-math.

With several threads, polygen is measured twice: as it is, its threads asleep between parallel
loops, and *spinning*, as GNU's OpenMP lets threads look for work for a while unless told otherwise.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

import numpy as np

from benchmarks.cpu.data import Run

OURS, SPINNING = "polygen", "spinning"
PEERS = ("numpy", "numba", "dace", "jax")
# How often threads look for work before they sleep, if GNU's OpenMP is not told otherwise.
_USUAL_SPINS = "300000"
ROUNDS, SECONDS = 40, 1.5  # of each kernel: at most so many rounds, in about this time
CALLS, TURN = 6, 0.05  # of a turn: at most so many calls, and no more after these seconds
PAUSE = 0.003  # between turns, in which threads of the one before fall asleep
LONGER_THAN = 0.5  # a library that takes so many seconds a call is timed three times at most


Prepare: TypeAlias = Callable[[str, str], Run | None]  # of a library, and the name of a kernel
Check: TypeAlias = Callable[[str, dict[str, list[Any]]], None]  # of a kernel, and all results


# --- in the process of a library


def prepared(library: str, kernel: str) -> Run | None:
    """Return a kernel in a library, with its arguments; None if it is not there."""
    data = importlib.import_module("benchmarks.cpu.data")
    module = importlib.import_module(f"benchmarks.cpu.with_{library}")
    return getattr(module, kernel)(data.arguments(kernel)) if hasattr(module, kernel) else None


def work(
    prepare: Prepare,
    library: str,
    kernels: Sequence[str],
    cores: Sequence[int],
    pipe: Connection,
) -> None:
    """Prepare each kernel when told so, check it, and time a call as often as is asked for."""
    os.sched_setaffinity(0, cores)
    if library == SPINNING:
        library, os.environ["GOMP_SPINCOUNT"] = OURS, _USUAL_SPINS
    for kernel in kernels:
        pipe.recv()
        try:
            run = prepare(library, kernel)
            if run is None:
                pipe.send("see its module")
                pipe.recv()
                continue
            pipe.send(as_arrays(run()))
        except Exception as error:  # of a class of any library's: it is told
            pipe.send(f"{type(error).__name__}: {error}".splitlines()[0])
            pipe.recv()
            continue
        while pipe.recv():
            pipe.send(least(run))


def least(run: Run) -> float:
    """Return the least time of some calls, after one that brings back what others displaced."""
    start = time.perf_counter()
    run()
    times = [time.perf_counter() - start]
    while len(times) < CALLS and sum(times) < TURN:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def as_arrays(results: Any) -> list[Any]:
    """Return results in a list, as NumPy's arrays."""
    return [np.array(r) for r in (results if isinstance(results, tuple) else (results,))]


# --- in the main process


class Worker:
    """A library's process."""

    def __init__(
        self, prepare: Prepare, library: str, kernels: Sequence[str], cores: Sequence[int]
    ) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (prepare, library, kernels, cores, theirs)
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()

    def time(self) -> float:
        """Return the least time of a turn, in seconds."""
        self.pipe.send(True)
        return float(self.pipe.recv())


def differing(kernel: str, found: list[Any], expected: list[Any]) -> str | None:
    """Return in how far results differ from NumPy's beyond rounding, else None."""
    if kernel == "mandelbrot":
        # A point at the very edge may be counted otherwise where products are fused with sums.
        share = float((found[0] != expected[0]).mean())
        return None if share < 1e-3 else f"{share:.1%} of the points"
    for one, other in zip(found, expected, strict=True):
        scale = 1e-4 if one.dtype == np.float32 else 1e-11
        error = np.abs(one.astype(np.float64) - other).max() / np.abs(other).max()
        if not error < scale:
            return f"{error:.1e} of the largest element"
    return None


def as_numpy(kernel: str, found: dict[str, list[Any]]) -> None:
    """Check results of all libraries against NumPy's."""
    for library, result in found.items():
        if wrong := differing(kernel, result, found["numpy"]):
            raise SystemExit(f"{kernel}: {library} differs from NumPy by {wrong}")


def measure(kernel: str, workers: dict[str, Worker], check: Check = as_numpy) -> dict[str, float]:
    """Return the least time, in seconds, of each library that can do it."""
    for worker in workers.values():
        worker.pipe.send(True)
    results = {library: worker.pipe.recv() for library, worker in workers.items()}
    able = dict(workers)
    for library, found in results.items():
        if isinstance(found, str):
            print(f"{kernel}: not by {library}: {found}")
            del able[library]
    check(kernel, {library: results[library] for library in able})
    times: dict[str, list[float]] = {library: [] for library in able}
    until = time.perf_counter() + SECONDS
    order = list(able.items())
    for turn in range(ROUNDS):
        # Each comes after each of the others at times.
        for library, worker in random.sample(order, len(order)):
            time.sleep(PAUSE)
            if turn < 3 or min(times[library]) < LONGER_THAN:
                times[library].append(worker.time())
        if turn >= 2 and time.perf_counter() > until:
            break
    for worker in workers.values():
        worker.pipe.send(False)
    return {library: min(found) for library, found in times.items()}


def table(
    kernels: Sequence[str],
    peers: Sequence[str],
    cores: Sequence[int],
    prepare: Prepare = prepared,
    check: Check = as_numpy,
    *,
    spinning: bool = True,
) -> None:
    """Print a line for each kernel: milliseconds, and ours in terms of the best peer's."""
    width = max(16, *(len(kernel) + 1 for kernel in kernels))
    threads = str(len(cores))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = threads
    os.environ.update(OMP_PROC_BIND="close", OMP_PLACES="cores", JAX_PLATFORMS="cpu")
    ours = (OURS, SPINNING) if spinning and len(cores) > 1 else (OURS,)
    libraries = [*ours, *peers]
    workers = {library: Worker(prepare, library, kernels, cores) for library in libraries}
    print(f"\n{threads} thread{'s' if len(cores) > 1 else ''}; minima, ms")
    heads = "".join(f"{library:>10}" for library in libraries)
    print(f"{'':{width}}{heads}  ours / best peer")
    for kernel in kernels:
        times = measure(kernel, workers, check)
        best, peer = min((times[name], name) for name in peers if name in times)
        shown = [f"{times[name] * 1e3:.3f}" if name in times else "-" for name in libraries]
        ratios = [f"{times[name] / best:.2f}" if name in times else "-" for name in ours]
        row = "".join(f"{text:>10}" for text in shown)
        print(f"{kernel:{width}}{row}  {' '.join(ratios)} ({peer})", flush=True)
    for worker in workers.values():
        worker.process.join()


def main() -> None:
    data = importlib.import_module("benchmarks.cpu.data")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kernels", nargs="*", choices=[[], *data.KERNELS], help="all, if not given")
    parser.add_argument("--threads", type=int, nargs="*", help="one and all cores, if not given")
    given = parser.parse_args()
    missing = [name for name in PEERS if importlib.util.find_spec(name) is None]
    for library in missing:
        print(f"{library} is not installed: left out")
    peers = [name for name in PEERS if name not in missing]
    all_cores = sorted(os.sched_getaffinity(0))
    print(f"{_processor()}, {len(all_cores)} cores; Python {platform.python_version()}", end="")
    print(f", NumPy {np.__version__}; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:  # of what DaCe builds, for all tables
        os.environ["DACE_default_build_folder"] = folder  # noqa: SIM112  (it is called so)
        for count in given.threads or dict.fromkeys((1, len(all_cores))):
            table(given.kernels or list(data.KERNELS), peers, all_cores[:count])


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    main()
