"""Prefix sums of a million numbers, by all groups of a GPU at once.

    python examples/scan.py

Each group finds out what its part comes to; a scan of these totals, much shorter, says what comes
before each part; then each group scans its part.  The same step, `split_scan`, does that to the
totals, which are still many, and to a part, in which each work item has four numbers.
"""

from typing import Any

import numpy as np

import polygen as pg

ITEMS, EACH = 256, 4
PART = ITEMS * EACH


def make_scan() -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=j<=i<n }",
        "b[i] = sum(j, a[j])",
        [pg.GlobalArg("a", alignment=16), pg.GlobalArg("b", alignment=16), "..."],
        name="scan",
    )
    return pg.add_dtypes(knl, {"a, b": np.float32})


def on_processors(knl: pg.Kernel) -> pg.Kernel:
    """Give a thread parts that fit into its cache."""
    knl = pg.split_scan(knl, "i", 4 * PART)
    return pg.tag_inames(knl, {"i_total": "g.0", "i_outer": "g.0"})


def in_groups(knl: pg.Kernel) -> pg.Kernel:
    """Give each group a part, and each work item four numbers of it."""
    knl = pg.split_scan(knl, "i", PART)
    knl = pg.split_scan(knl, "i_before", ITEMS)
    knl = pg.split_scan(knl, "i_inner", EACH, temporary_scope="local")
    groups = ("i_total", "i_before_total", "i_before_outer", "i_outer")
    items = ("j_before_total", "i_before_inner", "i_inner_total", "i_inner_before", "i_inner_outer")
    knl = pg.tag_inames(knl, {**dict.fromkeys(groups, "g.0"), **dict.fromkeys(items, "l.0")})
    knl = pg.split_iname(knl, "i_before_before", ITEMS, inner_tag="l.0")
    return pg.split_iname(knl, "j_total", ITEMS, outer_tag="unr", inner_tag="l.0")


def in_vectors(knl: pg.Kernel) -> pg.Kernel:
    """Load and store four numbers at once."""
    options: dict[str, Any] = {"vector_width": 4, "temporary_address_space": "private"}
    options["default_tag"] = None
    knl = pg.add_prefetch(knl, "a", "j_inner_total", within="writes:total_j_inner", **options)
    options["fetch_outer_inames"] = "i_outer, i_inner_outer"
    knl = pg.add_prefetch(knl, "a", "j_inner_inner, i_inner_inner", within="writes:b", **options)
    knl = pg.buffer_array(
        knl, "b", "i_inner_inner", default_tag=None, temporary_scope=pg.AddressSpace.PRIVATE
    )
    knl = pg.tag_inames(knl, {"b_store_0": "vec", "i_inner_inner": "unr"})
    return pg.index_set_split(knl, f"{PART}*i_outer + {PART} < n")  # no conditions in whole parts


def main() -> None:
    knl = make_scan()
    for kernel, target in ((on_processors(knl), "c"), (in_groups(knl), "opencl")):
        for n in (0, 1, PART - 1, PART + 1, 2**20):
            a = np.random.default_rng(n).integers(-9, 10, n).astype(np.float32)
            (b,) = kernel.executor(target)(a=a)[1]
            np.testing.assert_array_equal(b, np.cumsum(a))
        print(f"{target}: as NumPy")
    source = pg.generate_code(in_vectors(in_groups(knl)), "cuda").source
    print(source.rpartition('extern "C"')[2])


if __name__ == "__main__":
    main()
