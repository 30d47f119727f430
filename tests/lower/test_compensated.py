"""Sums of which nothing is lost by rounding until the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MalformedInstruction, TypeMismatch
from polygen.ir.kernel import Kernel

FORMS: dict[str, Callable[[Kernel], Kernel]] = {
    "a loop": lambda k: k,
    "a tree": lambda k: pg.split_iname(k, "j", 13, inner_tag="l.0"),
    "parts": lambda k: pg.split_reduction_inward(pg.split_iname(k, "j", 50), "j_inner"),
    "groups": lambda k: pg.parallelize_reduction(k, "s", blocks=3, threads=8, items=4),
}


def numbers(size: int, dtype: str) -> Any:
    """Return numbers of which a plain sum has no right digit."""
    rng = np.random.default_rng(size)
    found = (rng.standard_normal(size) * 10.0 ** rng.integers(-3, 12, size)).astype(dtype)
    half = size // 2
    found[half : 2 * half] = -found[:half]
    return rng.permutation(found)


@pytest.mark.parametrize("form", FORMS)
def test_rounded_once(form: str) -> None:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = compensated(sum)(j, a[j]*b[j])  {id=s}")
    run = FORMS[form](knl).executor("c")
    for dtype in "float32", "float64":
        for size in 0, 1, 7, 1009:
            a, b = numbers(size, dtype), np.ones(size, dtype)
            right = np.dtype(dtype).type(math.fsum(a.astype(float)))
            _, (s,) = run(a=a, b=b)
            assert s.dtype == dtype
            assert s[0] == right, (dtype, size)
        assert a.cumsum()[-1] != right  # one after the other, digits are lost


def test_what_is_infinite() -> None:
    knl = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = compensated(sum)(j, a[j])  {id=s}")
    for form in FORMS.values():
        run = form(knl).executor("c")
        for odd in ([np.inf, 1], [-np.inf, 2], [np.nan, 1], [np.inf, -np.inf], [1e308, 1e308]):
            a = np.array([0.5, *odd, 3])
            with np.errstate(all="ignore"):
                right = a.sum()
            _, (s,) = run(a=a)
            np.testing.assert_array_equal(s[0], right)


def test_running_sums() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "s[i] = compensated(sum)(j, a[j])")
    a = numbers(99, "float64")
    _, (s,) = knl.executor("c")(a=a)
    np.testing.assert_array_equal(s, [math.fsum(a[: k + 1]) for k in range(len(a))])


def test_text_and_types() -> None:
    text = "s[0] = 2*compensated(sum)<float64>(j, a[j])"
    knl = pg.make_kernel("{ [j]: 0<=j<n }", text)
    assert "compensated(sum)<float64>(j, a[j], 0.0)[1]" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    _, (s,) = knl.executor("c")(a=np.array([1, 2**-30], np.float32))
    assert s.dtype == np.float64
    assert s[0] == 2 + 2.0**-29
    halves = pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = compensated(sum)(j, a[j])")
    assert halves.executor("c")(a=np.ones(3, np.float16))[1][0].dtype == np.float32
    with pytest.raises(TypeMismatch, match="only there for floating-point numbers"):
        halves.executor("c")(a=np.ones(3, np.int64))
    with pytest.raises(MalformedInstruction, match="no compensated 'max'"):
        pg.make_kernel("{ [j]: 0<=j<n }", "s[0] = compensated(max)(j, a[j])")


def test_of_what_is_reduced_itself() -> None:
    """A sum is one operand, as any other number is."""
    text = "o[i] = compensated(sum)(j, sum(k, a[i,k,j]))"
    knl = pg.make_kernel("{ [i,j,k]: 0<=i<2 and 0<=j,k<40 }", text)
    assert pg.parse_kernel(str(knl)) == knl
    a = np.random.default_rng(0).random((2, 40, 40))
    (found,) = knl.executor("c")(a=a)[1]
    np.testing.assert_allclose(found, a.sum((1, 2)), rtol=1e-14)
