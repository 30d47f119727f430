"""Matrix product in tiles that each work group prefetches to its local memory.

    python examples/prefetched_product.py

Each element of a tile is read from global memory once and used sixteen times.  The work items of a
group load a tile together, neighbours next to each other, and wait for each other twice a tile:
before it is used, and before the next one overwrites it.
"""

import numpy as np

import polygen as pg

TILE = 16


def make_product() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        "c[i, j] = sum(k, a[i, k] * b[k, j])",
        name="product",
    )


def prefetched() -> pg.Kernel:
    """Return a product in which a group computes a tile of c from tiles of a and b."""
    knl = pg.split_iname(make_product(), "i", TILE, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", TILE, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", TILE)
    knl = pg.add_prefetch(knl, "a", ["i_inner", "k_inner"], default_tag="l.auto")
    return pg.add_prefetch(knl, "b", ["k_inner", "j_inner"], default_tag="l.auto")


def check(knl: pg.Kernel, target: str, n: int, m: int, l: int) -> None:  # noqa: E741
    rng = np.random.default_rng(seed=n)
    a = rng.integers(-9, 9, size=(n, l)).astype(np.float32)
    b = rng.integers(-9, 9, size=(l, m)).astype(np.float32)
    _, (c,) = knl.executor(target)(a=a, b=b)
    # Sums of small integers: there is nothing to round.
    np.testing.assert_array_equal(c, a @ b)


def main() -> None:
    knl = prefetched()
    typed = pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})
    whole = pg.assume(typed, f"n mod {TILE} = 0 and m mod {TILE} = 0 and l mod {TILE} = 0")
    print(f"Any size:\n{pg.generate_code(typed, target='opencl')}")
    print(f"Sizes that {TILE} divides:\n{pg.generate_code(whole, target='opencl')}")
    for target in ("opencl", "c"):
        for n in (0, 1, TILE - 1, TILE, TILE + 1, 37):
            check(knl, target, n, n, n)
        check(knl, target, 33, 5, 50)
        check(whole, target, 32, 48, 16)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
