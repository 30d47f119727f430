"""Expressions from sympy and for sympy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from pymbolic import var

import polygen as pg

i, x, y = sp.symbols("i x y")
a, b = sp.IndexedBase("a"), sp.IndexedBase("b")
u, v = a[i], b[i]

VALUES: list[Any] = [
    u + 2 * v - 3,
    u / v,
    -u / 3 + sp.Rational(2, 7) * v,
    (u**2 - v) ** 3,
    1 / (u**2 + 1) - 1 / u,
    sp.sqrt(v) + 1 / sp.sqrt(v) + sp.cbrt(v),
    (sp.exp(-(x**2)) * sp.sin(x)).diff(x).subs(x, u),
    sp.Piecewise((u, u > v), (v, u > 0), (7, True)),
    sp.Piecewise((1.5, (u > 0) & (v > 1)), (2.5, (u < -1) | sp.Ne(v, 2)), (0, True)),
    sp.Max(u, v, 0) - sp.Min(u, v),
    sp.Mod(u, 3) + sp.floor(u / 2) + sp.ceiling(v),
    sp.pi * u + sp.E + 0.1,
    sp.Abs(u) + sp.atan2(u, v) + sp.log(v) + sp.tanh(u),
    sp.sign(u) * v + sp.arg(u) + sp.sign(u * v - 1),
    sp.gamma(v) + sp.loggamma(v) + sp.erf(u),
    sp.acosh(v + 1) + sp.cosh(u) - sp.asinh(u),
    sp.Integer(4) + i,
    sp.series(sp.cos(x), x, 0, 8).removeO().subs(x, u),
    sp.hermite(5, u),
]
KERNEL = pg.make_kernel(
    "{ [i]: 0<=i<n }",
    [(var(f"out{k:02}")[var("i")], pg.from_sympy(value)) for k, value in enumerate(VALUES)],
    [pg.GlobalArg("a", np.float64), pg.GlobalArg("b", np.float64), "..."],
)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_values(target: str) -> None:
    """What sympy computes with thirty digits is what kernels compute."""
    given = {"a": np.array([-2.5, -0.7, 0.3, 1.6, 2.2]), "b": np.array([0.4, 2.0, 1.3, 0.9, 3.1])}
    _, found = KERNEL.executor(target)(**given)
    for value, out in zip(VALUES, found, strict=True):
        for k in range(5):
            numbers = {u: sp.Float(given["a"][k], 30), v: sp.Float(given["b"][k], 30), i: k}
            expected = complex(value.subs(numbers).evalf(30))
            np.testing.assert_allclose(out[k], expected.real, rtol=1e-12, err_msg=str(value))
            assert expected.imag == 0


def test_there_and_back() -> None:
    for value in VALUES:
        again = pg.to_sympy(pg.from_sympy(value))
        numbers = {u: sp.Rational(5, 3), v: sp.Rational(7, 4), i: 3}
        assert abs((again - value).subs(numbers).evalf()) < 1e-14


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a[i] + 1)*(a[i] - 1)", (u + 1) * (u - 1)),
        ("a[i]//2 - a[i] % 2", sp.floor(u / 2) - sp.Mod(u, 2)),
        ("1/2 + x**(-1)", sp.Rational(1, 2) + 1 / x),
        ("c[i, x + 1]", sp.IndexedBase("c")[i, x + 1]),
        ("sqrt(x)*fma(x, y, 1)", sp.sqrt(x) * sp.Function("fma")(x, y, 1)),
        ("tgamma(x) + ceil(y) + abs(x)", sp.gamma(x) + sp.ceiling(y) + sp.Abs(x)),
        ("if(x < 1 and not x == y, x, 3)", sp.Piecewise((x, (x < 1) & sp.Ne(x, y)), (3, True))),
        ("min(x, y, 2) + max(x, 3)", sp.Min(x, y, 2) + sp.Max(x, 3)),
        ("x > y or x >= 3", (x > y) | (x >= 3)),
    ],
)
def test_to_sympy(text: str, expected: Any) -> None:
    assert pg.to_sympy(text) == expected


def test_what_sympy_does_to_kernels() -> None:
    """A polynomial is brought into Horner's form."""
    factored = sp.horner(pg.to_sympy("3*a[i]**3 + 2*a[i]**2 - a[i] + 5"), wrt=u)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", [(var("out")[var("i")], pg.from_sympy(factored))])
    numbers = np.linspace(-2, 2, 17)
    for target in "c", "opencl":
        _, (out,) = knl.executor(target)(a=numbers)
        np.testing.assert_allclose(out, np.polyval([3, 2, -1, 5], numbers), rtol=1e-14)


def test_other_leaves() -> None:
    assert pg.from_sympy(3) == 3
    assert pg.from_sympy(sp.Idx("i")) == var("i")
    assert pg.from_sympy(sp.true) is True
    assert pg.from_sympy(sp.I) == 1j
    assert pg.from_sympy(sp.Function("f")(x)) == var("f")(var("x"))
