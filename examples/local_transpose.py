"""Matrix transpose through local memory: global memory is accessed along rows only.

    python examples/local_transpose.py

A group reads a tile row by row and writes it row by row; only in local memory does it go along a
column.  Its rows are longer there, so that the elements of a column are in different banks.
"""

import numpy as np

import polygen as pg

TILE = 16


def make_transpose() -> pg.Kernel:
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<m }", "out[j, i] = a[i, j]", name="transpose")
    return pg.add_dtypes(knl, {"a": np.float32})


def through_local_memory() -> pg.Kernel:
    knl = pg.split_iname(make_transpose(), "i", TILE, outer_tag="g.1", inner_tag="l.0")
    knl = pg.split_iname(knl, "j", TILE, outer_tag="g.0", inner_tag="l.1")
    knl = pg.add_prefetch(knl, "a", "i_inner, j_inner", default_tag="l.auto")
    return pg.add_bank_padding(knl, "a_fetch")


def check(knl: pg.Kernel, target: str, n: int, m: int) -> None:
    a = np.random.default_rng(seed=n).normal(size=(n, m)).astype(np.float32)
    _, (found,) = knl.executor(target)(a=a)
    np.testing.assert_array_equal(found, a.T)


def main() -> None:
    knl = through_local_memory()
    print(pg.generate_code(knl, "opencl"))
    for target in ("opencl", "c"):
        for n, m in ((0, 3), (1, 1), (16, 32), (37, 50)):
            check(knl, target, n, m)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
