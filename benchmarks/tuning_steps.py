"""The steps of docs/tuning_for_a_gpu.md, one after the other, each beside what bounds it.

    python -m benchmarks.tuning_steps [product] [transposition] [stencil] [sum]

CUDA through CuPy.  The bounds are those of `polygen.roofline`, for the rates at which this device
copies, and carries out multiplications that are added to something.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.on_device import Cuda, copied_bytes_per_second, rate
from examples import (
    double_buffered_product,
    fast_product,
    local_transpose,
    prefetched_product,
    register_stencils,
    sgemm,
    vector_transpose,
)

N, SIDE, COUNT = 4096, 16384, 2**28


def on_the_grid(knl: pg.Kernel, columns: str, rows: str) -> pg.Kernel:
    """Return a kernel with a work item for each point; neighbours go along `columns`."""
    knl = pg.split_iname(knl, rows, 16, outer_tag="g.1", inner_tag="l.1")
    return pg.split_iname(knl, columns, 16, outer_tag="g.0", inner_tag="l.0")


def products() -> Iterator[tuple[str, pg.Kernel]]:
    """Yield the steps of a product of matrices, for sizes that tiles divide."""
    plain = prefetched_product.make_product()
    yield "an item an element, neighbours in a column", on_the_grid(plain, "i", "j")
    yield "neighbours in a row", on_the_grid(plain, "j", "i")
    yield "tiles of 16 x 16 in local memory", prefetched_product.prefetched()
    yield "4 x 4 elements an item, in registers", sgemm.prefetched()
    buffered = double_buffered_product
    ahead = buffered.prefetched(buffered.in_tiles(buffered.make_product()))
    yield "4 x 4, vectors, a tile ahead", ahead
    yield "and longer rows of tiles", pg.add_bank_padding(ahead, "a_fetch, b_fetch")
    yield "16 x 8 elements an item", fast_product.recipe("float32", fast_product.Shape())


def transpositions() -> Iterator[tuple[str, pg.Kernel]]:
    """Yield the steps of a transposition."""
    yield "an item an element", on_the_grid(local_transpose.make_transpose(), "j", "i")
    knl = local_transpose.through_local_memory()
    unpadded = pg.replay(knl.original or knl, knl.history[:-1])
    yield "through a tile in local memory", unpadded
    yield "a tile with longer rows", knl
    yield "four elements an item, as vectors", vector_transpose.in_vectors()


def stencils() -> Iterator[tuple[str, pg.Kernel]]:
    """Yield the steps of a stencil of five points."""
    plain = register_stencils.make_plate()
    yield "an item an element", on_the_grid(plain, "j", "i")
    halo = pg.add_prefetch(
        on_the_grid(plain, "j", "i"), "a", "i_inner, j_inner", default_tag="l.auto"
    )
    yield "tiles with a rim in local memory", halo
    yield "four columns an item, as vectors", register_stencils.plate(1, 512, 0)
    yield "and four rows", register_stencils.plate(4, 512, 0)
    yield "registers for two groups", register_stencils.plate()


def sums() -> Iterator[tuple[str, pg.Kernel]]:
    """Yield the steps of a sum."""
    plain = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[0] = sum(i, a[i])", [pg.GlobalArg("a", "float32", "n"), "..."]
    )
    yield "one group", pg.split_iname(plain, "i", 1024, inner_tag="l.0")
    yield (
        "1024 groups, two launches",
        pg.parallelize_reduction(plain, "insn", blocks=1024, threads=256, items=1),
    )
    sized = {"n": COUNT}
    h200 = pg.Limits.of_device()
    yield "as the model chooses", pg.optimize_reductions(plain, h200, sizes=sized)
    yield "as measured", pg.optimize_reductions(plain, h200, sizes=sized, tune=True)


class Steps:
    """Measures kernels one after the other."""

    def __init__(self, device: Cuda) -> None:
        self.device = device
        copied = copied_bytes_per_second(device, 2**28)
        added = rate(device, "t*s + r", "float32")
        self.limits = pg.Limits(copied, {"float32": 2 * added, "float64": added})
        print(
            f"{device.name}: {copied / 1e12:.2f} TB/s, {2 * added / 1e12:.1f} TFLOP/s", flush=True
        )

    def show(
        self,
        steps: Iterator[tuple[str, pg.Kernel]],
        sizes: Mapping[str, int],
        given: Mapping[str, Any],
        check: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        """Print the time of each kernel, and how much of the first one's bound it reaches."""
        bound: pg.Roofline | None = None
        for name, knl in steps:
            used = {x: v for x, v in given.items() if x in knl.variables}
            for written in set(used) & set(knl.writers):
                used[written][...] = 0
            self.device.call(knl, **used)
            assert check(used), name
            taken = self.device.milliseconds(partial(self.device.call, knl, **used), 10)
            if bound is None:
                types = {x: str(v.dtype) for x, v in used.items()}
                unknown = {x: t for x, t in types.items() if knl.variable(x).dtype is None}
                bound = pg.roofline(pg.add_dtypes(knl, unknown), self.limits, sizes)
                print(f"  bound by {bound.bound}: {bound.seconds * 1e3:.3f} ms", flush=True)
            share = 100 * bound.seconds / taken * 1e3
            print(f"  {name:42} {taken:9.3f} ms  {share:5.1f} %", flush=True)


