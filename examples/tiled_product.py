"""Matrix product in tiles, as nested loops for a CPU and on the grid of a GPU.

    python examples/tiled_product.py

Where a tile does not divide the size of a matrix, the generated code has guards, or bounds of loops
in C; where it does, and the kernel says so, it has none.
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


def in_loops() -> pg.Kernel:
    """Return a product that works on one tile of each matrix at a time, one element after another.

    It starts from zeros and adds to them, so that the loop over k can be outside of those over
    the elements of a tile.
    """
    knl = pg.make_kernel(
        [
            "{ [i0, j0]: 0<=i0<n and 0<=j0<m }",
            "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }",
        ],
        """
        c[i0, j0] = 0 {id=clear}
        c[i, j] = c[i, j] + a[i, k] * b[k, j] {id=add, dep=clear}
        """,
        name="product",
    )
    for iname in "ijk":
        knl = pg.split_iname(knl, iname, TILE)
    knl = pg.prioritize_loops(knl, "i0, j0")
    knl = pg.prioritize_loops(knl, "i_outer, j_outer, k_outer, i_inner, k_inner, j_inner")
    return pg.tag_inames(knl, {"i0": "g.0", "i_outer": "g.0"})


def on_the_grid() -> pg.Kernel:
    """Return a product in which a group computes a tile, and a work item an element of it."""
    knl = pg.split_iname(make_product(), "i", TILE, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", TILE, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", TILE)
    return pg.prioritize_loops(knl, "k_outer, k_inner")


def check(knl: pg.Kernel, target: str, n: int, m: int, l: int) -> None:  # noqa: E741
    rng = np.random.default_rng(seed=n)
    a = rng.normal(size=(n, l)).astype(np.float32)
    b = rng.normal(size=(l, m)).astype(np.float32)
    _, (c,) = knl.executor(target)(a=a, b=b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    print(f"  {n} x {l} times {l} x {m}: as NumPy")


def main() -> None:
    for knl, target in ((in_loops(), "c"), (on_the_grid(), "opencl")):
        typed = pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})
        whole = pg.assume(typed, f"n mod {TILE} = 0 and m mod {TILE} = 0 and l mod {TILE} = 0")
        print(f"{target}, any size:\n{pg.generate_code(typed, target=target)}")
        check(knl, target, 64, 96, 80)
        check(knl, target, 65, 31, 50)
        print(f"{target}, sizes that {TILE} divides:\n{pg.generate_code(whole, target=target)}")
        check(whole, target, 64, 96, 80)


if __name__ == "__main__":
    main()
