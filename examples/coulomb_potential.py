"""The Coulomb potential of point charges, at many points.

    python examples/coulomb_potential.py

Each work item has four points.  A group copies 128 charges at a time to its local memory, one an
item, with their places; then each item goes through them.
"""

from typing import Any

import numpy as np

import polygen as pg

ITEMS, OWN, UNROLLED = 128, 4, 32


def make_potential() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        """
        dx(i, j) := source[j, 0] - point[i, 0]
        dy(i, j) := source[j, 1] - point[i, 1]
        dz(i, j) := source[j, 2] - point[i, 2]
        squared(i, j) := dx(i, j)*dx(i, j) + dy(i, j)*dy(i, j) + dz(i, j)*dz(i, j)
        potential[i] = sum(j, source[j, 3] * native_rsqrt(squared(i, j)))
        """,
        [
            pg.GlobalArg("point", "float32", "n, 3"),
            pg.GlobalArg("source", "float32", "m, 4", alignment=16),
            "...",
        ],
        name="coulomb",
    )


def prefetched(unrolled: int = UNROLLED) -> pg.Kernel:
    """Return one whose groups go through the charges in tiles."""
    knl = pg.split_iname(make_potential(), "i", ITEMS * OWN, outer_tag="g.0")
    knl = pg.split_iname(
        knl, "i_inner", ITEMS, outer_iname="own", inner_iname="item", outer_tag="ilp"
    )
    knl = pg.tag_inames(knl, "item: l.0")
    knl = pg.add_prefetch(
        knl,
        "point",
        "own",
        fetch_outer_inames="i_outer, item",
        temporary_address_space=pg.AddressSpace.PRIVATE,
        default_tag="unr",
    )
    knl = pg.prioritize_loops(pg.split_iname(knl, "j", ITEMS), "j_outer, j_inner")
    knl = pg.add_prefetch(
        knl,
        "source",
        "j_inner",
        dim_arg_names=("load", "part"),
        fetch_outer_inames="i_outer, j_outer",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
        temporary_name="tile",
        vector_width=4,
    )
    knl = pg.tag_inames(knl, "load: l.0")
    knl = pg.split_iname(knl, "j_inner", unrolled, inner_tag="unr")
    knl = pg.separate_full_tiles(knl, "j_inner_outer, j_inner_inner")
    return pg.set_options(knl, resident_groups=8)


def expected(point: Any, source: Any) -> Any:
    distance = np.linalg.norm(point[:, None, :] - source[None, :, :3], axis=-1)
    return (source[:, 3] / distance).sum(axis=1)


def check(knl: pg.Kernel, target: str, n: int, m: int) -> None:
    rng = np.random.default_rng(seed=n)
    point = rng.uniform(0, 1, size=(n, 3))
    source = rng.uniform(2, 3, size=(m, 4))  # none where a point is
    _, (found,) = knl.executor(target)(
        point=point.astype(np.float32), source=source.astype(np.float32)
    )
    np.testing.assert_allclose(found, expected(point, source), rtol=1e-4)


def main() -> None:
    knl = prefetched(unrolled=4)
    print(pg.generate_code(pg.add_dtypes(knl, {"point, source": np.float32}), "opencl"))
    for target in ("opencl", "c"):
        for n, m in ((1, 1), (64, 128), (100, 131)):
            check(knl, target, n, m)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
