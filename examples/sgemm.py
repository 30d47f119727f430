"""Matrix product: tiles in local memory, and smaller ones in the registers of each work item.

    python examples/sgemm.py

A group of 8 x 8 work items computes 32 x 32 elements of c, 4 x 4 of them an item.  It copies a tile
of a and one of b to local memory, each element once.  For each k, an item reads 4 elements of each
tile, and uses each of them 4 times.
"""

import numpy as np

import polygen as pg

TILE, ITEMS, DEPTH = 32, 8, 8
MULTIPLES = f"n mod {TILE} = 0 and m mod {TILE} = 0 and l mod {DEPTH} = 0"


def make_sgemm() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        """
        for i, j
            <> acc = 0  {id=clear}
            for k
                acc = acc + a[i, k]*b[k, j]  {id=add, dep=clear}
            end
            c[i, j] = alpha*acc + beta*c[i, j]  {id=store, dep=add}
        end
        """,
        name="sgemm",
    )


def tiled() -> pg.Kernel:
    """Cut c into tiles for groups, these for items: neighbours next to each other."""
    knl = make_sgemm()
    for iname, axis in (("i", 1), ("j", 0)):
        knl = pg.split_iname(knl, iname, TILE, outer_tag=f"g.{axis}")
        knl = pg.split_iname(
            knl,
            f"{iname}_inner",
            ITEMS,
            outer_iname=f"{iname}_part",
            inner_iname=f"{iname}_item",
            inner_tag=f"l.{axis}",
        )
    return pg.prioritize_loops(pg.split_iname(knl, "k", DEPTH), "k_outer, k_inner")


def with_registers() -> pg.Kernel:
    """Let an item add to all of its elements for each k: the loops over them go inside."""
    knl = pg.privatize_temporaries_with_inames(tiled(), "i_part, j_part")
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, "i_part, j_part", within=f"id:{insn}", suffix=f"_{insn}")
        knl = pg.prioritize_loops(knl, f"i_part_{insn}, j_part_{insn}")
    knl = pg.prioritize_loops(knl, "k_outer, k_inner, i_part, j_part")
    return pg.tag_inames(knl, "i_part: unr, j_part: unr, i_part_*: unr_hint, j_part_*: unr_hint")


def prefetched() -> pg.Kernel:
    """Let the items of a group load tiles of a and b together, and each what it needs of these."""
    knl = with_registers()
    group = "i_outer, j_outer, k_outer"
    for array, swept in (("a", "i_part, i_item, k_inner"), ("b", "k_inner, j_part, j_item")):
        knl = pg.add_prefetch(
            knl, array, swept, temporary_name=f"{array}_tile", fetch_outer_inames=group
        )
    item = f"{group}, k_inner, i_item, j_item"
    for array, swept in (("a", "i_part"), ("b", "j_part")):
        knl = pg.add_prefetch(
            knl,
            f"{array}_tile",
            swept,
            temporary_name=f"{array}_own",
            fetch_outer_inames=item,
            default_tag="unr",
        )
    return knl


def typed() -> pg.Kernel:
    """Return the product of matrices of which tiles are all full."""
    return pg.add_dtypes(pg.assume(prefetched(), MULTIPLES), {"a, b, c, alpha, beta": np.float32})


def check(knl: pg.Kernel, target: str, n: int, m: int, l: int) -> None:  # noqa: E741
    rng = np.random.default_rng(seed=n)
    # Sums of small integers: there is nothing to round.
    a, b, c = (
        rng.integers(-9, 9, size=shape).astype(np.float32) for shape in ((n, l), (l, m), (n, m))
    )
    _, (found,) = knl.executor(target)(
        a=a, b=b, c=c.copy(), alpha=np.float32(2), beta=np.float32(3)
    )
    np.testing.assert_array_equal(found, 2 * (a @ b) + 3 * c)


def main() -> None:
    knl, whole = prefetched(), typed()
    print(pg.generate_code(whole, "opencl"))
    for target in ("opencl", "c"):
        for n, m, l in ((1, 1, 1), (31, 33, 7), (40, 64, 17)):  # noqa: E741
            check(knl, target, n, m, l)
        check(whole, target, 64, 32, 24)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
