"""Many products of small matrices at once: each group has sixteen of them.

    python examples/batched_products.py

A work item has one element of a result; the matrices of a group are in local memory.
"""

import numpy as np

import polygen as pg

SIZE, BATCH = 4, 16


def make_products() -> pg.Kernel:
    return pg.make_kernel(
        f"{{ [e, i, j, k]: 0<=e<n and 0<=i,j,k<{SIZE} }}",
        "c[e, i, j] = sum(k, a[e, i, k]*b[e, k, j])",
        name="products",
    )


def in_groups() -> pg.Kernel:
    """Give each element of a result to a work item; a group reads its matrices once."""
    knl = pg.split_iname(make_products(), "e", BATCH, outer_tag="g.0", inner_tag="l.2")
    knl = pg.tag_inames(knl, "i: l.1, j: l.0, k: unr")
    knl = pg.add_prefetch(knl, "a", "e_inner, i, k", default_tag="l.auto")
    return pg.add_prefetch(knl, "b", "e_inner, k, j", default_tag="l.auto")


def check(knl: pg.Kernel, target: str, n: int) -> None:
    a, b = np.random.default_rng(seed=n).normal(size=(2, n, SIZE, SIZE))
    _, (found,) = knl.executor(target)(a=a, b=b)
    np.testing.assert_allclose(found, a @ b, rtol=1e-12, atol=1e-14)


def main() -> None:
    knl = in_groups()
    print(pg.generate_code(pg.add_dtypes(knl, {"a, b": np.float32}), "opencl"))
    for target in ("opencl", "c"):
        for n in (0, 1, 16, 37):
            check(knl, target, n)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
