"""The forces between all pairs of many bodies.

    python examples/n_body.py

Each work item has a body and goes through all others, 64 of which at a time are in local memory,
loaded by the items of a group together.
"""

from typing import Any

import numpy as np

import polygen as pg

ITEMS = 64


def make_forces() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        """
        for i
            <> px = x[i, 0]
            <> py = x[i, 1]
            <> pz = x[i, 2]
            <> fx = 0  {id=fx}
            <> fy = 0  {id=fy}
            <> fz = 0  {id=fz}
            for j
                <> dx = x[j, 0] - px  {id=dx}
                <> dy = x[j, 1] - py  {id=dy}
                <> dz = x[j, 2] - pz  {id=dz}
                <> near = rsqrt(dx*dx + dy*dy + dz*dz + softening)
                <> pull = mass[j]*near*near*near
                fx = fx + pull*dx  {id=add_fx, dep=fx}
                fy = fy + pull*dy  {id=add_fy, dep=fy}
                fz = fz + pull*dz  {id=add_fz, dep=fz}
            end
            force[i, 0] = fx  {dep=add_fx}
            force[i, 1] = fy  {dep=add_fy}
            force[i, 2] = fz  {dep=add_fz}
        end
        """,
        name="forces",
    )


def prefetched() -> pg.Kernel:
    """Let the items of a group load as many bodies as they are, and all go through these."""
    knl = pg.split_iname(make_forces(), "i", ITEMS, outer_tag="g.0", inner_tag="l.0")
    knl = pg.prioritize_loops(pg.split_iname(knl, "j", ITEMS), "j_outer, j_inner")
    knl = pg.add_prefetch(
        knl,
        "x",
        "j_inner",
        dim_arg_names=["load", "axis"],
        fetch_outer_inames="i_outer, j_outer",
        temporary_address_space=pg.AddressSpace.LOCAL,
        default_tag=None,
        within="id:dx or id:dy or id:dz",
    )
    knl = pg.tag_inames(knl, "load: l.0, axis: unr")
    return pg.add_prefetch(
        knl, "mass", "j_inner", fetch_outer_inames="i_outer, j_outer", default_tag="l.auto"
    )


def expected(x: Any, mass: Any, softening: float) -> Any:
    delta = x[None, :, :] - x[:, None, :]
    distance = np.sqrt((delta**2).sum(axis=-1) + softening)
    return (mass[None, :, None] * delta / distance[..., None] ** 3).sum(axis=1)


def check(knl: pg.Kernel, target: str, n: int) -> None:
    rng = np.random.default_rng(seed=n)
    x, mass = rng.normal(size=(n, 3)), rng.uniform(size=n)
    _, (found,) = knl.executor(target)(x=x, mass=mass, softening=0.01)
    np.testing.assert_allclose(found, expected(x, mass, 0.01), rtol=1e-9, atol=1e-12)


def main() -> None:
    knl = prefetched()
    print(pg.generate_code(pg.add_dtypes(knl, {"x, mass, softening": np.float32}), "opencl"))
    for target in ("opencl", "c"):
        for n in (1, 64, 100):
            check(knl, target, n)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
