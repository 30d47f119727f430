"""The softmax of rows: one launch reads and writes each element once, if rows fit.

    python examples/softmax.py

Three instructions go along a row: the largest element, the sum of the powers, and the results, in
each of which both are needed.  Work items of a group share a row, in vectors, and keep in registers
what they read and the powers: so there is one pass over memory.  Short rows are several to a group;
long ones have up to eight blocks of work items, which are a cluster, or are read three times.
"""

import numpy as np

import polygen as pg

BYTES = 16  # that a work item reads at once
BLOCKS = 8  # of a cluster, at most


def make_softmax(m: int, dtype: str) -> pg.Kernel:
    """Return the softmax of rows of `m` elements; halves are added up as floats."""
    knl = pg.make_kernel(
        "{ [i, j, k, l]: 0<=i<n and 0<=j,k,l<m }",
        f"""
        power(at) := exp(cast(float32, x[i, at]) - most)
        <> most = max(j, cast(float32, x[i, j]))    {{id=most}}
        <> total = sum(k, power(k))                 {{id=total}}
        <> scale = 1/total
        y[i, l] = cast({dtype}, power(l)*scale)     {{id=divide}}
        """,
        [pg.GlobalArg("x, y", dtype, shape="n, m", alignment=BYTES), "..."],
        name="softmax",
    )
    return pg.fix_parameters(knl, m=m)


def shared(m: int, dtype: str) -> dict[str, int]:
    """Return how rows are shared: four vectors for a work item, of short rows two.

    Up to 32 elements (64 halves) are in its registers.  A cluster of blocks keeps longer rows, up
    to eight of 1024 work items.  What is longer still is read anew by each instruction, four
    vectors at a time.
    """
    lanes = BYTES // np.dtype(dtype).itemsize
    items = max(1, min(m // ((2 if m <= 256 else 4) * lanes), 1024))
    if m <= 32 * items:
        return {"threads": items, "lanes": lanes, "across": 1 if items >= 64 else 128 // items}
    if m > BLOCKS * 8 * lanes * 1024:
        return {"threads": items, "lanes": lanes, "ahead": 4}
    items = 32 * -(-m // (BLOCKS * 4 * lanes * 32))  # whole warps
    if items <= 512:  # several blocks on a multiprocessor: some load while others compute
        return {"threads": items, "lanes": lanes, "blocks": BLOCKS}
    return {"threads": 1024, "lanes": lanes, "blocks": -(-m // (8 * lanes * 1024))}


def recipe(m: int, dtype: str = "float32") -> pg.Kernel:
    how = shared(m, dtype)
    keep = "x" if "ahead" in how else "power, x"
    knl = make_softmax(m, dtype)
    knl = pg.share_rows(knl, ["most", "total", "divide"], keep=keep, **how)
    return pg.set_options(knl, clusters="blocks" in how)


def check(m: int, dtype: str, target: str) -> None:
    x = np.random.default_rng(m).normal(size=(5, m)).astype(dtype)
    _, (y,) = recipe(m, dtype).executor(target)(x=x)
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=1e-5 if dtype == "float32" else 2e-3, atol=1e-6)


def main() -> None:
    print(pg.generate_code(recipe(1024), "cuda"))
    for m, dtype in ((128, "float32"), (1000, "float32"), (128, "float16"), (40000, "float16")):
        check(m, dtype, "c")
        print(f"rows of {m} of {dtype}: as NumPy")


if __name__ == "__main__":
    main()
