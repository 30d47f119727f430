"""NPBench's kernels: their NumPy source as it is under `pg.jit`, beside other libraries.

    python -m benchmarks.npbench PATH                              # of a checkout of NPBench
    python -m benchmarks.npbench PATH gemm spmv --sizes S M --threads 1 16
    python -m benchmarks.npbench PATH --environments peers         # makes one for each peer
    python -m benchmarks.npbench PATH --libraries polygen_cuda cupy jax --sizes paper

Each library runs in a process of its own, in an environment of its own if `--environments` names a
folder for them; they take turns, and the least time of each counts.  Arguments are copied before
each call, which is not timed.  Of Numba, JAX and DaCe all versions that the checkout has are
tried, and the fastest counts; Pythran and DaCe get NumPy's source where it has none of theirs.
Results are compared with NumPy's by NPBench's rule: elements within 1e-5, or the norm of the
difference.  A library that has not answered after `--limit` seconds is ended, and is given that
time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import platform
import random
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.on_npbench.checkout import kernels, wrong
from benchmarks.on_npbench.environments import interpreter
from benchmarks.on_npbench.frameworks import FRAMEWORKS

CPU = ("polygen", "numpy", "numba", "jax", "pythran", "dace")
OURS = ("polygen", "polygen_cuda")
ROUNDS, SECONDS, PAUSE = 12, 2.0, 0.005
ROOT = Path(__file__).resolve().parent.parent


def _path(python: str) -> str:
    """Return where an interpreter finds modules: in its own environment, and polygen's."""
    inherited = os.environ.get("PYTHONPATH", "") if python == sys.executable else ""
    return os.pathsep.join([str(ROOT), *filter(None, [inherited])])


class LateError(Exception):
    """A process has not answered in time."""


