"""Add a multiple of a vector to another: only the last group has guards.

    python examples/saxpy.py

Neighbouring work items read neighbouring elements.  Which group is the last one is asked once, and
all other groups run without further conditions.
"""

import numpy as np

import polygen as pg

ITEMS = 128
EACH = 4


def make_saxpy() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = alpha*x[i] + y[i]", name="saxpy")


def in_groups() -> pg.Kernel:
    """Return one in which a group has 512 elements, and a work item each 128th of them."""
    knl = pg.split_iname(make_saxpy(), "i", ITEMS * EACH, outer_iname="group", outer_tag="g.0")
    knl = pg.split_iname(
        knl, "i_inner", ITEMS, outer_iname="part", inner_iname="item", inner_tag="l.0"
    )
    knl = pg.tag_inames(knl, {"part": "unr"})
    return pg.separate_full_tiles(knl, "part, item")


def check(knl: pg.Kernel, target: str, n: int) -> None:
    rng = np.random.default_rng(seed=n)
    x, y = rng.normal(size=(2, n)).astype(np.float32)
    alpha = np.float32(1.5)
    _, (found,) = knl.executor(target)(alpha=alpha, x=x, y=y.copy(), n=n)
    np.testing.assert_allclose(found, alpha * x + y, rtol=1e-6, atol=1e-6)


def main() -> None:
    knl = in_groups()
    print(pg.generate_code(pg.add_dtypes(knl, {"x, y, alpha": np.float32}), "opencl"))
    for target in ("opencl", "c"):
        for n in (0, 1, 511, 512, 513, 2000):
            check(knl, target, n)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
