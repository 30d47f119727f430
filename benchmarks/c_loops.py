"""What C gains by what polygen tells the compiler, beside the same text without it, and NumPy.

    OMP_NUM_THREADS=1 python benchmarks/c_loops.py

The text without it is that which polygen generates, less the lines of ``omp simd`` and the
declarations of functions of vectors; both are compiled alike and take turns.  Times are CPU time,
the least of several calls; matrices are 1024 x 1024, vectors of 2**20 numbers.
"""

from __future__ import annotations

import re
import runpy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import polygen as pg
from polygen.runtime.backends.c.c_function import load_function
from polygen.targets.programs.program import Program

N, LONG, CALLS = 1024, 1 << 20, 20
EXAMPLE = Path(__file__).parents[1] / "examples" / "sgemm.py"


def make(loops: str, text: str, tags: str, **options: Any) -> pg.Kernel:
    knl = pg.make_kernel(loops, text, target="c")
    return pg.set_options(pg.tag_inames(knl, tags) if tags else knl, **options)


def cases() -> Iterator[tuple[str, pg.Kernel, dict[str, Any], Callable[[dict[str, Any]], object]]]:
    """Yield a name, a kernel, arguments, and what NumPy does with them."""
    rng = np.random.default_rng(seed=1)
    a = rng.random((N, N), np.float32)
    x = rng.uniform(0.1, 3, LONG)
    plane, out = "{ [i,j]: 1<=i<n-1 and 1<=j<m-1 }", np.zeros_like(a)
    stencil = "out[i,j] = 0.25*(a[i-1,j] + a[i+1,j] + a[i,j-1] + a[i,j+1])"
    knl = pg.make_kernel(plane, stencil, [pg.GlobalArg("out", shape="n, m"), "..."], target="c")
    knl = pg.tag_inames(knl, "i: g.1, j: g.0")
    yield "5-point stencil", knl, {"a": a, "out": out}, _stencil
    knl = make("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i] = max(j, a[i,j])", "i: g.0")
    rows = np.zeros(N, np.float32)
    yield "greatest of rows", knl, {"a": a, "out": rows}, lambda d: d["a"].max(axis=1, out=d["out"])
    knl = make(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "out[i] = sum(j, a[i,j])", "i: g.0", vectorize_sums=True
    )
    yield "sums of rows", knl, {"a": a, "out": rows}, lambda d: d["a"].sum(axis=1, out=d["out"])
    for name, exact in (("exp", np.exp), ("log", np.log), ("sin", np.sin), ("tanh", np.tanh)):
        knl = make("{ [i]: 0<=i<n }", f"out[i] = {name}(x[i])", "i: g.0")
        for dtype in (np.float32, np.float64):
            vectors: dict[str, Any] = {"x": x.astype(dtype), "out": np.zeros(LONG, dtype)}
            yield f"{name}, {dtype.__name__}", knl, vectors, partial(_apply, exact)
    knl = runpy.run_path(str(EXAMPLE))["typed"]()
    matrices: dict[str, Any] = {"a": a, "b": a, "c": out}
    given = {**matrices, "alpha": np.float32(1), "beta": np.float32(0)}
    yield "examples/sgemm.py", knl, given, lambda d: np.matmul(d["a"], d["b"], out=d["c"])


def _apply(function: Callable[..., object], given: dict[str, Any]) -> None:
    function(given["x"], out=given["out"])


def _stencil(given: dict[str, Any]) -> None:
    a = given["a"]
    given["out"][1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def untold(program: Program) -> Program:
    """Return a program without what it tells the compiler of vectors."""
    source = re.sub(r"^ *#pragma omp simd.*\n|^__attribute__.*\n", "", program.source, flags=re.M)
    return replace(program, source=source.replace("parallel for simd", "parallel for"))


def calls(knl: pg.Kernel, given: dict[str, Any]) -> tuple[Callable[[], object], ...]:
    """Return calls of a kernel's function, as generated and without what it tells the compiler."""
    dtypes = {name: value.dtype for name, value in given.items()}
    program = pg.generate_code(pg.add_dtypes(knl, dtypes), "c")
    values: list[Any] = []
    sizes = {"n": N, "m": N, "l": N} if "x" not in given else {"n": LONG}
    for argument in program.arguments:
        value = given.get(argument.name, sizes.get(argument.name))
        values.append(value.ctypes.data if isinstance(value, np.ndarray) else value)
    functions = (load_function(untold(program)), load_function(program))
    return tuple(partial(function, *values) for function in functions)


def main() -> None:
    print(f"{'':24}{'untold, ms':>12}{'told, ms':>12}{'gain':>8}{'NumPy, ms':>12}")
    for name, knl, given, numpy in cases():
        timed: list[Callable[[], object]] = [*calls(knl, given), partial(numpy, given)]
        least = [float("inf")] * len(timed)
        for _ in range(CALLS):
            for position, call in enumerate(timed):
                start = time.process_time()
                call()
                least[position] = min(least[position], time.process_time() - start)
        before, after, peer = (1e3 * t for t in least)
        print(f"{name:24}{before:12.3f}{after:12.3f}{before / after:8.1f}{peer:12.3f}", flush=True)


if __name__ == "__main__":
    main()
