"""The kernels' arguments: what is read, and where results go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

Data: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[], Any]
"""Does the work once, and returns the result."""

_PAGE = 1 << 21
_APART = 11 * 64  # bytes between places in a page


def saxpy(rng: np.random.Generator, n: int = 1 << 24) -> Data:
    x, y = rng.random((2, n), dtype=np.float32)
    return {"a": np.float32(1e-3), "x": x, "out": y}


def triad(rng: np.random.Generator, n: int = 1 << 23) -> Data:
    b, c = rng.random((2, n))
    return {"b": b, "c": c, "s": 3.0, "out": np.zeros_like(b)}


def stencil_5(rng: np.random.Generator, n: int = 3000) -> Data:
    a = rng.random((n, n))
    return {"a": a, "out": np.zeros_like(a)}


def stencil_27(rng: np.random.Generator, n: int = 160) -> Data:
    a = rng.random((n, n, n))
    # By how many subscripts differ from the middle's.
    return {"a": a, "w": np.array([0.5, 0.05, 0.01, 0.005]), "out": np.zeros_like(a)}


def softmax(rng: np.random.Generator, n: int = 4096, m: int = 1024) -> Data:
    x = rng.normal(size=(n, m)).astype(np.float32)
    return {"x": x, "out": np.zeros_like(x)}


def csr_product(rng: np.random.Generator, n: int = 1 << 17, most: int = 48) -> Data:
    lengths = rng.integers(1, most, size=n)
    rowptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    count = int(rowptr[-1])
    return {
        "rowptr": rowptr,
        "columns": rng.integers(0, n, size=count).astype(np.int32),
        "values": rng.random(count),
        "x": rng.random(n),
        "out": np.zeros(n),
    }


def syrk(rng: np.random.Generator, n: int = 512, m: int = 512) -> Data:
    c = np.tril(rng.random((n, n)))
    return {"a": rng.random((n, m)), "alpha": 1.5, "beta": 0.999, "out": c}


def jacobi_2d(rng: np.random.Generator, n: int = 1024, steps: int = 20) -> Data:
    a = rng.random((n, n))
    return {"steps": steps, "out": a, "b": a.copy()}


def heat_3d(rng: np.random.Generator, n: int = 100, steps: int = 20) -> Data:
    a = rng.random((n, n, n))
    return {"steps": steps, "out": a, "b": a.copy()}


def floyd_warshall(rng: np.random.Generator, n: int = 448) -> Data:
    start = rng.integers(1, 1000, size=(n, n)).astype(np.int32)
    start[rng.random((n, n)) < 0.9] = 1 << 20  # no edge
    np.fill_diagonal(start, 0)
    return {"start": start, "out": start.copy()}


def black_scholes(rng: np.random.Generator, n: int = 1 << 19) -> Data:
    return {
        "price": rng.uniform(10, 50, n),
        "strike": rng.uniform(10, 50, n),
        "years": rng.uniform(1, 2, n),
        "rate": 0.1,
        "volatility": 0.2,
        "out": np.zeros(n),
        "put": np.zeros(n),
    }


def mandelbrot(rng: np.random.Generator, n: int = 400, m: int = 480) -> Data:
    del rng
    x, y = np.linspace(-2.25, 0.75, m), np.linspace(-1.25, 1.25, n)
    return {"x": x, "y": y, "limit": 100, "out": np.zeros((n, m), np.int32)}


def product_32(rng: np.random.Generator, n: int = 1024) -> Data:
    a, b = rng.random((2, n, n), dtype=np.float32)
    return {"a": a, "b": b, "out": np.zeros_like(a)}


def product_64(rng: np.random.Generator, n: int = 768) -> Data:
    a, b = rng.random((2, n, n))
    return {"a": a, "b": b, "out": np.zeros_like(a)}


KERNELS: dict[str, Callable[..., Data]] = {
    f.__name__: f
    for f in (
        saxpy,
        triad,
        stencil_5,
        stencil_27,
        softmax,
        csr_product,
        syrk,
        jacobi_2d,
        heat_3d,
        floyd_warshall,
        black_scholes,
        mandelbrot,
        product_32,
        product_64,
    )
}


def arguments(kernel: str, *sizes: int) -> Data:
    """Return the arguments of a kernel: the same ones in each process, each array at its own place.

    Parameters:
        kernel: its name.
        sizes: others than those that are measured.
    """
    found = KERNELS[kernel](np.random.default_rng(seed=1), *sizes)
    arrays = [name for name, value in found.items() if isinstance(value, np.ndarray)]
    return found | {name: placed(found[name], at) for at, name in enumerate(arrays)}


def placed(array: np.ndarray[Any, Any], at: int = 0) -> Any:
    """Return a copy that begins at a large page, but for some cache lines.

    So each library gets large pages.  Processors take a read for one of what was just written if
    both are at one place of their pages: arrays are not.
    """
    room = np.empty(array.nbytes + _PAGE, np.uint8)
    start = (at * _APART - room.ctypes.data) % _PAGE
    result = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result
