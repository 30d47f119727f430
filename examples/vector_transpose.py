"""Matrix transpose with vectors of four elements: memory is accessed along rows only.

    python examples/vector_transpose.py

A group reads a tile in rows, and writes it in rows of the other matrix.  A work item gathers the
four elements that it writes from a column of the tile in local memory.
"""

import numpy as np

import polygen as pg

TILE, LANES, DOWN = 64, 4, 16


def make_transpose() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[j, i] = a[i, j]",
        [
            pg.GlobalArg("a", "float32", "n, m", alignment=16),
            pg.GlobalArg("out", "float32", "m, n", alignment=16),
            "...",
        ],
        name="transpose",
        assumptions=f"n mod {TILE} = 0 and m mod {TILE} = 0",
    )


def in_vectors() -> pg.Kernel:
    """Let each work item read and write four neighbours, in four rows of a tile."""
    knl = pg.split_iname(make_transpose(), "i", TILE, outer_tag="g.1")
    knl = pg.split_iname(knl, "j", TILE, outer_tag="g.0")
    knl = pg.add_prefetch(
        knl,
        "a",
        "i_inner, j_inner",
        dim_arg_names=("row", "column"),
        temporary_name="tile",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
        vector_width=LANES,
    )
    knl = pg.split_iname(knl, "row", DOWN, outer_tag="unr", inner_tag="l.1")
    knl = pg.split_iname(pg.tag_inames(knl, "column_outer: l.0"), "j_inner", DOWN, outer_tag="unr")
    knl = pg.split_iname(knl, "i_inner", LANES, outer_tag="l.0", inner_tag="vec")
    knl = pg.add_prefetch(
        pg.tag_inames(knl, "j_inner_inner: l.1"),
        "tile",
        "i_inner_inner",
        fetch_outer_inames="i_outer, j_outer, i_inner_outer, j_inner_outer, j_inner_inner",
        temporary_name="own",
        temporary_address_space=pg.AddressSpace.PRIVATE,
        default_tag="unr",
    )
    return pg.add_bank_padding(knl, "tile")


def check(knl: pg.Kernel, target: str, n: int, m: int) -> None:
    a = np.random.default_rng(seed=n).normal(size=(n, m)).astype(np.float32)
    _, (found,) = knl.executor(target)(a=a)
    np.testing.assert_array_equal(found, a.T)


def main() -> None:
    knl = in_vectors()
    print(pg.generate_code(knl, "opencl"))
    for target in ("opencl", "c"):
        for n, m in ((64, 64), (64, 192)):
            check(knl, target, n, m)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
