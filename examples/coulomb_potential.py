"""The potential of charges in space, at many points.

    python examples/coulomb_potential.py

Each work item has one point.  A group copies 64 charges at a time to its local memory, one an item,
with their places; then each item goes through them.
"""

from typing import Any

import numpy as np

import polygen as pg

ITEMS = 64


def make_potential() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        """
        <> x = point[i, 0]
        <> y = point[i, 1]
        <> z = point[i, 2]
        dx(j) := source[j, 0] - x
        dy(j) := source[j, 1] - y
        dz(j) := source[j, 2] - z
        potential[i] = sum(j, source[j, 3] * rsqrt(dx(j)*dx(j) + dy(j)*dy(j) + dz(j)*dz(j)))
        """,
        [pg.GlobalArg("point", shape="n, 3"), pg.GlobalArg("source", shape="m, 4"), "..."],
        name="coulomb",
    )


def prefetched() -> pg.Kernel:
    """Return one whose groups go through the charges in tiles."""
    knl = pg.split_iname(make_potential(), "i", ITEMS, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "j", ITEMS)
    knl = pg.prioritize_loops(knl, "j_outer, j_inner")
    knl = pg.add_prefetch(
        knl,
        "source",
        "j_inner",
        dim_arg_names=["load", "part"],
        fetch_outer_inames="i_outer, j_outer",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
    )
    knl = pg.tag_inames(knl, {"load": "l.0", "part": "unr"})
    return pg.separate_full_tiles(knl, "j_inner")


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
    knl = prefetched()
    print(pg.generate_code(pg.add_dtypes(knl, {"point, source": np.float32}), "opencl"))
    for target in ("opencl", "c"):
        for n, m in ((1, 1), (64, 128), (100, 131)):
            check(knl, target, n, m)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