def product(steps: Steps) -> None:
    """Measure products, beside cuBLAS."""
    cupy = steps.device.cupy
    a, b = (steps.device.random((N, N)) - 0.5 for _ in range(2))
    c, wanted = cupy.empty_like(a), a @ b
    given = {"a": a, "b": b, "c": c, "alpha": np.float32(1), "beta": np.float32(0)}

    def check(used: Mapping[str, Any]) -> bool:
        return float(abs(used["c"] - wanted).max() / abs(wanted).max()) < 1e-5

    print(f"product of matrices, n = {N}")
    multiples = "n mod 256 = 0 and m mod 256 = 0 and l mod 256 = 0"
    whole = ((name, pg.assume(knl, multiples)) for name, knl in products())
    steps.show(whole, {"n": N, "m": N, "l": N}, given, check)
    taken = steps.device.milliseconds(lambda: cupy.matmul(a, b, out=c))
    print(f"  cuBLAS {taken:.3f} ms")


def transposition(steps: Steps) -> None:
    """Measure transpositions."""
    a, out = (steps.device.random((SIDE, SIDE)) for _ in range(2))

    def check(used: Mapping[str, Any]) -> bool:
        return bool((used["out"] == used["a"].T).all())

    print(f"transposition, n = {SIDE}")
    whole = ((x, pg.assume(k, "n mod 64 = 0 and m mod 64 = 0")) for x, k in transpositions())
    steps.show(whole, {"n": SIDE, "m": SIDE}, {"a": a, "out": out}, check)


def stencil(steps: Steps) -> None:
    """Measure stencils."""
    a, out = steps.device.random((SIDE + 2, SIDE + 8)), steps.device.random((SIDE, SIDE))
    around = a[:-2, 4:-4] + a[2:, 4:-4] + a[1:-1, 3:-5] + a[1:-1, 5:-3]
    wanted = 0.25 * around - a[1:-1, 4:-4]

    def check(used: Mapping[str, Any]) -> bool:
        return float(abs(used["out"] - wanted).max()) < 1e-5

    print(f"stencil of five points, n = {SIDE}")
    whole = ((x, pg.assume(k, "n mod 16 = 0 and m mod 2048 = 0")) for x, k in stencils())
    steps.show(whole, {"n": SIDE, "m": SIDE}, {"a": a, "out": out}, check)


def sum_of_all(steps: Steps) -> None:
    """Measure sums."""
    a, out = steps.device.random((COUNT,)), steps.device.random((1,))
    wanted = float(a.sum(dtype="float64"))

    def check(used: Mapping[str, Any]) -> bool:
        return abs(float(used["out"][0]) - wanted) < 1e-4 * wanted

    print(f"sum of {COUNT}")
    steps.show(sums(), {"n": COUNT}, {"a": a, "out": out}, check)


PARTS = {
    "product": product,
    "transposition": transposition,
    "stencil": stencil,
    "sum": sum_of_all,
}


def main() -> None:
    """Measure the parts that are asked for, or all."""
    warnings.simplefilter("ignore")
    steps = Steps(Cuda())
    for name in sys.argv[1:] or PARTS:
        PARTS[name](steps)


if __name__ == "__main__":
    main()
