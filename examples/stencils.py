"""The heat equation on a plate and in a block: stencils with tiles and halos in local memory.

    python examples/stencils.py

The group of a tile copies what the tile needs, one cell more on each side.  In a block, a tile goes
through the layers one after the other.
"""

import numpy as np
import scipy.ndimage
from numpy.typing import NDArray

import polygen as pg

ROWS, COLUMNS = 8, 32


def make_plate() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        """
        <> middle = u[i+1, j+1]
        <> around = u[i, j+1] + u[i+2, j+1] + u[i+1, j] + u[i+1, j+2]
        out[i, j] = middle + rate*(around - 4*middle)
        """,
        name="plate",
    )


def make_block() -> pg.Kernel:
    return pg.make_kernel(
        "{ [h, i, j]: 0<=h<l and 0<=i<n and 0<=j<m }",
        """
        <> middle = u[h+1, i+1, j+1]
        <> layers = u[h, i+1, j+1] + u[h+2, i+1, j+1]
        <> around = u[h+1, i, j+1] + u[h+1, i+2, j+1] + u[h+1, i+1, j] + u[h+1, i+1, j+2]
        out[h, i, j] = middle + rate*(layers + around - 6*middle)
        """,
        name="block",
    )


def with_halos(knl: pg.Kernel) -> pg.Kernel:
    """Give a tile to each group, and a copy of it with a rim."""
    knl = pg.split_iname(knl, "i", ROWS, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", COLUMNS, outer_tag="g.0", inner_tag="l.0")
    return pg.add_prefetch(knl, "u", "i_inner, j_inner", default_tag="l.auto")


def flowed(u: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return what SciPy's Laplacian makes of the inner cells."""
    inner = (slice(1, -1),) * u.ndim
    change = scipy.ndimage.laplace(u)[inner]
    return np.asarray(u[inner] + rate * change)


def check(knl: pg.Kernel, target: str, shape: tuple[int, ...]) -> None:
    u = np.random.default_rng(seed=1).normal(size=shape)
    _, (found,) = knl.executor(target)(u=u, rate=0.1)
    np.testing.assert_allclose(found, flowed(u, 0.1), rtol=1e-12, atol=1e-14)


def main() -> None:
    plate, block = with_halos(make_plate()), with_halos(make_block())
    for knl in (plate, block):
        print(pg.generate_code(pg.add_dtypes(knl, {"u, rate": np.float32}), "opencl"))
    for target in ("opencl", "c"):
        for n, m in ((3, 3), (10, 34), (21, 45)):
            check(plate, target, (n, m))
            check(block, target, (5, n, m))
        print(f"{target}: as SciPy")


if __name__ == "__main__":
    main()
