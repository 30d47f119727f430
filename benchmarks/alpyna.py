"""The twelve benchmarks of ALPyNA, without annotations, beside Numba's.

    python -m benchmarks.alpyna [--numba PYTHON] [--threads N] [--scale X] [KERNELS]

PYTHON is an interpreter that has Numba, in an environment of its own.  Each library runs in a
process of its own; they take turns, and the least time of a call counts.  Numba compiles the same
loops twice: as they are, and with the outermost parallel loop as ``prange``; the faster one counts.
``speed`` is Numba's time divided by polygen's.  ``analysed``: what `pg.analyse` takes; ``first``:
the first call, caches empty.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TURNS, SECONDS = 5, 0.15  # of each library; of a turn


def ours(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the versions of polygen."""
    import polygen as pg  # noqa: PLC0415  (Numba's process has no polygen)

    return {"jit": pg.jit(function, strict=True)}


def numbas(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the versions of Numba."""
    import numba  # noqa: PLC0415

    text = inspect.getsource(function)
    if "    for _ in range(t)" in text:  # the loop over time is not parallel, those in it are
        text = text.replace("        for i in range(", "        for i in numba.prange(")
    else:
        for name in "ia":
            text = text.replace(f"\n    for {name} in range(", f"\n    for {name} in numba.prange(")
    scope: dict[str, Any] = {"numba": numba, "math": math, "Any": Any}
    exec(text, scope)  # noqa: S102  (our own text)
    return {
        "njit": numba.njit(function),
        "prange": numba.njit(parallel=True)(scope[function.__name__]),
    }


def worker(who: str, scale: float) -> None:
    """Time kernels, as they are named on the input."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from benchmarks import alpyna_kernels  # noqa: PLC0415

    if who == "polygen":
        _analysed(
            alpyna_kernels.vadd, alpyna_kernels.arguments(alpyna_kernels.vadd, 0.0)
        )  # imports
    known: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in known:
            function = getattr(alpyna_kernels, name)
            known[name] = _prepared(who, function, alpyna_kernels.arguments(function, scale))
            continue
        version, given = known[name]
        print(_turn(version, given), flush=True)


def _prepared(who: str, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """Return the fastest version, with its arguments; print the times of what is done once."""
    analysed = _analysed(function, given) if who == "polygen" else 0.0
    times: dict[str, float] = {}
    versions = ours(function) if who == "polygen" else numbas(function)
    first = 0.0
    for name, version in versions.items():
        start = time.perf_counter()
        version(*copy.deepcopy(given))
        first = first or time.perf_counter() - start
        times[name] = _turn(version, given)
    best = min(times, key=lambda name: times[name])
    print(best, analysed, first, flush=True)
    return versions[best], given


def _analysed(function: Callable[..., Any], given: tuple[Any, ...]) -> float:
    import polygen as pg  # noqa: PLC0415

    names = dict(zip(function.__code__.co_varnames, given, strict=False))
    start = time.perf_counter()
    str(pg.analyse(function, **names))
    return time.perf_counter() - start


def _turn(version: Callable[..., Any], given: tuple[Any, ...]) -> float:
    arguments, best, end = copy.deepcopy(given), math.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        version(*arguments)
        best = min(best, time.perf_counter() - start)
    return best


class Peer:
    """A process that times one library."""

    def __init__(self, python: str, who: str, options: argparse.Namespace, caches: str) -> None:
        threads = str(options.threads)
        environment = {
            **os.environ,
            **dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), threads),
            "POLYGEN_CACHE_DIR": caches,
        }
        self._process = subprocess.Popen(
            [python, __file__, "--worker", who, "--scale", str(options.scale)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, name: str) -> list[str]:
        """Return what the process says of a kernel."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().split()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--numba", default=sys.executable)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--worker")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.scale)
        return
    from benchmarks.alpyna_kernels import FUNCTIONS  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as caches:
        peers = {
            "polygen": Peer(sys.executable, "polygen", options, caches),
            "numba": Peer(options.numba, "numba", options, caches),
        }
        print("kernel          polygen     Numba  speed   analysed   first   of Numba")
        for name in options.kernels or [function.__name__ for function in FUNCTIONS]:
            once = {who: peer.ask(name) for who, peer in peers.items()}
            best = dict.fromkeys(peers, math.inf)
            for _ in range(TURNS):
                for who, peer in peers.items():
                    best[who] = min(best[who], float(peer.ask(name)[0]))
            _, analysed, first = once["polygen"]
            print(
                f"{name:14} {best['polygen'] * 1e3:7.3f} ms {best['numba'] * 1e3:7.3f} ms "
                f"{best['numba'] / best['polygen']:6.2f} {float(analysed) * 1e3:7.1f} ms "
                f"{float(first):6.2f} s   {once['numba'][0]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
