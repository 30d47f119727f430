"""Tiles of products on the tensor cores of a GPU, beside cuBLAS: the recipe of tensor_product.py.

    python -m benchmarks.tensor_core_tiles [float64] [n]

Types are float64, float16, and float32, which cuBLAS does not round to TF32.  For each shape:
milliseconds, times of cuBLAS's, and the largest difference from its result.  What
`polygen.optimize` knows of tiles was measured with this.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from os import cpu_count

import polygen as pg
from benchmarks.on_device import Cuda
from examples.tensor_product import Shape, recipe
from polygen.errors import LaunchFailed


def shapes(dtype: str) -> Iterator[Shape]:
    """Yield the shapes that are tried."""
    if dtype == "float64":
        for depth, step in ((16, 16), (16, 8), (16, 4), (32, 16)):
            yield Shape(128, 128, depth, (2, 4), step, 1)
            yield Shape(128, 128, depth, (4, 2), step, 1)
            yield Shape(128, 128, depth, (4, 4), step, 1)
            yield Shape(128, 128, depth, (2, 8), step, 1)
            yield Shape(128, 64, depth, (2, 2), step, 2)
            yield Shape(64, 128, depth, (1, 4), step, 2)
            yield Shape(64, 64, depth, (1, 2), step, 4)
            yield Shape(32, 64, depth, (1, 2), step, 4)
            yield Shape(32, 32, depth, (1, 2), step, 4)
        return
    depths = (16, 32) if dtype == "float32" else (32, 64, 128)
    for depth in depths:
        step = 8 if dtype == "float32" else depth
        yield Shape(128, 128, depth, (2, 2), step, 2 if depth < 128 else 1)
        yield Shape(128, 128, depth, (2, 4), step, 1)
        yield Shape(128, 128, depth, (4, 4), step, 1)
        yield Shape(128, 256, depth, (2, 4), step, 1)
        yield Shape(256, 128, depth, (4, 2), step, 1)
        yield Shape(256, 128, depth, (4, 4), step, 1)
        yield Shape(128, 256, depth, (2, 8), step, 1)
        yield Shape(64, 128, depth, (1, 4), step, 1)
        yield Shape(64, 64, depth, (1, 2), step, 1)
        yield Shape(32, 32, depth, (1, 2), step, 1)


def made(shape: Shape, dtype: str, n: int) -> pg.Kernel | None:
    """Return a product, compiled; None if the device has no room for its tiles."""
    import cupy  # noqa: PLC0415  (only where it is used)

    warnings.simplefilter("ignore")
    knl = pg.set_options(recipe(dtype, shape, n=n, m=n, l=n), allow_tf32=True)
    a, b = (cupy.ones((n, n), dtype) for _ in range(2))
    try:
        knl.executor("cuda")(a=a, b=b)
    except LaunchFailed:
        return None
    return knl


def main() -> None:
    warnings.simplefilter("ignore")
    dtype = next((x for x in sys.argv[1:] if not x.isdigit()), "float64")
    n = next((int(x) for x in sys.argv[1:] if x.isdigit()), 4096)
    device = Cuda()
    cupy = device.cupy
    print(device.name, dtype, n)
    a, b = (cupy.asarray(cupy.random.rand(n, n) * 9 - 4).round().astype(dtype) for _ in range(2))
    c = cupy.empty((n, n), dtype)
    theirs = device.milliseconds(partial(cupy.matmul, a, b, out=c))
    print(f"cuBLAS {theirs:.3f} ms, {2 * n**3 / theirs / 1e9:.1f} TFLOP/s")
    tried = list(shapes(dtype))
    with ProcessPoolExecutor(min(14, cpu_count() or 1), get_context("spawn")) as pool:
        kernels = list(pool.map(made, tried, repeat(dtype), repeat(n)))
    found = []
    for shape, knl in zip(tried, kernels, strict=True):
        out = cupy.zeros_like(c)
        if knl is None:
            continue
        run = knl.executor("cuda")
        ours = device.milliseconds(partial(lambda run, out: run(a=a, b=b, c=out)[0], run, out))
        error = float(abs(out - c).max())
        found.append((ours, shape, error))
    for ours, shape, error in sorted(found, key=lambda x: x[0]):
        print(f"{ours:8.3f} ms {ours / theirs:6.2f}  error {error:g}  {shape}", flush=True)


if __name__ == "__main__":
    main()
