"""Tiled kernels on one thread, each beside the kernel that it was made of.

    OMP_NUM_THREADS=1 python -m benchmarks.tiles           # all
    OMP_NUM_THREADS=1 python -m benchmarks.tiles product   # those with this in their names

Both forms are compiled by polygen, are called with the same arguments, and take turns; the least of
several CPU times counts, and results are compared.  Sizes are not multiples of the tiles, where the
kernel leaves that open.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import polygen as pg
from polygen.inspection.compare.random_arguments import random_arguments
from polygen.runtime.backends.c.c_function import load_function

EXAMPLES = Path(__file__).parents[1] / "examples"
FEWEST, CALLS = 3, 40  # calls of each form
SECONDS = 2.0  # after which there are no more than the fewest
GROUPS: dict[str, Any] = {"outer_tags": {"i": "g.1", "j": "g.0"}}
ON_GRID: dict[str, Any] = {**GROUPS, "inner_tags": {"i": "l.1", "j": "l.0"}}


class Case(NamedTuple):
    """A kernel and its tiled form, with the sizes of a call."""

    name: str
    plain: pg.Kernel
    tiled: pg.Kernel
    sizes: dict[str, Any]


def from_examples() -> Iterator[Case]:
    """Yield the examples that cut loops into tiles, each beside what it starts from."""

    def case(file: str, plain: str, tiled: str, **sizes: Any) -> Case:
        found = runpy.run_path(str(EXAMPLES / f"{file}.py"))
        return Case(f"{file}: {tiled}", found[plain](), found[tiled](), sizes)

    small = {"n": 509, "m": 509, "l": 509}
    fitting = {"n": 512, "m": 512, "l": 512}
    for tiled in ("in_loops", "on_the_grid"):
        yield case("tiled_product", "make_product", tiled, **small)
    for tiled in ("tiled", "with_registers", "prefetched"):
        yield case("sgemm", "make_sgemm", tiled, **small)
    yield case("prefetched_product", "make_product", "prefetched", **small)
    double = runpy.run_path(str(EXAMPLES / "double_buffered_product.py"))
    product = double["make_product"]()
    buffered = double["prefetched"](double["in_tiles"](product))
    yield Case("double_buffered_product: prefetched", product, buffered, fitting)
    yield case("gauss_seidel", "make_sweep", "in_waves_of_tiles", n=1999, m=1999)
    yield case("time_tiles", "make_jacobi", "in_time_tiles", steps=100, n=19_999)
    yield case("n_body", "make_forces", "prefetched", n=2999)
    yield case("coulomb_potential", "make_potential", "prefetched", n=2999, m=2999)
    yield case("local_transpose", "make_transpose", "through_local_memory", n=1999, m=1999)
    view = {"width": 299, "height": 299, "left": -2.0, "top": 1.2, "step": 0.009}
    yield case("mandelbrot", "make_mandelbrot", "on_the_grid", **view)
    yield case("saxpy", "make_saxpy", "in_groups", n=999_999)
    stencils = runpy.run_path(str(EXAMPLES / "stencils.py"))
    for name, sizes in (
        ("plate", {"n": 1999, "m": 1999}),
        ("block", {"l": 99, "n": 199, "m": 199}),
    ):
        plain = stencils[f"make_{name}"]()
        yield Case(f"stencils: {name} with_halos", plain, stencils["with_halos"](plain), sizes)
    demo = runpy.run_path(str(EXAMPLES / "demo.py"))
    plain = demo["make_diffusion"]()
    yield Case("demo: for_a_gpu", plain, demo["for_a_gpu"](plain), {"n": 1999, "m": 1999})


def element_wise() -> Iterator[Case]:
    """Yield a kernel that does nothing but read and write, and a sweep, in tiles of all kinds."""
    doubled = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }", "o[i,j] = 2*a[i,j]", loop_priority="i,j"
    )
    plane = {"n": 1999, "m": 1999}
    for rows, columns in ((64, 64), (16, 16), (8, 8), (8, 256)):
        sizes = {"i": rows, "j": columns}
        name = f"2*a, {rows} x {columns}"
        yield Case(name, doubled, pg.tile(doubled, sizes), plane)
        yield Case(f"{name}, groups", doubled, pg.tile(doubled, sizes, **GROUPS), plane)
        yield Case(f"{name}, work items", doubled, pg.tile(doubled, sizes, **ON_GRID), plane)
    for length in (8, 64):
        tiled = pg.split_iname(doubled, "j", length)
        tiled = pg.prioritize_loops(tiled, "i, j_outer, j_inner")
        yield Case(f"2*a, rows in parts of {length}", doubled, tiled, plane)


def products() -> Iterator[Case]:
    """Yield products of matrices, as they are written and in place, in tiles in several orders."""
    square = "{ [i,j,k]: 0<=i,j,k<n }"
    summed = pg.make_kernel(square, "c[i,j] = sum(k, a[i,k]*b[k,j])", loop_priority="i,j")
    c = pg.GlobalArg("c", shape="n, n")
    text = "c[i,j] = c[i,j] + a[i,k]*b[k,j]  {inames=i:j:k}"
    in_place = {
        order: pg.make_kernel(square, text, [c, "..."], loop_priority=order)
        for order in ("i,j,k", "i,k,j")
    }
    size = {"n": 1000}
    for length in (16, 64):
        sizes = {"i": length, "j": length}
        yield Case(f"product, {length} x {length}", summed, pg.tile(summed, sizes), size)
        tiled = pg.split_iname(pg.tile(summed, sizes, **ON_GRID), "k", length)
        yield Case(f"product, {length} x {length} x {length}, work items", summed, tiled, size)
    yield packed()
    for order, plain in in_place.items():
        for inner in ("ijk", "ikj"):
            tiled = pg.tile(plain, dict.fromkeys(inner, 64))
            yield Case(f"product in place, {order}: 64^3, {','.join(inner)}", plain, tiled, size)
            tiled = pg.separate_full_tiles(tiled, "i_inner, j_inner, k_inner")
            name = f"product in place, {order}: 64^3, {','.join(inner)}, full tiles apart"
            yield Case(name, plain, tiled, size)


def packed() -> Case:
    """Return the product in vector registers beside loops in the order that suits vectors best."""
    recipe = runpy.run_path(str(EXAMPLES / "packed_product.py"))
    plain = pg.make_kernel(
        "{ [i0,j0,i,j,k]: 0<=i0,i<n and 0<=j0,j<m and 0<=k<l }",
        """
        out[i0,j0] = 0  {id=clear}
        out[i,j] = out[i,j] + a[i,k]*b[k,j]  {id=add, dep=clear}
        """,
        name="product",
    )
    plain = pg.prioritize_loops(pg.prioritize_loops(plain, "i0, j0"), "i, k, j")
    tiled = recipe["on_the_processor"](np.float32, 1000)
    sizes = {"n": 1000, "m": 1024, "l": 1000}
    return Case("product, i,k,j: examples/packed_product.py", plain, tiled, sizes)


def cases() -> Iterator[Case]:
    yield from from_examples()
    yield from element_wise()
    yield from products()


def typed(case: Case) -> tuple[pg.Kernel, pg.Kernel]:
    """Return both forms with single precision for what has no type, sizes apart."""
    whole = {name for name, value in case.sizes.items() if isinstance(value, int)}
    open_ = [a.name for a in case.plain.arguments if a.dtype is None and a.name not in whole]
    dtypes = dict.fromkeys(open_, np.float32)
    return pg.add_dtypes(case.plain, dtypes), pg.add_dtypes(case.tiled, dtypes)


def call(knl: pg.Kernel, given: dict[str, Any]) -> Callable[[], object]:
    """Return a call of a kernel's function in C."""
    program = pg.generate_code(knl, "c")
    values = [given[argument.name] for argument in program.arguments]
    pointers = [v.ctypes.data if isinstance(v, np.ndarray) else v for v in values]
    return partial(load_function(program), *pointers)