class Worker:
    """The process of a library; it is started anew after it was ended."""

    def __init__(self, library: str, python: str, root: Path, threads: int, limit: float) -> None:
        self.library, self.limit = library, limit
        self.folder = Path(tempfile.mkdtemp(prefix=f"npbench-{library}-"))
        names = ("OMP", "OPENBLAS", "MKL", "NUMBA")
        self.environment = os.environ | {f"{name}_NUM_THREADS": str(threads) for name in names}
        self.environment |= {
            "PYTHONPATH": _path(python),
            "PYTHONDONTWRITEBYTECODE": "1",
            "POLYGEN_CACHE_DIR": str(self.folder / "cache"),
            "DACE_default_build_folder": str(self.folder / "dace"),
            "JAX_PLATFORMS": "" if library == "jax_cuda" else "cpu",
            "XLA_FLAGS": "" if threads > 1 else "--xla_cpu_multi_thread_eigen=false",
        }
        script = "benchmarks.on_npbench.worker"
        self.command = [python, "-m", script, library, str(root.absolute()), str(self.folder)]
        self.cores = sorted(os.sched_getaffinity(0))[:threads]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, **what: Any) -> dict[str, Any]:
        """Return the answer to a question; an error, if the process ends.

        Raises:
            LateError: there is none in time.
        """
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                ["taskset", "-c", ",".join(map(str, self.cores)), *self.command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self.environment,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], self.limit)[0]:
            self.end()
            raise LateError
        line = self.process.stdout.readline()
        if not line:
            self.end()
            return {"error": "its process ended"}
        reply: dict[str, Any] = json.loads(line)
        return reply

    def end(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            with self.process:  # waits, and closes its pipes
                self.process = None


@dataclass
class Row:
    """What was measured of a kernel: seconds by library, whether results were compared, notes."""

    kernel: str
    seconds: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    is_compared: bool = True
    notes: list[str] = field(default_factory=list)


def measured(kernel: str, size: str, workers: dict[str, Worker]) -> Row:
    """Prepare a kernel with every library, compare results, and time calls in turns."""
    row = Row(kernel)
    able = prepared(row, size, workers)
    until = time.perf_counter() + SECONDS
    for turn in range(ROUNDS):
        for library in random.sample(able, len(able)):
            time.sleep(PAUSE)
            if turn and row.seconds.get(library, 0.0) > 5:
                continue
            try:
                reply = workers[library].ask(do="turn")
            except LateError:
                reply = {"error": "late"}
            if "error" in reply:
                row.notes.append(f"{library}: {reply['error']}")
                able.remove(library)
                row.seconds.pop(library, None)
                continue
            row.seconds[library] = min(row.seconds.get(library, math.inf), reply["seconds"])
        if turn >= 2 and time.perf_counter() > until:
            break
    return row


def prepared(row: Row, size: str, workers: dict[str, Worker]) -> list[str]:
    """Return the libraries that compute a kernel as NumPy does; tell why others do not."""
    able, results = [], {}
    for library in sorted(workers, key=lambda library: library != "numpy"):
        worker = workers[library]
        path = worker.folder / "results.pickle"
        try:
            reply = worker.ask(do="prepare", kernel=row.kernel, size=size, results=str(path))
        except LateError:
            row.notes.append(f"{library}: over {worker.limit:.0f} s")
            row.seconds[library] = worker.limit
            continue
        if "error" in reply:
            row.notes.append(f"{library}: {reply['error']}")
            continue
        results[library] = pickle.loads(path.read_bytes())  # noqa: S301  its own file
        difference = wrong(results.get("numpy", results[library]), results[library])
        if difference:
            row.notes.append(f"{library} ({reply['version']}): WRONG, {difference}")
            continue
        if "numpy" not in results:
            row.notes.append(f"{library}: not compared, since NumPy has no result")
            row.is_compared = False
        row.first[library] = reply["first"]
        row.notes += [f"{library}: {v}: {why}" for v, why in reply["failed"].items()]
        row.notes += [f"{library}: {line}" for line in reply["python"]]
        able.append(library)
    return able


def shown(row: Row, libraries: list[str]) -> str:
    """Return a line of the table: milliseconds, and the best peer's time over ours."""
    cells = [f"{row.seconds[x] * 1e3:.3f}" if x in row.seconds else "-" for x in libraries]
    ours = [x for x in libraries if x in OURS and x in row.first]
    ratio = speed(row, libraries)
    text = f"{ratio[0]:.2f} ({ratio[1]})" if ratio else "-"
    first = f"{row.first[ours[0]]:.2f}" if ours else "-"
    return f"{row.kernel:18}{''.join(f'{cell:>12}' for cell in cells)}{first:>9}  {text}"


def speed(row: Row, libraries: list[str]) -> tuple[float, str] | None:
    """Return the best peer's time over ours, and who that is; None where either is not there."""
    ours = [row.seconds[x] for x in libraries if x in OURS and x in row.seconds]
    peers = [(row.seconds[x], x) for x in libraries if x not in OURS and x in row.seconds]
    return (min(peers)[0] / ours[0], min(peers)[1]) if ours and peers else None


def summary(rows: list[Row], libraries: list[str]) -> None:
    """Print geometric means over all kernels, and how many are validated and fast."""
    ours = [row for row in rows if any(x in row.first for x in OURS)]
    print(f"\nvalidated: {sum(row.is_compared for row in ours)} of {len(rows)}")
    for peer in (library for library in libraries if library not in OURS):
        ratios = [
            row.seconds[peer] / next(row.seconds[x] for x in OURS if x in row.seconds)
            for row in ours
            if peer in row.seconds
        ]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{peer}'s time over ours, geometric mean of {len(ratios)}: {mean:.2f}")
    best = [found[0] for row in ours if (found := speed(row, libraries))]
    if best:
        mean = math.exp(sum(map(math.log, best)) / len(best))
        enough = sum(ratio >= 0.95 for ratio in best)
        print(f"the best peer's: {mean:.2f}; at least 0.95 on {enough} of {len(best)}")
    late = [f"{row.kernel} {t:.1f} s" for row in ours for t in row.first.values() if t > 1.0]
    print(f"first calls above 1 s, peers' counted: {len(late)}")


def table(given: argparse.Namespace, size: str, threads: int, pythons: dict[str, str]) -> None:
    """Measure all kernels for a size and a number of threads; print a line for each."""
    root: Path = given.path
    workers = {
        library: Worker(library, python, root, threads, given.limit)
        for library, python in pythons.items()
    }
    libraries = list(workers)
    print(f"\nsize {size}, {threads} thread{'s' if threads > 1 else ''}; least times, ms", end="")
    print("; 'first': seconds of our first call; last: the best peer's time over ours")
    print(f"{'':18}{''.join(f'{library:>12}' for library in libraries)}    first")
    rows = []
    for kernel in given.kernels or kernels(root):
        rows.append(measured(kernel, size, workers))
        print(shown(rows[-1], libraries), flush=True)
    for row in rows:
        for note in row.notes:
            print(f"  {row.kernel}: {note}")
    summary(rows, libraries)
    for worker in workers.values():
        worker.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("path", type=Path, help="a checkout of NPBench")
    parser.add_argument("kernels", nargs="*", help="all of the checkout, if not given")
    parser.add_argument("--libraries", nargs="*", choices=list(FRAMEWORKS), default=list(CPU))
    parser.add_argument("--sizes", nargs="*", default=["S"], help="S, M, L, paper")
    parser.add_argument("--threads", type=int, nargs="*", default=[1])
    parser.add_argument("--environments", type=Path, help="a folder with one for each library")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for an answer")
    given = parser.parse_args()
    pythons = {}
    for library in given.libraries:
        python, why = interpreter(library, given.environments)
        if why is None:
            pythons[library] = python
        else:
            print(f"{library} is left out: {why}")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors", end="")
    print(f"; Python {platform.python_version()}; load {os.getloadavg()[0]:.1f}")
    for size in given.sizes:
        for threads in given.threads:
            table(given, size, threads, pythons)


if __name__ == "__main__":
    main()
