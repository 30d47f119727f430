"""A fast Fourier transform (FFT): one kernel runs once for each stage of butterflies.

    python examples/fft_stages.py

This is Stockham's form: each stage reads one array and writes another, in an order that leaves the
result sorted in the end.
"""

import numpy as np
from numpy.typing import NDArray

import polygen as pg

ITEMS = 64


def make_stage() -> pg.Kernel:
    """Join transforms of length l, of which there are m for each half, to those of length 2*l."""
    return pg.make_kernel(
        "{ [j, k]: 0<=j<l and 0<=k<m }",
        f"""
        <> twiddle = cast(np.complex64, exp(-1j*({np.pi}*j/l)))
        <> even = x[0, k, j]
        <> odd = twiddle*x[1, k, j]
        y[k, 0, j] = even + odd
        y[k, 1, j] = even - odd
        """,
        name="stage",
    )


def on_the_grid() -> pg.Kernel:
    """Give each butterfly to a work item."""
    knl = pg.split_iname(make_stage(), "j", 8, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "k", 8, outer_tag="g.1", inner_tag="l.1")


def transformed(x: NDArray[np.complex64], knl: pg.Kernel, target: str) -> NDArray[np.complex64]:
    run = knl.executor(target)
    n, length = x.size, 1
    while length < n:
        count = n // (2 * length)
        _, (x,) = run(x=x.reshape(2, count, length))
        length *= 2
    return x.reshape(n)


def main() -> None:
    knl = on_the_grid()
    print(pg.generate_code(pg.add_dtypes(knl, {"x": np.complex64}), "opencl"))
    rng = np.random.default_rng(seed=1)
    for target in ("opencl", "c"):
        for n in (2, 8, 1024):
            x = (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(np.complex64)
            found = transformed(x, knl, target)
            np.testing.assert_allclose(found, np.fft.fft(x), rtol=1e-4, atol=1e-3)
        print(f"{target}: as NumPy")


if __name__ == "__main__":
    main()
