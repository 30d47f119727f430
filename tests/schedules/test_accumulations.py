"""`optimize` makes reductions of loops that add to one element; compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel

SQUARE = "{ [i,j]: 0<=i<n and 0<=j<n }"


def made(domain: str, text: str, arrays: str, **more: Any) -> Kernel:
    knl = pg.make_kernel(domain, text, seq_dependencies=True, target="c", **more)
    return pg.add_dtypes(knl, {arrays: "float64"})


def collected(knl: Kernel) -> list[str]:
    return [c.what for c in knl.choices if c.is_taken and c.what.startswith("a reduction")]


def test_a_dot_product_beside_another_statement() -> None:
    text = "s[0] = 1\nfor i\ny[i] = 2*x[i]\ns[0] = s[0] + x[i]*y[i]\nend"
    knl = pg.optimize(made("{ [i]: 0<=i<n }", text, "s, x, y"), sizes={"n": 10**6})
    assert collected(knl) == ["a reduction over 'i'"]
    for n in (0, 1, 37, 5000):
        x, y, s = np.random.default_rng(n).random(n), np.zeros(n), np.zeros(1)
        knl(x=x, y=y, s=s)
        np.testing.assert_array_equal(y, 2 * x)
        np.testing.assert_allclose(s[0], 1 + 2 * (x * x).sum(), rtol=1e-13)


@pytest.mark.more
def test_a_product_of_matrices_in_three_loops_is_packed() -> None:
    text = "for i, j, k\nc[i, j] = c[i, j] + a[i, k]*b[k, j]\nend"
    knl = made("{ [i,j,k]: 0<=i,j,k<n }", text, "a, b, c", loop_priority="i, j, k")
    knl = pg.optimize(knl, sizes={"n": 1000})
    assert collected(knl) == ["a reduction over 'k'"]
    assert any("packed" in choice.what for choice in knl.choices if choice.is_taken)
    rng = np.random.default_rng(0)
    a, b, c = (rng.random((50, 50)) for _ in range(3))
    wanted = c + a @ b
    knl(a=a, b=b, c=c)
    np.testing.assert_allclose(c, wanted, rtol=1e-12)


def test_rows_in_a_nest_that_is_not_perfect() -> None:
    text = "for i\ny[i] = 0\nfor j\ny[i] = y[i] + a[i, j]*x[j]\nend\nend"
    knl = pg.optimize(made(SQUARE, text, "a, x, y"), sizes={"n": 1000})
    assert collected(knl) == ["a reduction over 'j'"]
    rng = np.random.default_rng(0)
    a, x, y = rng.random((33, 33)), rng.random(33), np.ones(33)
    knl(a=a, x=x, y=y)
    np.testing.assert_allclose(y, a @ x, rtol=1e-13)


def test_sums_that_later_iterations_need_stay_in_their_loop() -> None:
    text = "for i\ns[0] = s[0] + x[i]\ny[i] = s[0]\nend"
    knl = pg.optimize(made("{ [i]: 0<=i<n }", text, "s, x, y"), sizes={"n": 10**6})
    assert collected(knl) == []
    x, y, s = np.arange(9.0), np.zeros(9), np.zeros(1)
    knl(x=x, y=y, s=s)
    np.testing.assert_array_equal(y, x.cumsum())


def test_two_operators_on_one_element_are_no_reduction() -> None:
    text = "for i\ns[0] = s[0] + x[i]\ns[0] = s[0]*y[i]\nend"
    knl = pg.optimize(made("{ [i]: 0<=i<n }", text, "s, x, y"), sizes={"n": 10**6})
    assert collected(knl) == []
    rng = np.random.default_rng(0)
    x, y, s = rng.random(9), rng.random(9), np.ones(1)
    wanted = 1.0
    for one, other in zip(x, y, strict=True):
        wanted = (wanted + one) * other
    knl(x=x, y=y, s=s)
    np.testing.assert_allclose(s[0], wanted, rtol=1e-14)
