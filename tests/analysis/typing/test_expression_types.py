"""Types of expressions, against what NumPy computes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from pymbolic import parse

from polygen.analysis.typing.expression_types import reduction_types, type_of
from polygen.analysis.typing.kinds import Kind, same_kind
from polygen.errors import TypeMismatch, TypeNotFound
from polygen.ir import expression as ex

INTEGERS = [f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = [*INTEGERS, *FLOATS]
ALL = ["bool", *REAL, *COMPLEX]
WEAK: dict[str, Any] = {"int": 1, "float": 1.0, "complex": 1j}
WEAK_KINDS: dict[str, Kind] = {"int": int, "float": float, "complex": complex}


def kind_of(name: str) -> Kind:
    return WEAK_KINDS.get(name) or np.dtype(name)


def value_of(name: str) -> Any:
    """Return what NumPy and Python compute with: an array, or a number of Python's."""
    return WEAK[name] if name in WEAK else np.ones(1, name)


def expected_kind(value: Any) -> Kind:
    return type(value) if type(value) in (int, float, complex) else np.asarray(value).dtype


def check(text: str, **names: str) -> None:
    with np.errstate(all="ignore"):
        value = eval(text, {}, {n: value_of(t) for n, t in names.items()})  # noqa: S307
    found = type_of(parse(text), {n: kind_of(t) for n, t in names.items()})
    assert same_kind(found, expected_kind(value)), (text, names, found)


@pytest.mark.parametrize("text", ["a + b", "a*b"])
@pytest.mark.parametrize("a", ALL)
def test_sums_and_products(text: str, a: str) -> None:
    for b in [*ALL, *WEAK]:
        check(text, a=a, b=b)
        check(text, a=b, b=a)


@pytest.mark.parametrize("text", ["a - b", "a/b"])
@pytest.mark.parametrize("a", [*REAL, *COMPLEX])
def test_differences_and_quotients(text: str, a: str) -> None:
    for b in [*REAL, *COMPLEX, *WEAK]:
        if text == "a - b" and "uint64" in (a, b):
            continue  # -b is computed in a type of its own there: see the test below
        check(text, a=a, b=b)
        check(text, a=b, b=a)


def test_differences_of_large_integers() -> None:
    for a, b in product(INTEGERS, ["uint64"]):
        check("a - b", a=a, b=b)


@pytest.mark.parametrize("text", ["a//b", "a % b"])
@pytest.mark.parametrize("a", ["bool", *REAL])
def test_floor_division(text: str, a: str) -> None:
    for b in ["bool", *REAL, "int", "float"]:
        check(text, a=a, b=b)
        check(text, a=b, b=a)


@pytest.mark.parametrize("a", [*REAL, *COMPLEX])
def test_powers(a: str) -> None:
    for b in [*REAL, *COMPLEX, *WEAK]:
        check("a**b", a=a, b=b)
        check("a**b", a=b, b=a)
    check("a**2", a=a)


@pytest.mark.parametrize("text", ["a & b", "a | b", "a ^ b", "a << b", "a >> b"])
@pytest.mark.parametrize("a", INTEGERS)
def test_bits(text: str, a: str) -> None:
    for b in [*INTEGERS, "int"]:
        if "uint64" in (a, b) and {a, b} & {"int8", "int16", "int32", "int64"}:
            continue  # no common integer type: an error in NumPy
        check(text, a=a, b=b)
        check(text, a=b, b=a)


def test_bits_of_truth_values() -> None:
    for text in ("a & b", "a | b", "a ^ b", "a << b", "a >> b"):
        check(text, a="bool", b="bool")
        check(text, a="bool", b="uint8")


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(operator: str) -> None:
    for a, b in product(
        ["bool", "int8", "uint64", "float32", "int"], ["int32", "float64", "float"]
    ):
        found = type_of(parse(f"a {operator} b"), {"a": kind_of(a), "b": kind_of(b)})
        assert same_kind(found, np.dtype(bool))


def test_logic() -> None:
    kinds: dict[str, Kind] = {"a": np.dtype("float32"), "b": np.dtype("int8")}
    for text in ("a and b", "a or b", "not a"):
        assert type_of(parse(text), kinds) == np.dtype(bool)


