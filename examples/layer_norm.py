"""Layer normalisation of rows: one launch reads and writes each element once, if rows fit.

    python examples/layer_norm.py

The mean of a row has to be there before the squares of what differs from it are added up, and both
before the first result.  Work items of a group share a row and keep their parts of it in registers,
so that neither the second pass along the row nor the third reads it again.  Rows that are too long
for that are read twice: both sums are computed in one pass.
"""

from typing import Any

import numpy as np

import polygen as pg

BYTES = 16  # that a work item reads at once
BLOCKS = 8  # of a cluster, at most
EPSILON = 1e-5


def arrays(dtype: str) -> list[Any]:
    return [
        pg.GlobalArg("x, y", dtype, shape="n, m", alignment=BYTES),
        pg.GlobalArg("weight, bias", dtype, shape="m", alignment=BYTES),
        "...",
    ]


def make_layer_norm(m: int, dtype: str) -> pg.Kernel:
    """Return the normalisation of rows of `m` elements; halves are added up as floats."""
    knl = pg.make_kernel(
        "{ [i, j, k, l]: 0<=i<n and 0<=j,k,l<m }",
        f"""
        e(at) := cast(float32, x[i, at])
        <> mean = sum(j, e(j))/{m}                        {{id=mean}}
        <> variance = sum(k, (e(k) - mean)**2)/{m}        {{id=variance}}
        <> scale = rsqrt(variance + {EPSILON})
        y[i, l] = cast({dtype}, (e(l) - mean)*scale*weight[l] + bias[l])  {{id=store}}
        """,
        arrays(dtype),
        name="layer_norm",
    )
    return pg.fix_parameters(knl, m=m)


def make_in_one_pass(m: int, dtype: str) -> pg.Kernel:
    """Return the same of long rows: both sums at once, of what differs from the first element.

    Where that is near the mean, the square of the mean takes few digits off that of the squares.
    """
    knl = pg.make_kernel(
        "{ [i, j, k, l]: 0<=i<n and 0<=j,k,l<m }",
        f"""
        e(at) := cast(float32, x[i, at])
        <> shift = cast(float32, x[i, 0])
        <> first = sum(j, e(j) - shift)/{m}               {{id=first}}
        <> second = sum(k, (e(k) - shift)**2)/{m}         {{id=second}}
        <> mean = shift + first
        <> scale = rsqrt(max(second - first*first, 0.0f) + {EPSILON})
        y[i, l] = cast({dtype}, (e(l) - mean)*scale*weight[l] + bias[l])  {{id=store}}
        """,
        arrays(dtype),
        name="layer_norm",
        assumptions="m >= 1",
    )
    return pg.fuse_reductions(pg.fix_parameters(knl, m=m), ["first", "second"])


def shared(m: int, dtype: str) -> dict[str, int]:
    """Return how rows are shared: four vectors for a work item, of short rows two.

    Up to 32 elements (64 halves) are in its registers.  A cluster of as few blocks as that takes
    keeps longer rows, for each block reads the weights of its part.  What is longer still is read
    anew by each instruction, four vectors at a time.
    """
    lanes = BYTES // np.dtype(dtype).itemsize
    items = max(1, min(m // ((2 if m <= 256 else 4) * lanes), 1024))
    if m <= 32 * items:
        return {"threads": items, "lanes": lanes, "across": 1 if items >= 64 else 128 // items}
    blocks = -(-m // (8 * lanes * 1024))
    if blocks <= BLOCKS:
        return {"threads": items, "lanes": lanes, "blocks": blocks}
    return {"threads": items, "lanes": lanes, "ahead": 4}


def recipe(m: int, dtype: str = "float32") -> pg.Kernel:
    how = shared(m, dtype)
    is_long = "ahead" in how or how.get("blocks", 1) > 1
    make = make_in_one_pass if is_long else make_layer_norm
    sums = ["first", "second"] if is_long else ["mean", "variance"]
    knl = pg.share_rows(make(m, dtype), [*sums, "store"], keep="x", **how)
    return pg.set_options(knl, clusters=how.get("blocks", 1) > 1)


def check(m: int, dtype: str, target: str) -> None:
    rng = np.random.default_rng(m)
    x = rng.normal(loc=3, size=(5, m)).astype(dtype)
    weight, bias = rng.normal(size=(2, m)).astype(dtype)
    _, (y,) = recipe(m, dtype).executor(target)(x=x, weight=weight, bias=bias)
    x64 = x.astype(np.float64)
    normal = (x64 - x64.mean(axis=1, keepdims=True)) / np.sqrt(
        x64.var(axis=1, keepdims=True) + EPSILON
    )
    tolerance = 1e-5 if dtype == "float32" else 4e-3
    np.testing.assert_allclose(y, normal * weight + bias, rtol=tolerance, atol=tolerance)


def main() -> None:
    print(pg.generate_code(recipe(1024), "cuda"))
    for m, dtype in ((128, "float32"), (1000, "float32"), (128, "float16"), (40000, "float16")):
        check(m, dtype, "c")
        print(f"rows of {m} of {dtype}: as NumPy")


if __name__ == "__main__":
    main()
