"""Matrix product on a CPU: tiles in vector registers, columns of b packed.

    python examples/packed_product.py

A thread takes a few vectors' width of columns of b, and copies them to a panel of its own, in the
order in which they are used.  For each tile of a few rows, the sums stay in registers: for each k,
a row of the panel is read once and used for all rows of the tile.
"""

from pathlib import Path

import numpy as np

import polygen as pg

# A number of registers for sums, one for each vector of the panel's row, one for an element of a.
ROWS, VECTORS = 6, 4


def vector_bytes() -> int:
    """Return how large this machine's vectors are: 64 bytes with AVX-512."""
    described = Path("/proc/cpuinfo")
    return 64 if described.exists() and "avx512f" in described.read_text() else 32


def make_product() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        """
        right(p, q) := b[p, q]
        for i, j
            <> acc = 0  {id=clear}
            for k
                acc = acc + a[i, k]*right(k, j)  {id=add, dep=clear}
            end
            out[i, j] = acc  {id=store, dep=add}
        end
        """,
        name="product",
    )


def tiled(knl: pg.Kernel, lanes: int, height: int = 64) -> pg.Kernel:
    """Cut the result into tiles, of which a thread takes some below each other.

    Parameters:
        knl: with sums over k in `acc`, by the instructions clear, add, store, of products with
            what the rule `right` says.
        lanes: how many numbers a vector has.
        height: how many tiles a thread takes at once.
    """
    knl = pg.split_iname(knl, "i", ROWS, inner_iname="i_row", outer_iname="i_tile")
    knl = pg.split_iname(knl, "j", VECTORS * lanes, outer_tag="g.1")
    knl = pg.separate_full_tiles(knl, "i_row")
    knl = pg.split_iname(knl, "i_tile", height, outer_tag="g.0")
    return pg.split_iname(knl, "j_inner", lanes, outer_iname="j_part", inner_iname="j_lane")


def in_registers(knl: pg.Kernel) -> pg.Kernel:
    """Add to all sums of a tile for each k: the loops over them go inside."""
    knl = pg.privatize_temporaries_with_inames(knl, "i_row, j_part, j_lane")
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, "i_row, j_part", within=f"id:{insn}", suffix=f"_{insn}")
        knl = pg.prioritize_loops(knl, f"i_row_{insn}, j_part_{insn}")
    knl = pg.prioritize_loops(knl, "j_outer, i_tile_outer, i_tile_inner, k, i_row, j_part")
    unrolled = "i_row: unr, j_part: unr, i_row_*: unr, j_part_*: unr"
    return pg.tag_inames(knl, f"{unrolled}, j_lane: vec")


def packed(knl: pg.Kernel) -> pg.Kernel:
    """Copy what a column of tiles needs of the right matrix, whose depth is a constant."""
    return pg.precompute(
        knl,
        "right",
        "k, j_part, j_lane",
        temporary_name="panel",
        precompute_outer_inames="j_outer, i_tile_outer",
        temporary_address_space="local",
        default_tag=None,
    )


def on_the_processor(dtype: type[np.float32 | np.float64], depth: int) -> pg.Kernel:
    """Return the product for matrices of a depth, and a number of columns that tiles divide."""
    lanes = vector_bytes() // np.dtype(dtype).itemsize
    knl = pg.fix_parameters(pg.add_dtypes(make_product(), {"a, b, out": dtype}), l=depth)
    knl = pg.assume(knl, f"m mod {VECTORS * lanes} = 0")
    return packed(in_registers(tiled(knl, lanes)))


def main() -> None:
    rng = np.random.default_rng(seed=1)
    for dtype in (np.float32, np.float64):
        knl = on_the_processor(dtype, depth=100)
        for n in (1, 6, 50):
            # Sums of small integers: there is nothing to round.
            a, b = (rng.integers(-9, 9, size=s) for s in ((n, 100), (100, 128)))
            _, (out,) = knl.executor("c")(a=a.astype(dtype), b=b.astype(dtype))
            np.testing.assert_array_equal(out, a @ b)
    print(pg.generate_code(knl, "c"))
    print("as NumPy")


if __name__ == "__main__":
    main()
