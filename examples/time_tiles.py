"""Jacobi's iteration in tiles of time and space, which use cells several times while they are near.

    python examples/time_tiles.py

A cell at one time needs its neighbours at the time before.  With the loop over cells skewed, none
of these lie in a later tile, and tiles along a wave are independent of each other.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

import polygen as pg

STEPS, CELLS = 8, 512


def make_jacobi() -> pg.Kernel:
    return pg.make_kernel(
        "{ [t, i]: 0<=t<steps and 1<=i<n-1 }",
        "a[t+1, i] = (a[t, i-1] + a[t, i] + a[t, i+1]) / 3",
        [pg.GlobalArg("a", shape="steps+1, n"), "..."],
        name="jacobi",
        loop_priority="t, i",
        assumptions="steps >= 1 and n >= 3",
    )


def in_time_tiles() -> pg.Kernel:
    """Return one that goes from tile to tile, all of a wave at once."""
    knl = pg.skew(make_jacobi(), "t", "i", 1)
    knl = pg.tile(knl, {"t": STEPS, "i": CELLS})
    return pg.wavefront(knl, "t_outer", "i_outer")


def iterated(a: NDArray[np.float64]) -> NDArray[np.float64]:
    a = a.copy()
    for now, then in itertools.pairwise(a):
        then[1:-1] = (now[:-2] + now[1:-1] + now[2:]) / 3
    return a


def check(knl: pg.Kernel, target: str, steps: int, n: int) -> None:
    a = np.random.default_rng(seed=n).normal(size=(steps + 1, n))
    a[1:, (0, -1)] = a[0, (0, -1)]  # the ends are fixed
    _, (found,) = knl.executor(target)(a=a.copy())
    np.testing.assert_allclose(found, iterated(a), rtol=1e-13)


def main() -> None:
    knl = in_time_tiles()
    print(pg.generate_code(pg.add_dtypes(knl, {"a": np.float32}), "c"))
    for target in ("c", "opencl"):
        for steps, n in ((1, 3), (8, 512), (21, 1500)):
            check(knl, target, steps, n)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
