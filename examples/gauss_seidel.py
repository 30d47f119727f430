"""Gauss-Seidel sweeps over a plane, in place and in parallel.

    python examples/gauss_seidel.py

Each element needs those above and to the left of it as the same sweep left them, so that no loop is
parallel.  The diagonals are; so are the diagonals of tiles, of which there are fewer.
"""

import numpy as np
from numpy.typing import NDArray

import polygen as pg

TILE = 8


def make_sweep() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j]: 1<=i<n-1 and 1<=j<m-1 }",
        "a[i, j] = (a[i-1, j] + a[i+1, j] + a[i, j-1] + a[i, j+1]) / 4",
        [pg.GlobalArg("a", np.float64, "n, m"), "..."],
        name="sweep",
        loop_priority="i, j",
    )


def in_waves() -> pg.Kernel:
    """Return a sweep in which the elements of a diagonal are computed at once."""
    return pg.wavefront(make_sweep(), "i", "j")


def in_waves_of_tiles() -> pg.Kernel:
    """Return one in which the tiles of a diagonal are, and those without guards are apart."""
    tiles = pg.wavefront(pg.tile(make_sweep(), {"i": TILE, "j": TILE}), "i_outer", "j_outer")
    return pg.separate_full_tiles(tiles, "i_inner, j_inner")


def swept(a: NDArray[np.float64]) -> NDArray[np.float64]:
    a = a.copy()
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4
    return a


def main() -> None:
    print(pg.generate_code(in_waves_of_tiles(), "opencl"))
    for knl in (make_sweep(), in_waves(), in_waves_of_tiles()):
        for target in ("c", "opencl"):
            run = knl.executor(target)
            for n, m in ((1, 1), (3, 4), (18, 18), (23, 37)):
                a = np.random.default_rng(seed=n).normal(size=(n, m))
                _, (found,) = run(a=a.copy())
                np.testing.assert_allclose(found, swept(a), rtol=1e-13)
    print("All sweeps agree.")


if __name__ == "__main__":
    main()
