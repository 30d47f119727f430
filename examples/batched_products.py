"""Batched products of small matrices: each group computes several.

    python examples/batched_products.py

The items of a group copy its matrices to local memory together, 16 bytes at a time, in the order in
which they lie in memory.  Then each computes a few rows of some columns of a result.
"""

import numpy as np

import polygen as pg

ITEMS = 128  # of a group
OWN = {  # how many rows and columns of a result a work item has
    "float32": {4: (1, 4), 8: (1, 4), 16: (4, 4), 32: (4, 4)},
    "float64": {4: (1, 4), 8: (1, 4), 16: (2, 2), 32: (4, 2)},
}


def make_products(size: int, dtype: str) -> pg.Kernel:
    return pg.make_kernel(
        f"{{ [e, i, j, k]: 0<=e<n and 0<=i,j,k<{size} }}",
        "c[e, i, j] = sum(k, a[e, i, k]*b[e, k, j])",
        [*(pg.GlobalArg(x, dtype, f"n, {size}, {size}", alignment=16) for x in "abc"), "n"],
        name="products",
    )


def group_of(size: int, dtype: str) -> tuple[int, int, int]:
    """Return how many work items are across a matrix, down, and how many matrices a group has."""
    rows, columns = OWN[dtype][size]
    across, down = size // columns, size // rows
    return across, down, max(1, ITEMS // (across * down))


def lanes(dtype: str) -> int:
    """Return how many numbers are 16 bytes."""
    return 16 // np.dtype(dtype).itemsize


def in_groups(size: int, dtype: str) -> pg.Kernel:
    """Give some rows and columns of a result to a work item; a group reads its matrices once."""
    rows, columns = OWN[dtype][size]
    knl = make_products(size, dtype)
    knl = pg.split_iname(knl, "e", group_of(size, dtype)[2], outer_tag="g.0", inner_tag="l.2")
    knl = pg.split_iname(knl, "i", rows, outer_tag="l.1", inner_tag="ilp")
    knl = pg.split_iname(knl, "j", columns, outer_tag="l.0")
    knl = pg.split_iname(knl, "j_inner", lanes(dtype), outer_tag="ilp", inner_tag="vec")
    knl = copied(knl, "a", "e_inner, i_outer, i_inner, k", size, dtype)
    knl = copied(knl, "b", "e_inner, k, j_outer, j_inner_outer, j_inner_inner", size, dtype)
    return pg.prioritize_loops(pg.split_iname(knl, "k", 4, inner_tag="unr"), "k_outer, k_inner")


def copied(knl: pg.Kernel, name: str, swept: str, size: int, dtype: str) -> pg.Kernel:
    """Copy the matrices of a group to local memory: item after item takes the next 16 bytes."""
    across, down, matrices = group_of(size, dtype)
    axes, copy = tuple(f"{name}_{axis}" for axis in ("matrix", "row", "column")), f"{name}_copy"
    knl = pg.add_prefetch(
        knl,
        name,
        swept,
        dim_arg_names=axes,
        fetch_outer_inames="e_outer",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
    )
    knl = pg.join_inames(knl, [axis for axis in axes if axis in knl.inames], copy)
    knl = pg.split_iname(knl, copy, lanes(dtype), inner_tag="vec")
    knl = pg.split_iname(knl, f"{copy}_outer", across * down * matrices, outer_tag="unr")
    item = f"{copy}_outer_inner"
    knl = pg.split_iname(knl, item, across * down, outer_tag="l.2", inner_iname=f"{copy}_item")
    return pg.split_iname(knl, f"{copy}_item", across, outer_tag="l.1", inner_tag="l.0")


def check(knl: pg.Kernel, target: str, n: int, size: int, dtype: str) -> None:
    rng = np.random.default_rng(seed=n)
    # Sums of small integers: there is nothing to round.
    a, b = rng.integers(-9, 9, size=(2, n, size, size)).astype(dtype)
    _, (found,) = knl.executor(target)(a=a, b=b)
    np.testing.assert_array_equal(found, a @ b)


def main() -> None:
    for size, dtype in ((8, "float32"), (16, "float64")):
        knl = in_groups(size, dtype)
        print(pg.generate_code(knl, "opencl"))
        for target in ("opencl", "c"):
            for n in (0, 1, 8, 21):
                check(knl, target, n, size, dtype)
            print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