@pytest.mark.parametrize(("a", "b"), list(product(ALL, ["float32", "int16", "uint64", "int"])))
def test_choices(a: str, b: str) -> None:
    expr = ex.If(ex.Variable("c"), ex.Variable("a"), ex.Variable("b"))
    kinds: dict[str, Kind] = {"a": kind_of(a), "b": kind_of(b), "c": np.dtype("float64")}
    expected = np.where(np.ones(1, bool), value_of(a), value_of(b)).dtype
    assert same_kind(type_of(expr, kinds), expected)


def test_choices_of_python_numbers_stay_python_numbers() -> None:
    assert type_of(ex.If(ex.Variable("c"), 1, 2.5), {"c": np.dtype(bool)}) is float


@pytest.mark.parametrize(("a", "b"), list(product(REAL, [*REAL, "int", "float"])))
def test_minimum_and_maximum(a: str, b: str) -> None:
    expected = np.maximum(value_of(a), value_of(b)).dtype
    for node in (ex.Min, ex.Max):
        found = type_of(
            node((ex.Variable("a"), ex.Variable("b"))), {"a": kind_of(a), "b": kind_of(b)}
        )
        assert same_kind(found, expected)


@pytest.mark.parametrize("dtype", [*ALL, "float16"])
@pytest.mark.parametrize("operation", ["sum", "product", "min", "max", "any", "all"])
def test_reductions(dtype: str, operation: str) -> None:
    if operation in ("min", "max") and dtype in COMPLEX:
        return
    name = "prod" if operation == "product" else operation
    expected = getattr(np, name)(np.ones(3, dtype)).dtype
    if dtype == "float16" and operation in ("sum", "product"):
        expected = np.dtype(np.float32)  # in which NumPy adds them up; it rounds in the end
    node = ex.Reduction(operation, ("j",), ex.Subscript(ex.Variable("a"), ex.Variable("j")))
    kinds: dict[str, Kind] = {"a": np.dtype(dtype), "j": int}
    assert same_kind(type_of(node, kinds), expected)
    assert reduction_types(node, kinds) == (expected,)


def test_reductions_of_python_numbers() -> None:
    node = ex.Reduction("sum", ("j",), ex.Variable("j"))
    assert type_of(node, {"j": int}) is int
    assert reduction_types(node, {"j": int}) == (np.arange(3).sum().dtype,)
    assert reduction_types(ex.Reduction("sum", ("j",), 0.5), {}) == (np.dtype("float64"),)


LEAVES = st.sampled_from(["a", "b", "c", "2", "0.5", "i"])
TEXTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"(-{t})"),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(
    TEXTS,
    st.fixed_dictionaries({n: st.sampled_from([*INTEGERS[:7], *FLOATS, *COMPLEX]) for n in "abc"}),
)
def test_random_expressions(text: str, names: dict[str, str]) -> None:
    try:
        check(text, **names, i="int")
    except (OverflowError, ZeroDivisionError):  # of literals: no matter of types
        reject()


@pytest.mark.parametrize(
    ("text", "names", "what"),
    [
        ("a & 1", {"a": "float32"}, "'a & 1' has an operand of type 'float32'"),
        ("a << 1.5", {"a": "int32"}, "'a << 1.5' has an operand of type 'float'"),
        ("~a", {"a": "float64"}, "'~a' has an operand of type 'float64'"),
        ("~a", {"a": "bool"}, "'~a' has an operand of type 'bool'"),
        ("a % 2", {"a": "complex64"}, "'a % 2' has an operand of type 'complex64'"),
        ("a // 2", {"a": "complex64"}, "'a//2' has an operand of type 'complex64'"),
        ("a < 2", {"a": "complex64"}, "'a < 2' has an operand of type 'complex64'"),
        ("erf(a)", {"a": "complex64"}, "'erf(a)' has an operand of type 'complex64'"),
        ("a**-2", {"a": "int32"}, "raises integers to a negative power"),
        ("a & b", {"a": "uint64", "b": "int8"}, "'uint64' and 'int8'"),
    ],
)
def test_operations_that_do_not_exist(text: str, names: dict[str, str], what: str) -> None:
    with pytest.raises(TypeMismatch) as error:
        type_of(parse(text), {n: kind_of(t) for n, t in names.items()})
    assert what in error.value.what


def test_minimum_of_complex_numbers() -> None:
    with pytest.raises(TypeMismatch, match="only there for real numbers"):
        type_of(ex.Min((ex.Variable("a"), 1)), {"a": np.dtype("complex64")})


def test_names_without_a_type() -> None:
    with pytest.raises(TypeNotFound, match="'b' is not known"):
        type_of(parse("a + b"), {"a": int})
