"""A histogram: each group counts in its own local memory, then all groups add up their counts.

    python examples/histogram.py

Many work items may come to one bin at the same time, so that they add atomically.  Most of that
happens in local memory, which is fast at it; a group adds each of its bins to the result once.
"""

import numpy as np

import polygen as pg

BINS, ITEMS, EACH = 64, 64, 32  # numbers that a work item counts, four in a row at a time


def make_histogram() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        <> bin = data[i]
        count[bin] += 1  {atomic}
        """,
        [
            pg.GlobalArg("count", np.int32, BINS),
            pg.GlobalArg("data", np.int32, alignment=16),
            "...",
        ],
        name="histogram",
    )


def in_groups(knl: pg.Kernel) -> pg.Kernel:
    """Give a part of the data to each group, which has bins of its own."""
    knl = pg.split_iname(knl, "i", ITEMS * EACH, outer_iname="part", outer_tag="g.0")
    return pg.privatize_atomics(knl, "count", "part")


def on_the_gpu(knl: pg.Kernel) -> pg.Kernel:
    """Let each work item load four numbers at once."""
    knl = pg.split_iname(in_groups(knl), "i_inner", 4, inner_iname="lane")
    knl = pg.split_iname(knl, "i_inner_outer", ITEMS, inner_tag="l.0")
    knl = pg.add_prefetch(
        knl,
        "data",
        "lane",
        vector_width=4,
        temporary_address_space=pg.AddressSpace.PRIVATE,
        default_tag=None,
    )
    # Parts that are whole have no conditions.
    whole = f"{ITEMS * EACH}*part + {ITEMS * EACH} <= n"
    return pg.index_set_split(pg.tag_inames(knl, {"lane": "unr"}), whole)


def main() -> None:
    knl = make_histogram()
    for kernel, target in ((in_groups(knl), "c"), (on_the_gpu(knl), "opencl")):
        for n in (0, 1, ITEMS * EACH, 10007):
            data = np.random.default_rng(n).binomial(BINS - 1, 0.3, size=n).astype(np.int32)
            count = np.zeros(BINS, np.int32)
            kernel.executor(target)(data=data, count=count)
            np.testing.assert_array_equal(count, np.bincount(data, minlength=BINS))
        print(f"{target}: as NumPy")
    print(pg.generate_code(in_groups(knl), "opencl"))


if __name__ == "__main__":
    main()
