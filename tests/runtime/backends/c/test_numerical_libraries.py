"""BLAS and LAPACK on C: values beside NumPy's, layouts, sizes, and what fails."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    LibraryLayout,
    LibraryNotPossible,
    NoLibrary,
    NotPositiveDefinite,
    SingularMatrix,
)
from tests.oracle.cases import kernel
from tests.routines import CASES, Case

TYPES = (np.float64, np.complex64, np.float32, np.complex128)
SIZES = ((4, 5, 3), (1, 1, 1), (0, 2, 2), (2, 0, 2), (2, 2, 0), (1, 5, 2), (5, 1, 1))


def padded(order: Any) -> Callable[[Any], Any]:
    """Return what makes an array whose rows, or columns, are further apart than they are long."""

    def make(x: Any) -> Any:
        whole = np.zeros([extent + 2 for extent in x.shape], x.dtype, order=order)
        part = whole[tuple(slice(extent) for extent in x.shape)]
        part[...] = x
        return part

    return make


@pytest.mark.parametrize("number", range(0, len(CASES), 4))
def test_values(number: int) -> None:
    """One in four of the cases, a type for each, in turns; sizes 0 and 1."""
    check(number, SIZES if number % 8 == 0 else SIZES[::3])


@pytest.mark.more
@pytest.mark.parametrize("number", range(len(CASES)))
def test_all_values(number: int) -> None:
    check(number, SIZES)
    for order in "CF":
        CASES[number].check(CASES[number].kernel, dtype_of(number), (3, 4, 5), padded(order))


def dtype_of(number: int) -> Any:
    kinds = TYPES[1::2] if CASES[number].is_complex else TYPES
    return kinds[number % len(kinds)]


def check(number: int, sizes: Any) -> None:
    knl = CASES[number].kernel
    for each in sizes:
        CASES[number].check(knl, dtype_of(number), each)


@pytest.mark.parametrize("number", [3, 17])
@pytest.mark.parametrize("order", ["C", "F"])
def test_layouts(number: int, order: str) -> None:
    """Rows, or columns, are further apart than they are long."""
    CASES[number].check(CASES[number].kernel, dtype_of(number), (3, 4, 5), padded(order))


@pytest.mark.more
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_types(case: Case) -> None:
    knl = case.kernel
    for dtype in TYPES[1::2] if case.routine == "fft" else TYPES:
        for m, n, k in itertools.product((0, 1, 2, 7), repeat=3):
            case.check(knl, dtype, (m, n, k))


def test_operands_that_lie_otherwise() -> None:
    """One by rows, one by columns: BLAS is told that it is transposed."""
    knl = kernel(
        "{ : }",
        'c = library("gemm", a, b, trans_b="T")',
        *(pg.GlobalArg(n, shape=s) for n, s in (("a", "m, k"), ("b", "n, k"), ("c", "m, n"))),
    )
    rng = np.random.default_rng(3)
    for orders in ("CFC", "FCC", "CCF"):
        shapes = zip([(3, 2), (4, 2), (3, 4)], orders, strict=True)
        a, b, c = (
            [np.asfortranarray, np.ascontiguousarray][o == "C"](rng.random(s)) for s, o in shapes
        )
        knl.executor("c")(a=a, b=b, c=c)
        np.testing.assert_allclose(c, a @ b.T, rtol=1e-14)


def test_what_lies_otherwise_is_refused() -> None:
    knl = kernel(
        "{ : }",
        'c = library("gemm", a, b)',
        *(pg.GlobalArg(n, np.float64, shape="n, n") for n in "abc"),
    )
    run = knl.executor("c")
    a, c = np.ones((3, 3)), np.zeros((3, 3))
    with pytest.raises(LibraryLayout, match="its second operand, that lies in memory") as caught:
        run(a=a, b=np.ones((6, 6))[::2, ::2], c=c)
    assert "gemm in kernel 'polygen_kernel'" in caught.value.what
    with pytest.raises(LibraryLayout, match="its result"):
        run(a=a, b=a, c=np.ones((6, 6))[::2, ::2])
    run(a=a, b=a, c=c)  # what failed is forgotten
    np.testing.assert_array_equal(c, np.full((3, 3), 3.0))
    conjugate = kernel(
        "{ : }",
        'c = library("gemm", a, b, trans_a="C")',
        *(pg.GlobalArg(n, np.complex128, shape="n, n") for n in "abc"),
    )
    z = np.ones((3, 3)) * 1j
    with pytest.raises(LibraryLayout, match=r"its first operand[^(]*\(and .* conjugate transpose"):
        conjugate.executor("c")(a=np.asfortranarray(z), b=z, c=z.copy())


def test_without_scipy() -> None:
    knl = kernel("{ : }", 'y = library("gemv", a, x)', pg.GlobalArg("a", np.float64, "3, 3"))
    hidden = dict.fromkeys(("scipy.linalg.cython_blas", "scipy.linalg.cython_lapack"))
    with mock.patch.dict(sys.modules, hidden), pytest.raises(NoLibrary, match="not installed"):
        knl.executor("c")(a=np.eye(3), x=np.ones(3))


def test_targets_without_libraries() -> None:
    target, case = "opencl", CASES[0]
    knl = pg.add_dtypes(case.kernel, dict.fromkeys(("a", "b", "c", "al", "be"), np.float32))
    with pytest.raises(LibraryNotPossible, match=f"target '{target}' calls no libraries") as caught:
        pg.generate_code(knl, target)
    assert "inline_callable_kernel(kernel, 'gemm')" in str(caught.value.remedy)
    pg.generate_code(pg.inline_callable_kernel(knl, "gemm"), target)


@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
def test_what_has_no_inverse(dtype: Any) -> None:
    data = [pg.GlobalArg(name, shape="n, n") for name in "ab"]
    text = 'a, p, b = library("gesv", a, b)'
    run = kernel("{ : }", text, *data).executor("c")
    singular = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]], dtype)
    with pytest.raises(SingularMatrix, match=r"gesv in kernel .* a pivot of 0, at 2") as caught:
        run(a=singular, b=np.eye(3, dtype=dtype))
    assert "has an inverse" in str(caught.value.remedy)
    a = np.array([[0, 1], [2, 1]], dtype)  # which needs a pivot
    _, (_, b, p) = run(a=a.copy(), b=np.eye(2, dtype=dtype))
    np.testing.assert_array_equal(p, [1, 1])
    np.testing.assert_allclose(b, np.linalg.inv(a), rtol=1e-6)
    factored = kernel("{ : }", 'a, p = library("getrf", a)', data[0]).executor("c")
    with pytest.raises(SingularMatrix, match="getrf in kernel"):
        factored(a=np.zeros((2, 2), dtype))


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_what_is_not_positive_definite(uplo: str) -> None:
    """The error comes of the first call that fails, also in a loop with others."""
    text = f'[i, j]: a[t, i, j] = library("potrf", [i, j]: a[t, i, j], n=2, uplo="{uplo}")'
    knl = kernel("{ [t]: 0<=t<T }", text + " {inames=t}", pg.GlobalArg("a", shape="T, 2, 2"))
    good, bad = np.array([[2.0, 1], [1, 2]]), np.array([[1.0, 2], [2, 1]])
    with pytest.raises(NotPositiveDefinite, match="leading minor of 2 rows is not positive"):
        knl.executor("c")(a=np.stack([good, bad, np.eye(2), -good]))
    (a,) = knl.executor("c")(a=np.stack([good, np.eye(2)]))[1]
    half = np.tril if uplo == "L" else np.triu
    lower = np.linalg.cholesky(good)
    np.testing.assert_allclose(half(a[0]), lower if uplo == "L" else lower.T, rtol=1e-14)


def test_threads_have_their_own_errors() -> None:
    """Of calls at once, only those fail whose data are at fault."""
    run = kernel("{ : }", 'a = library("potrf", a)', pg.GlobalArg("a", shape="n, n")).executor("c")
    run(a=np.eye(40))

    def fails(number: int) -> bool:
        try:
            run(a=np.eye(40) * (-1 if number % 2 else 1))
        except NotPositiveDefinite:
            return True
        return False

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fails, range(64))) == [bool(n % 2) for n in range(64)]


def test_transforms_of_rows() -> None:
    """A function of Python's is called in a loop on the host; one array is strided."""
    text = '[j]: y[i, j] = library("fft", [j]: x[j, i], n=m, direction="inverse")  {inames=i}'
    data = [pg.GlobalArg("x", shape="m, n"), pg.GlobalArg("y", shape="n, m")]
    knl = kernel("{ [i]: 0<=i<n }", text, *data)
    x = np.random.default_rng(4).random((6, 3)) * (1 - 2j)
    for dtype in (np.complex128, np.complex64):
        y = np.zeros((3, 6), dtype)
        knl.executor("c")(x=x.astype(dtype), y=y)
        np.testing.assert_allclose(y, np.fft.ifft(x, axis=0).T, rtol=1e-5)
