"""BLAS and LAPACK on C: values beside NumPy's, layouts, sizes, and what fails."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import polygen as pg
from polygen.errors import LibraryLayout, LibraryNotPossible, NoLibrary
from tests.oracle.cases import kernel
from tests.routines import CASES, Case

TYPES = (np.float64, np.complex64, np.float32, np.complex128)
SIZES = ((4, 5, 3), (1, 1, 1), (0, 2, 2), (2, 0, 2), (2, 2, 0), (1, 5, 2), (5, 1, 1))
NUMBERED = [pytest.param(n, case, id=str(case)) for n, case in enumerate(CASES)]


def padded(order: Any) -> Callable[[Any], Any]:
    """Return what makes an array whose rows, or columns, are further apart than they are long."""

    def make(x: Any) -> Any:
        whole = np.zeros([extent + 2 for extent in x.shape], x.dtype, order=order)
        part = whole[tuple(slice(extent) for extent in x.shape)]
        part[...] = x
        return part

    return make


@pytest.mark.parametrize(("number", "case"), NUMBERED)
def test_values(number: int, case: Case) -> None:
    """A type for each case, in turns; all sizes, by rows and by columns."""
    kinds = TYPES[1::2] if case.is_complex else TYPES
    dtype = kinds[number % len(kinds)]
    knl = case.kernel
    for sizes in SIZES:
        case.check(knl, dtype, sizes)
    if number % 4 == 0:
        for order in "CF":
            case.check(knl, dtype, (3, 4, 5), padded(order))


@pytest.mark.more
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_types(case: Case) -> None:
    knl = case.kernel
    for dtype in TYPES:
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


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_targets_without_libraries(target: str) -> None:
    case = CASES[0]
    knl = pg.add_dtypes(case.kernel, dict.fromkeys(("a", "b", "c", "al", "be"), np.float32))
    with pytest.raises(LibraryNotPossible, match=f"target '{target}' calls no libraries") as caught:
        pg.generate_code(knl, target)
    assert "inline_callable_kernel(kernel, 'gemm')" in str(caught.value.remedy)
    pg.generate_code(pg.inline_callable_kernel(knl, "gemm"), target)
