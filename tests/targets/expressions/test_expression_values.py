"""Expressions have the value and the type that NumPy gives them, on awkward operands."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from polygen.analysis.typing.expression_types import type_of
from polygen.errors import TypeMismatch
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression, Subscript, Variable
from tests.few import few
from tests.targets.execute import Array, evaluate, run_c, run_opencl

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
TYPES = ("bool", *INTEGERS, *FLOATS)

_FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 2.5, -7.0, np.inf, -np.inf, np.nan, 1e10, 3e-5]


def _samples(dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(_FLOATS, dtype)
    info = np.iinfo(dtype)
    small = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.max // 3]
    if dtype.kind == "i":
        small += [-1, -2, -7, -100, info.min, info.min + 1]
    if dtype.itemsize == 8:
        small += [2**53 + 1, 2**40]
    return np.array(small, dtype)


def _arrays() -> dict[str, Array]:
    """Return ``a_int8``, ``b_int8`` and so on: every value of the one meets many of the other."""
    rng = np.random.default_rng(7)
    arrays = {}
    for name in TYPES:
        samples = _samples(np.dtype(name))
        for letter in "ab":
            arrays[f"{letter}_{name}"] = rng.choice(samples, 600)
    return arrays


ARRAYS = _arrays()
KINDS: dict[str, Any] = {name: array.dtype for name, array in ARRAYS.items()} | {"n": int, "i": int}


def element(name: str) -> Any:
    return Subscript(Variable(name), Variable("i"))


def a(name: str) -> Any:
    return element(f"a_{name}")


def b(name: str) -> Any:
    return element(f"b_{name}")


def call(name: str, *args: Any) -> Any:
    return ex.Call(Variable(name), args)


def _mixed() -> list[Expression]:
    """Every operator on every pair of types."""
    cases: list[Expression] = []
    for s, t in product(TYPES, TYPES):
        x, y = a(s), b(t)
        cases += [
            ex.Sum((x, y)),
            ex.Product((x, y)),
            ex.Quotient(x, y),
            ex.FloorDiv(x, y),
            ex.Remainder(x, y),
            ex.Min((x, y)),
            ex.Max((x, y)),
            ex.Comparison(x, "<", y),
            ex.Comparison(x, ">=", y),
            ex.Comparison(x, "==", y),
            ex.If(ex.Comparison(x, "<", y), x, y),
            ex.LogicalAnd((x, y)),
        ]
        if t != "bool":  # there is no negative of a truth value
            cases.append(ex.Sum((x, ex.Product((-1, y)))))
        if s not in FLOATS and t not in FLOATS and not {s, t} >= {"uint64"}:
            cases += [ex.BitwiseAnd((x, y)), ex.BitwiseXor((x, y)), ex.BitwiseOr((x, y))]
    return cases


def _of_one_type() -> list[Expression]:
    cases: list[Expression] = []
    for t in TYPES:
        x, y = a(t), b(t)
        cases += [
            ex.Sum((x, 1)),
            ex.Product((2, x)),
            ex.Quotient(x, 2),
            ex.FloorDiv(x, 2),
            ex.Remainder(x, 3),
            ex.Sum((x, 0.1)),
            ex.Quotient(1, x),
            ex.Product((ex.Quotient(1, 3), x)),
            ex.Power(x, 2) if t != "bool" else x,
            ex.Power(ex.Sum((x, y)), 3),
            ex.Power(x, 4),
            ex.Power(x, 0),
            ex.Min((x, 3)),
            ex.Comparison(x, "<", 3),
            ex.Comparison(x, "==", 1.5),
            ex.LogicalNot(x),
            ex.Sum((x, y, x)),
            ex.Product((x, y, x, y)),
            ex.Sum((x, Variable("n"))) if t not in ("int8", "uint8") else x,
            call("isnan", x),
            call("abs", x),
            call("sqrt", call("abs", x)) if t in (*FLOATS, "int32", "uint32") else x,
            call("float32", x),
            ex.If(x, y, 2),
            ex.Product((ex.Sum((x, y)), a("float32"))),
            ex.FloorDiv(ex.Sum((x, y)), 7),
            ex.Comparison(ex.Sum((x, y)), ">", 5),
            ex.If(y, a("uint32"), ex.Product((x, y, x))),
        ]
    for t in INTEGERS:
        x, y = a(t), b(t)
        bits = 8 * np.dtype(t).itemsize
        cases += [
            ex.BitwiseNot(x),
            ex.If(y, a("uint32"), ex.BitwiseNot(x)),
            ex.LeftShift(x, 3),
            ex.RightShift(x, 1),
            ex.LeftShift(x, bits + 1),
            ex.RightShift(x, bits + 1),
            ex.LeftShift(x, ex.BitwiseAnd((y, 31))),
            ex.RightShift(x, ex.BitwiseAnd((y, 31))),
            ex.Power(x, ex.BitwiseAnd((y, 7))),
            ex.FloorDiv(x, -3) if t[0] == "i" else x,
            ex.Remainder(x, -3) if t[0] == "i" else x,
            ex.Product((ex.Sum((x, y)), a("float64"))),
            ex.Comparison(ex.Product((x, y)), "<", ex.Sum((x, b("int64")))),
            ex.Comparison(x, ">", -1),
            ex.Comparison(x, "<=", 2**40),
            ex.Sum((ex.Sum((x, y)), a("int64"))) if t != "uint64" else x,
            call("int8", x),
            call("int64", ex.Sum((x, y))),
        ]
    for t in FLOATS:
        x, y = a(t), b(t)
        cases += [
            ex.Power(x, 0.5),
            ex.Power(x, -2),
            ex.Power(call("fabs", x), 1.7),
            ex.Power(2, x),
            ex.Product((-1, x)),
            ex.Sum((x, -2)),
            ex.Product((1e300, x)) if t == "float64" else x,
            ex.If(ex.Comparison(x, "<", y), -0.0, float("inf")),
            ex.Sum((x, float("nan"))),
            ex.If(call("isinf", x), float("-inf"), x),
            *(call(f, x) for f in ("sin", "floor", "rsqrt", "isfinite", "real", "imag", "conj")),
            *(call(f, x, y) for f in ("fmin", "fmax", "atan2", "copysign")),
        ]
    return cases


CASES = [*_mixed(), *_of_one_type()]


def close(found: Array, expected: Array, *, signs: bool) -> bool:
    """Tell whether results agree, but for the last digits that functions may differ in."""
    if expected.dtype.kind != "f":
        return bool(np.array_equal(found, expected))
    tolerance = 16 * np.finfo(expected.dtype).eps
    zeros = (expected == 0) & (found == 0)
    if signs and not np.array_equal(np.signbit(found)[zeros], np.signbit(expected)[zeros]):
        return False
    with np.errstate(all="ignore"):
        return bool(np.allclose(found, expected, rtol=tolerance, atol=0, equal_nan=True))


def check(cases: list[Expression], results: list[Array]) -> None:
    values = {**ARRAYS, "n": len(next(iter(ARRAYS.values())))}
    wrong = []
    for case, found in zip(cases, results, strict=True):
        expected = np.broadcast_to(np.asarray(evaluate(case, values)), found.shape)
        # Of equal zeros, minima and maxima take any, in NumPy too.
        signs = not any(m in str(case) for m in ("min", "max"))
        if found.dtype != expected.dtype:
            wrong.append(f"{case}: {found.dtype}, not {expected.dtype}")
        elif not close(found, expected, signs=signs):
            good = [close(f, e, signs=signs) for f, e in zip(found, expected, strict=True)]
            k = good.index(False)
            operands = {m: ARRAYS[m][k] for m in ARRAYS if f"{m}[" in str(case)}
            wrong.append(f"{case}: {found[k]!r}, not {expected[k]!r}, for {operands}")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:20])


@few(1, "step", [6, 2])
def test_values_in_c(tmp_path: Path, step: int) -> None:
    cases = CASES[::step]
    check(cases, run_c(cases, ARRAYS, tmp_path))


@pytest.mark.deep
def test_all_values_in_c(tmp_path: Path) -> None:
    check(CASES, run_c(CASES, ARRAYS, tmp_path))


@few(1, "step", [9, 3])
def test_values_in_opencl(step: int) -> None:
    cases = CASES[1::step]  # PoCL takes its time
    check(cases, run_opencl(cases, ARRAYS))


# --- random expressions

_LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([element(name) for name in ARRAYS]),
    st.sampled_from([0, 1, 2, 5, 100, 0.5, -1.25, 0.1]),
)


def _extended(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    comparisons = st.builds(
        ex.Comparison, inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner
    )
    return st.one_of(
        st.tuples(inner, inner, inner).map(ex.Sum),
        pairs.map(lambda p: ex.Sum((p[0], ex.Product((-1, p[1]))))),
        st.tuples(inner, inner, inner).map(ex.Product),
        *(pairs.map(node) for node in (ex.Min, ex.Max, ex.LogicalAnd, ex.LogicalOr)),
        *(pairs.map(node) for node in (ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor)),
        *(st.builds(node, inner, inner) for node in (ex.Quotient, ex.FloorDiv, ex.Remainder)),
        *(st.builds(node, inner, inner) for node in (ex.LeftShift, ex.RightShift)),
        st.builds(ex.Power, inner, st.sampled_from([2, 3])),
        st.builds(ex.If, comparisons, inner, inner),
        st.builds(ex.LogicalNot, comparisons),
        comparisons,
    )


def _computable(case: Expression) -> bool:
    """Tell whether polygen and NumPy both give the expression one and the same type."""
    try:
        kind = type_of(case, KINDS)
        value = evaluate(case, ARRAYS)
    except (TypeMismatch, TypeError, OverflowError, ZeroDivisionError, ValueError):
        return False
    # A shift by too many bits is not defined, nor a large double as an integer; NumPy and
    # polygen differ in what they call the power of a truth value, its negative, and a choice
    # between two of Python's numbers.
    return (
        isinstance(kind, np.dtype)
        and isinstance(value, np.ndarray)
        and kind == value.dtype
        and not any(_odd(part) for part in walk.subexpressions(case))
    )


def _odd(node: Expression) -> bool:
    parts = walk.parts(node)
    kinds = [type_of(part, KINDS) for part in parts]
    if isinstance(node, ex.LeftShift | ex.RightShift):
        return not isinstance(parts[1], int) or isinstance(kinds[0], type)
    if isinstance(node, ex.Quotient):  # by zero, of whichever sign
        return any(isinstance(e, ex.Min | ex.Max) for e in walk.subexpressions(node.denominator))
    if isinstance(node, ex.Comparison):
        return node.left == node.right  # compilers warn
    if isinstance(node, ex.If):
        return all(isinstance(kind, type) for kind in kinds[1:])
    if isinstance(node, ex.Power):
        return kinds[0] == np.bool_
    return isinstance(node, ex.Product) and kinds[1] == np.bool_ and parts[0] == -1


_EXPRESSIONS = st.recursive(_LEAVES, _extended, max_leaves=6).filter(_computable)


@pytest.mark.more
@settings(max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(_EXPRESSIONS, min_size=40, max_size=40))
def test_random_values_in_c(
    tmp_path_factory: pytest.TempPathFactory, cases: list[Expression]
) -> None:
    # GCC warns of what it finds out: that a & 0 is 0, or that an array is not needed.
    flags = ("-Wno-error",)
    check(cases, run_c(cases, ARRAYS, tmp_path_factory.mktemp("random"), flags))


@settings(max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(_EXPRESSIONS, min_size=30, max_size=30))
def test_random_values_in_opencl(cases: list[Expression]) -> None:
    check(cases, run_opencl(cases, ARRAYS))
