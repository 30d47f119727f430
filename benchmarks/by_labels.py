"""Histograms and sums by labels: polygen beside PyTorch and CuPy, or NumPy and Numba.

    python -m benchmarks.by_labels gpu
    python -m benchmarks.by_labels cpu

What `optimize_reductions` makes of an atomic update of elements that data names; results are
compared with NumPy's.  Least times of calls; on a GPU, by its clock, of several calls in a row.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import polygen as pg

Calls = Mapping[str, Callable[[], Any]]
ROUNDS, TIMES = 10, 10
MOST = 0.3  # seconds that are enough for a library


@dataclass(frozen=True)
class Case:
    """Rows that are added up by their labels.

    Attributes:
        count: how many there are.
        labels: how many labels there are.
        width: how long the rows are; 0 if they are numbers, and None if they are just counted.
        one: whether all have one and the same label.
        in_order: whether the result is to be the same in each run.
    """

    count: int
    labels: int
    width: int | None = None
    one: bool = False
    in_order: bool = False

    def __str__(self) -> str:
        what = {None: "counts", 0: "sums"}.get(self.width, f"rows of {self.width}")
        more = [", one label"] * self.one + [", in order"] * self.in_order
        return f"{self.count} {what}, {self.labels} labels{''.join(more)}"

    @property
    def dtype(self) -> str:
        """Return the type of the sums."""
        return "int32" if self.width is None else "float32"

    @property
    def row(self) -> tuple[int, ...]:
        """Return the shape of what has a label."""
        return (self.width,) if self.width else ()

    def data(self) -> dict[str, Any]:
        """Return the arrays: labels, what is added, and sums that are 0."""
        rng = np.random.default_rng(1)
        label = rng.integers(0, 1 if self.one else self.labels, self.count).astype(np.int32)
        found = {"label": label, "total": np.zeros((self.labels, *self.row), self.dtype)}
        if self.width is not None:
            found["x"] = rng.integers(-8, 9, (self.count, *self.row)).astype(np.float32)
        return found

    def right(self, data: Mapping[str, Any]) -> Any:
        """Return what NumPy finds: whole numbers, so that sums are the same in any order."""
        if self.width is None:
            return np.bincount(data["label"], minlength=self.labels)
        found = np.zeros_like(data["total"])
        np.add.at(found, data["label"], data["x"])
        return found

    def kernel(self, target: str) -> pg.Kernel:
        """Return what `optimize_reductions` makes of the loops as they are written."""
        columns, at = (f" and 0<=j<{self.width}", ",j") if self.width else ("", "")
        value = "1" if self.width is None else f"x[i{at}]"
        shapes = {"total": (self.labels, *self.row), "x": (self.count, *self.row)}
        arrays = [pg.GlobalArg("label", "int32", self.count)] + [
            pg.GlobalArg(name, self.dtype, shape)
            for name, shape in shapes.items()
            if name in f"total{value}"
        ]
        knl = pg.make_kernel(
            f"{{ [i{at}]: 0<=i<{self.count}{columns} }}",
            f"total[label[i]{at}] += {value}  {{atomic}}",
            arrays,
            name="by_label",
            target=target,
        )
        knl = pg.set_options(knl, deterministic=self.in_order)
        return pg.optimize_reductions(knl, pg.Limits.named("H200"))


CASES = (
    Case(1 << 24, 64),
    Case(1 << 24, 64, one=True),
    Case(1 << 24, 4096),
    Case(1 << 24, 1 << 20),
    Case(1 << 24, 64, 0),
    Case(1 << 24, 64, 0, in_order=True),
    Case(1 << 24, 4096, 0),
    Case(1 << 20, 16, 64),
    Case(1 << 20, 16, 64, in_order=True),
    Case(1 << 20, 1024, 64),
    Case(1 << 20, 1 << 17, 64),
)


def on_gpu(case: Case) -> tuple[Calls, Callable[[Callable[[], Any]], float], Callable[[Any], Any]]:
    """Return calls, what times them, and what copies results to the host."""
    torch, cupy, cupyx = (import_module(name) for name in ("torch", "cupy", "cupyx"))
    data = {name: torch.from_numpy(array).cuda() for name, array in case.data().items()}
    label, total, x = data["label"], data["total"], data.get("x")
    run = case.kernel("cuda").executor("cuda")

    def ours() -> Any:
        total.zero_()
        run(**data)
        return total

    def torchs() -> Any:
        if case.width is None:
            return torch.bincount(label, minlength=case.labels)
        total.zero_()
        return total.index_add_(0, label, x)

    def cupys() -> Any:
        if case.width is None:
            return cupy.bincount(cupy.asarray(label), minlength=case.labels)
        total.zero_()
        cupyx.scatter_add(cupy.asarray(total), cupy.asarray(label), cupy.asarray(x))
        return total

    def timed(call: Callable[[], Any]) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(TIMES):
            call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) * 1e3 / TIMES

    found: Calls = {"polygen": ours, "PyTorch": torchs, "CuPy": cupys}
    return found, timed, lambda array: cupy.asnumpy(cupy.asarray(array))


def on_processor(
    case: Case,
) -> tuple[Calls, Callable[[Callable[[], Any]], float], Callable[[Any], Any]]:
    """Return calls, what times them, and what copies results, which are there already."""
    data = case.data()
    label, total, x = data["label"], data["total"], data.get("x")
    run = case.kernel("c").executor("c")
    loop, threads = _numbas(), import_module("numba").get_num_threads()

    def ours() -> Any:
        total.fill(0)
        run(**data)
        return total

    def numpys() -> Any:
        if case.width is None:
            return np.bincount(label, minlength=case.labels)
        total.fill(0)
        np.add.at(total, label, data["x"])
        return total

    def numbas() -> Any:
        return loop(label, x, np.zeros((threads, *total.shape), total.dtype))

    def timed(call: Callable[[], Any]) -> float:
        start = time.perf_counter()
        call()
        return 1e6 * (time.perf_counter() - start)

    return {"polygen": ours, "NumPy": numpys, "Numba": numbas}, timed, np.array


def _numbas() -> Any:
    """Return loops over parts, with a copy of the sums for each thread."""
    numba = import_module("numba")
    jit: Callable[[Any], Any] = numba.njit(parallel=True)

    @jit
    def run(label: Any, x: Any, own: Any) -> Any:
        threads, part = len(own), -(-len(label) // len(own))
        for thread in numba.prange(threads):
            mine = own[thread]
            for i in range(thread * part, min(len(label), (thread + 1) * part)):
                if x is None:
                    mine[label[i]] += 1
                else:
                    mine[label[i]] += x[i]
        return own.sum(0)

    return run


def main(where: str) -> None:
    """Measure and print."""
    for case in CASES:
        calls, timed, copied = {"gpu": on_gpu, "cpu": on_processor}[where](case)
        right = case.right(case.data())
        times = dict.fromkeys(calls, float("inf"))
        for name, call in calls.items():
            if not np.array_equal(copied(call()), right):
                raise SystemExit(f"{case}: {name} is wrong")
        for name, call in calls.items():
            time.sleep(0.1)  # until the threads of another library sleep
            start = time.monotonic()
            for _ in range(ROUNDS):
                times[name] = min(times[name], timed(call))
                if time.monotonic() - start > MOST:
                    break
        shown = " | ".join(f"{name} {1e-3 * t:.3f}" for name, t in times.items())
        best = min(t for name, t in times.items() if name != "polygen")
        print(f"{case}: {shown} ms | {times['polygen'] / best:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
