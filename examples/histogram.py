"""Count how often numbers occur: each group in its own memory, then all groups together.

    python examples/histogram.py

Many work items may come to one bin at the same time, so that they add atomically.  Most of that
happens in local memory, which is fast at it; a group adds each of its bins to the result once.
"""

import numpy as np

import polygen as pg

BINS, ITEMS, EACH = 64, 64, 1024


def make_histogram() -> pg.Kernel:
    return pg.make_kernel(
        [
            f"{{ [start]: 0<=start<{BINS} }}",
            f"{{ [part, clear, add]: 0<=part<parts and 0<=clear,add<{BINS} }}",
            f"{{ [i]: 0<=i<{EACH} }}",
        ],
        """
        total[start] = 0  {id=start}
        for part
            mine[clear] = 0  {id=clear}
            <> bin = data[part, i]  {id=bin}
            mine[bin] = mine[bin] + 1  {id=count, dep=clear:bin, inames=part:i, atomic}
            total[add] = total[add] + mine[add]  {id=add, dep=count:start, atomic}
        end
        """,
        [
            pg.GlobalArg("total", np.int32),
            pg.GlobalArg("data", np.int32),
            pg.TemporaryVariable("mine", np.int32, BINS, address_space=pg.AddressSpace.LOCAL),
            "...",
        ],
        name="histogram",
    )


def on_the_grid() -> pg.Kernel:
    """Give each part of the data to a group."""
    knl = pg.split_iname(make_histogram(), "i", ITEMS, inner_tag="l.0")
    return pg.tag_inames(knl, {"part": "g.0", "start": "l.0", "clear": "l.0", "add": "l.0"})


def main() -> None:
    knl = on_the_grid()
    print(pg.generate_code(knl, "opencl"))
    data = np.random.default_rng(seed=1).binomial(BINS - 1, 0.3, size=(5, EACH)).astype(np.int32)
    expected = np.bincount(data.ravel(), minlength=BINS)
    for target in ("opencl", "c"):
        _, (total,) = knl.executor(target)(data=data)
        np.testing.assert_array_equal(total, expected)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
