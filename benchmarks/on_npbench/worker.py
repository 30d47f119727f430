"""The process of one peer: it prepares kernels and times calls, as it is told on its input.

python -m benchmarks.on_npbench.worker FRAMEWORK CHECKOUT FOLDER; one line of JSON in, one out.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.on_npbench.checkout import Kernel, Left, kernels
from benchmarks.on_npbench.frameworks import Framework, prepared

TURN, CALLS = 0.1, 20  # of a turn: no more calls after these seconds, and at most so many


class Work:
    """A kernel, and the version of it that is timed."""

    def __init__(self, framework: str, kernel: Kernel, size: str, folder: Path) -> None:
        self.kernel, self.inputs = kernel, kernel.inputs(size)
        self.had: Framework = prepared(framework, kernel, self.inputs, folder)
        self.failed: dict[str, str] = {}
        self.first = 0.0

    def fastest(self, path: Path) -> str:
        """Call each version twice, keep the fastest and what it leaves; return its name."""
        best: tuple[float, str] | None = None
        for version in self.had.versions:
            try:
                first, left = self.call(version)
                seconds = first if first > 5 else self.call(version)[0]
            except Exception as error:  # of a class of any library's: it is told
                self.failed[version] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
                continue
            if best is None or seconds < best[0]:
                best, self.first = (seconds, version), first
                path.write_bytes(pickle.dumps(left))
        if best is None:
            raise RuntimeError("; ".join(f"{name}: {why}" for name, why in self.failed.items()))
        self.version = best[1]
        return self.version

    def call(self, version: str) -> tuple[float, Any]:
        """Return how long a call takes, on new arguments, and what it leaves as NumPy's arrays."""
        arguments = self.kernel.copied(self.inputs, self.had.move)
        self.had.wait(arguments)
        start = time.perf_counter()
        result = self.had.versions[version](*arguments)
        self.had.wait(result)
        seconds = time.perf_counter() - start
        left = self.kernel.left(result, arguments)
        return seconds, Left(*([_host(value) for value in values] for values in left))

    def turn(self) -> float:
        """Return the least time of some calls, after one that brings back what others displaced."""
        times: list[float] = []
        start = time.perf_counter()
        while len(times) < CALLS and (not times or time.perf_counter() - start < TURN):
            times.append(self.call(self.version)[0])
        return min(times)

    def in_python(self) -> list[str]:
        """Return what polygen says stayed Python inside of loops; nothing of others."""
        function = self.had.notes.get("explain")
        if function is None:
            return []
        explained = str(function.explain())
        return [line.strip() for line in explained.splitlines() if "Python" in line]


def _host(value: Any) -> Any:
    import numpy as np  # noqa: PLC0415  after the libraries that count threads as they are loaded

    return np.asarray(value.get() if hasattr(value, "get") else value)


def main() -> None:
    framework, root, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    replies = sys.stdout
    sys.stdout = sys.stderr  # what a library prints is no reply
    warnings.simplefilter("ignore")
    known = kernels(root)
    work: Work | None = None
    for line in sys.stdin:
        told = json.loads(line)
        try:
            if told["do"] == "prepare":
                work = Work(framework, known[told["kernel"]], told["size"], folder)
                version = work.fastest(Path(told["results"]))
                reply = {
                    "version": version,
                    "first": work.first,
                    "failed": work.failed,
                    "python": work.in_python(),
                }
            else:
                assert work is not None
                reply = {"seconds": work.turn()}
        except Exception as error:  # of a class of any library's: it is told
            lines = f"{type(error).__name__}: {error}".splitlines()
            reply = {"error": lines[0][:300]}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
