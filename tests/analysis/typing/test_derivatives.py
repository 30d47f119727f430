"""Derivatives by the parts of an expression, beside central differences of Python's functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from polygen.analysis.typing.derivatives import cases_of, partials, times
from polygen.errors import NotDifferentiable
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression

X, Y, Z = (ex.Variable(name) for name in "xyz")
AT = {"x": 0.4, "y": 0.7, "z": 1.3}
FUNCTIONS: dict[str, Any] = {
    **{name: getattr(math, name) for name in dir(math) if not name.startswith("_")},
    "sign": lambda x: math.copysign(1.0, x),
    "rsqrt": lambda x: x**-0.5,
    "rint": round,
    "fma": lambda x, y, z: x * y + z,
    "abs": abs,
    "divide": lambda x, y: x / y,
}


def _value(node: Expression, at: Mapping[str, float]) -> float:
    """Return the value of an expression that Python writes alike."""
    found: float = eval(show_expression(node), dict(FUNCTIONS), dict(at))  # noqa: S307
    return found


def _call(name: str, *arguments: Expression) -> ex.Call:
    return ex.Call(ex.Variable(name), arguments)


@pytest.mark.parametrize(
    "node",
    [
        ex.sum_of(X, Y, 3),
        ex.product_of(X, Y, Z),
        ex.product_of(2, X),
        ex.Quotient(X, Y),
        ex.Power(X, 3),
        ex.Power(X, 2),
        ex.Power(X, 1),
        ex.Power(X, 0),
        ex.Power(X, -1),
        ex.Power(X, Y),
        ex.Remainder(Z, X),
        *(
            _call(name, X)
            for name in [
                "sin",
                "cos",
                "tan",
                "asin",
                "acos",
                "atan",
                "sinh",
                "cosh",
                "tanh",
                "asinh",
                "atanh",
                "exp",
                "exp2",
                "expm1",
                "log",
                "log2",
                "log10",
                "log1p",
                "sqrt",
                "rsqrt",
                "cbrt",
                "erf",
                "erfc",
                "fabs",
                "degrees",
                "radians",
            ]
        ),
        _call("acosh", Z),
        *(_call(name, X, Y) for name in ("atan2", "hypot", "pow", "divide", "copysign")),
        _call("fmod", Z, X),
        _call("remainder", Z, X),
        _call("fma", X, Y, Z),
    ],
    ids=show_expression,
)
def test_partial_derivatives_are_central_differences(node: Expression) -> None:
    step = 1e-6
    found = dict.fromkeys(AT, 0.0)
    for part, derivative in partials(node):
        if isinstance(part, ex.Variable):
            found[part.name] += _value(derivative(), AT)
    for name, at in AT.items():
        more, less = (_value(node, {**AT, name: at + d}) for d in (step, -step))
        assert found[name] == pytest.approx((more - less) / (2 * step), abs=1e-7, rel=1e-6)


@pytest.mark.parametrize(
    "node",
    [
        X,
        3,
        ex.element(X, (Y,)),
        ex.Comparison(X, "<", Y),
        ex.FloorDiv(X, Y),
        _call("floor", X),
        _call("int32", X),
        _call("isnan", X),
        _call("ilogb", X),
    ],
)
def test_what_is_no_smooth_function_of_a_part(node: Expression) -> None:
    assert partials(node) == []


def test_conversions_and_results() -> None:
    ((part, derivative),) = partials(_call("float32", X))
    assert (part, derivative()) == (X, 1)
    pair = _call("sincos", X)
    derivatives = [partials(ex.Component(pair, position)) for position in (0, 1)]
    assert [_value(d(), AT) for ((_, d),) in derivatives] == pytest.approx(
        [math.cos(0.4), -math.sin(0.4)]
    )
    assert partials(ex.Component(_call("modf", X), 1)) == []  # the whole number
    assert partials(ex.Component(ex.Reduction("argmin", ("j",), X), 0)) == []


def test_functions_without_a_derivative() -> None:
    ((part, derivative),) = partials(_call("tgamma", X))
    assert part == X
    with pytest.raises(NotDifferentiable, match="'tgamma' is in no table of derivatives"):
        derivative()


@pytest.mark.parametrize(
    "node",
    [
        ex.If(ex.Comparison(X, "<", Y), X, Y),
        ex.Min((X, Y)),
        ex.Max((X, Y, Z)),
        _call("fmin", X, Y),
        _call("max", X, Y, Z),
        _call("fdim", X, Y),
        _call("maxmag", X, Y),
        _call("minmag", X, Y),
        _call("mix", X, Y, Z),
    ],
    ids=show_expression,
)
@pytest.mark.parametrize(
    "at", [(1.0, 2.0, 3.0), (2.0, 1.0, 3.0), (-3.0, 2.0, 1.0), (5.0, 2.0, 2.0)]
)
def test_cases_have_the_value_of_the_whole(node: Any, at: tuple[float, float, float]) -> None:
    x, y, z = at
    cases = cases_of(node)
    assert cases is not None
    assert [condition is None for condition, _ in cases] == [False] * (len(cases) - 1) + [True]
    names = dict(zip("xyz", at, strict=True))
    taken = next(v for c, v in cases if c is None or _value(c, names))
    expected = {
        "if": min(x, y),
        "min": min(x, y),
        "fmin": min(x, y),
        "max": max(x, y, z),
        "fdim": max(x - y, 0.0),
        "maxmag": max(x, y, key=abs),
        "minmag": min(x, y, key=abs),
        "mix": x + (y - x) * z,
    }
    assert _value(taken, names) == expected[show_expression(node).partition("(")[0]]


def test_of_equal_operands_the_first_is_taken() -> None:
    equal = {"x": 1.0, "y": 1.0, "z": 1.0}
    for node in (ex.Min((X, Y, Z)), ex.Max((X, Y, Z)), _call("fmax", X, Y)):
        cases = cases_of(node) or []
        assert next(v for c, v in cases if c is None or _value(c, equal)) == X


def test_what_has_no_cases() -> None:
    for node in (X, 3, ex.sum_of(X, Y), _call("sin", X), _call("of_a_user", X)):
        assert cases_of(node) is None


@pytest.mark.parametrize(
    ("factors", "text"),
    [
        ((), "1"),
        ((X,), "x"),
        ((2, X, 3), "6*x"),
        ((X, 0, Y), "0"),
        ((2, X, 0.5), "x"),
        ((-1, X), "-x"),
        ((X, -1, -1), "x"),
        ((ex.product_of(2, X), Y), "2*x*y"),
        ((X, ex.Quotient(1, Y)), "x / y"),
        ((2, X, ex.Quotient(0.5, Y)), "x / y"),
        ((2, ex.Quotient(3, Y)), "6 / y"),
        ((2, ex.Quotient(X, Y)), "2*(x / y)"),  # no number divided
    ],
)
def test_products(factors: tuple[Expression, ...], text: str) -> None:
    found = times(*factors)
    expected = math.prod(_value(factor, AT) for factor in factors)
    assert _value(found, AT) == pytest.approx(expected)
    assert show_expression(found).replace(" ", "") == text.replace(" ", "")
