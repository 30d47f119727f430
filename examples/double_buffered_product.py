"""Matrix product with double buffering: the next tiles are loaded during the computation.

    python examples/double_buffered_product.py

Each work item computes 4 x 4 elements of the result.  A group loads tiles of both factors to its
local memory, four elements at once, a tile ahead of the one that it multiplies: so it waits once
for each tile.  In CUDA, the loads are asynchronous copies (cp.async).  Room at the ends of rows
keeps work items that read together in different banks.
"""

import numpy as np

import polygen as pg

TILE, DEPTH, OWN = 32, 8, 4


def make_product() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        "c[i, j] = sum(k, a[i, k] * b[k, j])",
        [
            pg.GlobalArg("a", np.float32, "n, l"),
            pg.GlobalArg("b", np.float32, "l, m"),
            pg.GlobalArg("c", np.float32, "n, m"),
            "...",
        ],
        name="product",
        assumptions=f"n mod {TILE} = 0 and m mod {TILE} = 0 and l mod {DEPTH} = 0",
    )


def in_tiles(knl: pg.Kernel) -> pg.Kernel:
    """Return the product with an axis of groups and of work items for rows and columns."""
    knl = pg.split_iname(knl, "i", TILE, outer_tag="g.1")
    knl = pg.split_iname(knl, "j", TILE, outer_tag="g.0")
    knl = pg.split_iname(knl, "i_inner", OWN, outer_tag="l.1", inner_tag="ilp")
    knl = pg.split_iname(knl, "j_inner", OWN, outer_tag="l.0", inner_tag="ilp")
    return pg.split_iname(knl, "k", DEPTH)


def prefetched(knl: pg.Kernel) -> pg.Kernel:
    """Return the product with tiles that are loaded in vectors, one ahead."""
    rows, columns = "i_inner_outer, i_inner_inner", "j_inner_outer, j_inner_inner"
    knl = pg.add_prefetch(knl, "a", f"{rows}, k_inner", vector_width=4, asynchronous=True)
    knl = pg.add_prefetch(knl, "b", f"k_inner, {columns}", vector_width=4, asynchronous=True)
    return pg.double_buffer(knl, "a_fetch, b_fetch", "k_outer")


def show_conflicts(knl: pg.Kernel) -> None:
    for name in ("a_fetch", "b_fetch"):
        for access in pg.bank_conflicts(knl, name):
            done = "writes" if access.is_write else "reads"
            print(f"  {access.insn_id} {done} {access.access}: {access.ways} at a time")


def check(knl: pg.Kernel, target: str, n: int, m: int, l: int) -> None:  # noqa: E741
    rng = np.random.default_rng(seed=n)
    a = rng.integers(-9, 9, size=(n, l)).astype(np.float32)
    b = rng.integers(-9, 9, size=(l, m)).astype(np.float32)
    _, (c,) = knl.executor(target)(a=a, b=b)
    # Sums of small integers: there is nothing to round.
    np.testing.assert_array_equal(c, a @ b)


def main() -> None:
    knl = prefetched(in_tiles(make_product()))
    print("Words of one bank that work items ask for, before:")
    show_conflicts(knl)
    knl = pg.add_bank_padding(knl, "a_fetch, b_fetch")
    print("and with room at the ends of rows:")
    show_conflicts(knl)
    print(pg.generate_code(knl, "opencl"))
    for target in ("opencl", "c"):
        for n, m, l in ((0, 32, 8), (32, 32, 0), (32, 64, 8), (64, 32, 40)):  # noqa: E741
            check(knl, target, n, m, l)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