def check(calls: Sequence[Callable[[], object]], given: dict[str, Any]) -> None:
    """Check that calls leave the same in all arrays, and leave these as they were."""
    arrays: dict[str, Any] = {n: v for n, v in given.items() if isinstance(v, np.ndarray)}
    before = {name: value.copy() for name, value in arrays.items()}
    results: list[dict[str, Any]] = []
    for each in calls:
        each()
        results.append({name: value.copy() for name, value in arrays.items()})
        for name, value in before.items():
            arrays[name][...] = value
    for name, value in results[0].items():
        np.testing.assert_allclose(results[1][name], value, rtol=1e-3, atol=1e-3)


def measured(case: Case) -> tuple[float, float]:
    """Return how long both forms take, in seconds."""
    plain, tiled = typed(case)
    given = random_arguments(plain, case.sizes)
    calls = call(plain, given), call(tiled, given)
    check(calls, given)
    least = [float("inf"), float("inf")]
    end = time.process_time() + SECONDS
    for turn in range(CALLS):
        for position, each in enumerate(calls):
            start = time.process_time()
            each()
            least[position] = min(least[position], time.process_time() - start)
        if turn >= FEWEST and time.process_time() > end:
            break
    return least[0], least[1]


def main() -> None:
    print(f"{'':62}{'untiled, ms':>12}{'tiled, ms':>12}{'ratio':>8}")
    for case in cases():
        if not all(word in case.name for word in sys.argv[1:]):
            continue
        before, after = (1e3 * t for t in measured(case))
        print(f"{case.name:62}{before:12.3f}{after:12.3f}{after / before:8.2f}", flush=True)


if __name__ == "__main__":
    main()
