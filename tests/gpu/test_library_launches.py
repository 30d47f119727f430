"""Calls of cuBLAS, cuSOLVER and cuFFT on a GPU, compared with NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import LibraryInGraph, NotPositiveDefinite, SingularMatrix
from tests.gpu.test_cuda import cupy, torch
from tests.nvidia.test_library_launches import powers
from tests.oracle.cases import kernel
from tests.routines import CASES, Case
from tests.runtime.backends.c.test_numerical_libraries import SIZES, TYPES, padded


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values(case: Case) -> None:
    """Each routine, with all types and layouts; arrays are copied to the GPU and back."""
    types = TYPES[1::2] if case.routine == "fft" else TYPES
    for dtype, sizes in itertools.product(types, SIZES):
        case.check(case.kernel, dtype, sizes, target="cuda", move=cupy.asarray)
    for dtype, order in itertools.product(types, (padded("C"), padded("F"), np.asfortranarray)):
        case.check(case.kernel, dtype, (30, 40, 50), order, target="cuda", move=cupy.asarray)


def expected(a: Any, x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = a @ x
        x /= np.abs(x).sum()
    return x


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_a_time_loop(library: str) -> None:
    """On the current stream of the arrays' library, and on streams that calls name."""
    run, rng = powers().executor("cuda"), np.random.default_rng(0)
    a, x = rng.random((500, 500)), rng.random(500)

    def there(values: Any) -> Any:
        if library == "cupy":
            return cupy.asarray(values)
        return torch.tensor(values, device="cuda")

    matrix = there(a)
    streams = [cupy.cuda.Stream(non_blocking=True), torch.cuda.Stream()]
    cupy.cuda.Device().synchronize()
    for stream in (None, *streams):
        found = there(x)
        cupy.cuda.Device().synchronize()
        event, _ = run(stream, a=matrix, x=found, T=30)
        event.wait()
        np.testing.assert_allclose(
            np.array(found.tolist(), np.float64), expected(a, x, 30), rtol=1e-11
        )


def test_handles_are_on_the_current_stream() -> None:
    """What stands before the call on a stream is over when the library reads it."""
    text = 'c = library("gemm", a, b)'
    knl = kernel("{ : }", text, *(pg.GlobalArg(n, np.float32, shape="n, n") for n in "abc"))
    run, n = knl.executor("cuda"), 3000
    with torch.cuda.stream(torch.cuda.Stream()):
        a = torch.ones((n, n), device="cuda")
        b, c = torch.ones_like(a), torch.empty_like(a)
        for k in range(20):
            b.fill_(k)
            run(a=a, b=b, c=c)
            c.mul_(2)
            assert float(c[7, 9]) == 2 * k * n


def test_what_fails() -> None:
    data = [pg.GlobalArg(name, np.float64, shape="n, n") for name in "ab"]
    factor = kernel("{ : }", 'a = library("potrf", a)', data[0]).executor("cuda")
    with pytest.raises(NotPositiveDefinite, match="leading minor of 1 rows"):
        factor(a=cupy.asarray(-np.eye(3)))
    solve = kernel("{ : }", 'a, p, b = library("gesv", a, b)', *data).executor("cuda")
    with pytest.raises(SingularMatrix, match="a pivot of 0, at 1"):
        solve(a=cupy.ones((2, 2)), b=cupy.eye(2))
    found: Any = solve(a=cupy.asarray([[0.0, 1], [2, 1]]), b=cupy.eye(2))[1]
    _, b, p = found
    np.testing.assert_array_equal(p.get(), [1, 1])
    np.testing.assert_allclose(b.get(), np.array([[-0.5, 0.5], [1, 0]]), atol=1e-15)


def test_graphs_of_users_are_refused() -> None:
    run, a, x = powers().executor("cuda"), cupy.eye(3), cupy.ones(3)
    run(a=a, x=x, T=1)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            with pytest.raises(LibraryInGraph, match="it calls gemv"):
                run(a=a, x=x, T=1)
        finally:
            stream.end_capture()
    run(a=a, x=x, T=2)
    np.testing.assert_allclose(x.get(), np.full(3, 1 / 3))
