"""Expressions read as an engineer would write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygen.errors import LiteralOutOfRange
from polygen.ir import expression as ex
from polygen.ir.expression import Expression, Variable
from polygen.targets.expressions.name_facts import Names
from polygen.targets.languages.registry import get_target
from polygen.targets.statements.expression_printer import ExpressionPrinter

_TYPES = {
    "f": "float32",
    "d": "float64",
    "g": "float32",
    "k": "int32",
    "m": "int32",
    "c": "int8",
    "b": "uint8",
    "h": "uint16",
    "u": "uint32",
    "l": "int64",
    "v": "uint64",
    "t": "bool",
    "z": "complex64",
}
DTYPES = {name: np.dtype(dtype) for name, dtype in _TYPES.items()}
NAMES = Names(
    kinds={**DTYPES, "i": int, "j": int, "n": int},
    dtypes=DTYPES | {"n": np.dtype(np.int32)},
    index_dtype=np.dtype(np.int32),
    nonnegative=frozenset(("i", "n")),
)
f, d, g, k, m, c, b, h, u, l, v, t, z, i, j, n = (  # noqa: E741
    Variable(name)
    for name in "f d g k m c b h u l v t z i j n".split()  # noqa: SIM905
)
sin = Variable("sin")


def less(left: Any, right: Any) -> Any:
    return ex.Comparison(left, "<", right)


def text(node: Any, dtype: str = "float64", target: str = "c") -> str:
    return ExpressionPrinter(get_target(target), NAMES).value(node, np.dtype(dtype))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        # literals take the type that they are used at
        (2 * f, "2.0f * f"),
        (2 * d, "2.0 * d"),
        (0.1 * f, "0.1f * f"),
        (ex.Product((ex.Quotient(1, 3), f)), "0.33333334f * f"),
        (2 * k, "(int) (2u * k)"),  # of an integer that wraps around
        (f + 1e300, "f + INFINITY"),
        (d + float("nan"), "d + NAN"),
        (f - 1, "f - 1.0f"),
        (ex.Sum((f, -0.5)), "f - 0.5f"),
        (ex.Product((-0.0, f)), "-0.0f * f"),
        (l + 2**40, "(int64_t) (l + 1099511627776ULL)"),
        (v + (2**64 - 1), "v + 18446744073709551615ULL"),
        (ex.Min((k, -(2**31))), "pg_min_i32(k, -2147483647 - 1)"),
        # casts, only where C would compute something else
        (f + d, "f + d"),
        (k + f, "(double) k + f"),
        (ex.Quotient(k, m), "(double) k / m"),
        (ex.Quotient(k, 2), "k / 2.0"),
        (ex.Quotient(f, 2), "f / 2.0f"),
        (f * i, "f * i"),
        (f * ex.Quotient(i, n), "f * ((float) i / n)"),
        (k + u, "(int64_t) k + u"),
        (l + v, "(double) l + v"),
        (less(k, u), "(int64_t) k < u"),
        (less(i, u), "(uint32_t) i < u"),
        (less(l, v), "pg_compare_u64(l, v) < 0"),
        (less(u, 0), "false"),
        (less(c, 200), "true"),
        (less(k, f), "(double) k < f"),
        (f * (c + b), "f * (c + b)"),
        (f + h * h, "f + (uint16_t) (h * (uint32_t) h)"),
        (ex.Call(sin, (f,)), "sinf(f)"),
        (ex.Call(sin, (k,)), "sin((double) k)"),
        # division and remainder
        (ex.FloorDiv(i, 4), "i / 4"),
        (ex.Remainder(i + n, 4), "(i + n) % 4"),
        (ex.FloorDiv(i * 3, n), "i * 3 / n"),
        (ex.FloorDiv(j, 4), "pg_floor_div_i32(j, 4)"),
        (ex.FloorDiv(u, 4), "u / 4"),
        (ex.FloorDiv(u, u), "pg_floor_div_u32(u, u)"),
        (ex.Remainder(f, g), "pg_mod_f32(f, g)"),
        # whether something is divisible does not depend on its sign
        (ex.Comparison(ex.Remainder(j, 3), "==", 0), "j % 3 == 0"),
        (ex.Comparison(ex.Remainder(k - m, 3), "!=", 0), "(int) (k - (uint32_t) m) % 3 != 0"),
        (ex.Comparison(ex.Remainder(l, 8), "==", 0), "l % 8 == 0"),
        (ex.Comparison(ex.Remainder(c, 5), "==", 0), "c % 5 == 0"),
        (ex.Comparison(ex.Remainder(u, 3), "==", 0), "u % 3 == 0"),
        (ex.Comparison(ex.Remainder(j, 3), "==", 1), "pg_mod_i32(j, 3) == 1"),
        (ex.Comparison(ex.Remainder(j, 3), ">", 0), "pg_mod_i32(j, 3) > 0"),
        (ex.Comparison(ex.Remainder(k, m), "==", 0), "pg_mod_i32(k, m) == 0"),
        (ex.Comparison(ex.Remainder(k, -3), "==", 0), "pg_mod_i32(k, -3) == 0"),
        (ex.Comparison(ex.Remainder(f, 3), "==", 0), "pg_mod_f32(f, 3.0f) == 0.0f"),
        # powers
        (f**2, "f * f"),
        ((f + g) ** 2, "pg_square_f32(f + g)"),
        (f**0.5, "sqrtf(f)"),
        (f**-1, "1.0f / f"),
        (f**g, "powf(f, g)"),
        (f**2.5, "powf(f, 2.5f)"),
        (k**m, "pg_power_i32(k, m)"),
        (ex.Power(f, 2) / g, "f * f / g"),
        # parentheses, only where they are needed
        (f + (g + f), "f + (g + f)"),
        ((f + g) * f, "(f + g) * f"),
        (f - (g - f), "f - (g - f)"),
        (-f * g, "-f * g"),
        (f * -g, "f * (-g)"),
        (f - 2 * g, "f - 2.0f * g"),
        (ex.If(less(f, g), f, 0), "f < g ? f : 0.0f"),
        (1 + ex.If(t, f, g), "1.0f + (t ? f : g)"),
        # what is decided is not asked
        (ex.If(ex.Comparison(0, "==", 0), 1, f), "1.0f"),
        (2 * ex.If(ex.Comparison(1, "<", 0), f, g - 1), "2.0f * (g - 1.0f)"),
        (ex.LogicalAnd((t, ex.If(True, less(f, g), t))), "t && f < g"),
        (ex.If(True, c, k), "(int) c"),
        (ex.LogicalOr((ex.LogicalAnd((t, less(f, g))), t)), "(t && f < g) || t"),
        (ex.LogicalNot(less(f, g)), "!(f < g)"),
        (ex.LogicalAnd((k, f)), "k != 0 && f != 0.0f"),
        (ex.BitwiseOr((ex.BitwiseAnd((k, m)), 1)), "(k & m) | 1"),
        (ex.LeftShift(k + 1, 2), "(int) ((k + 1u) << 2)"),
        (ex.Max((f, 0)), "pg_max_f32(f, 0.0f)"),
        (t + t, "t || t"),
    ],
)
def test_text(node: Expression, expected: str) -> None:
    assert text(node, "bool" if expected in ("true", "false") else "float64") == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (ex.Min((n, 16)), "min(n, 16)"),
        (ex.Min((l, 16)), "min(l, 16L)"),
        (ex.Max((u, 16)), "max(u, 16u)"),
        (ex.Call(sin, (f,)), "sin(f)"),
        (ex.Call(Variable("rsqrt"), (f,)), "rsqrt(f)"),
        (ex.Call(Variable("float32"), (k,)), "(float) k"),
    ],
)
def test_text_in_opencl(node: Expression, expected: str) -> None:
    assert text(node, target="opencl") == expected


def test_assignments() -> None:
    p = ExpressionPrinter(get_target("c"), NAMES)
    assert p.assignment(f, f + g * 2) == "f += g * 2.0f"
    assert p.assignment(f, f - g) == "f -= g"
    assert p.assignment(f, g + f) == "f = g + f"
    assert p.assignment(f, f + g + 1) == "f = f + g + 1.0f"
    assert p.assignment(k, k / f) == "k = (double) k / f"
    assert p.assignment(c, c + c) == "c += c"
    assert p.assignment(t, k) == "t = k != 0"
    assert p.assignment(f, 0) == "f = 0.0f"
    assert p.assignment(l, i * 2) == "l = i * 2LL"


def test_subscripts_do_not_wrap_around() -> None:
    wide = Names({**NAMES.kinds}, NAMES.dtypes, np.dtype(np.int64), NAMES.nonnegative)
    p = ExpressionPrinter(get_target("c"), wide)
    assert p.value(f[n * n + i], np.dtype(np.float32)) == "f[(int64_t) n * n + i]"


def test_sizes_that_are_wider_than_subscripts() -> None:
    wide = Names(NAMES.kinds, {**NAMES.dtypes, "n": np.dtype(np.int64)}, np.dtype(np.int32))
    p = ExpressionPrinter(get_target("c"), wide)
    assert p.condition(less(n, 2**31)) == "n < 2147483648LL"
    assert p.condition(less(n, 2**63)) == "true"
    assert p.value(f[n * i], np.dtype(np.float32)) == "f[n * i]"


@pytest.mark.parametrize("node", [c + 300, b * 256, u + 2**32])
def test_literal_that_does_not_fit(node: Expression) -> None:
    with pytest.raises(LiteralOutOfRange, match="cannot hold"):
        text(node)


@pytest.mark.parametrize(
    ("node", "c_text", "opencl_text"),
    [
        (f * 2j, "f * (2.0f * _Complex_I)", "f * (float2)(0.0f, 2.0f)"),
        (z + 1, "z + 1.0f", "z + (float2)(1.0f, 0.0f)"),
        (2 * z, "2.0f * z", "2.0f * z"),
        (z * z, "z * z", "pg_mul_c64(z, z)"),
        (ex.Quotient(z, f), "z / f", "z / f"),
        (ex.Quotient(1, z), "1.0f / z", "pg_div_c64((float2)(1.0f, 0.0f), z)"),
        (
            ex.Sum((1, 2j, z)),
            "1.0f + 2.0f * _Complex_I + z",
            "(float2)(1.0f, 0.0f) + (float2)(0.0f, 2.0f) + z",
        ),
        ((1 + 2j) * z, "(1.0f + 2.0f * _Complex_I) * z", "pg_mul_c64((float2)(1.0f, 2.0f), z)"),
        (ex.Comparison(z, "==", 0), "z == 0.0f", "all(z == (float2)(0.0f, 0.0f))"),
        (ex.Call(Variable("imag"), (z,)), "cimagf(z)", "z.y"),
        (z - f, "z - f", "z - (float2)(f, 0.0f)"),
    ],
)
def test_complex_numbers(node: Any, c_text: str, opencl_text: str) -> None:
    dtype = "float32" if "imag" in str(node) else "complex64"
    dtype = "bool" if isinstance(node, ex.Comparison) else dtype
    assert text(node, dtype) == c_text
    assert text(node, dtype, "opencl") == opencl_text


def test_helpers_are_noted() -> None:
    p = ExpressionPrinter(get_target("c"), NAMES)
    p.value(ex.FloorDiv(j, 3) + ex.FloorDiv(k, 3), np.dtype(np.int32))
    assert p.uses.helpers == {("floor_div", "int32")}
    assert not p.uses.math


def converted(node: Any, dtype: str) -> Any:
    return Variable(dtype)(node)


def test_sums_of_counters_are_added_up_in_double_precision() -> None:
    node = converted(converted(i, "int64") + converted(j, "int64") + 1, "float64")
    assert text(node) == "(double) i + (double) j + 1.0"
    assert text(node, target="cuda") == "(double) ((long long) i + (long long) j + 1)"
    assert text(converted(converted(k, "int64") - 5, "float64")) == "(double) k - 5.0"


@pytest.mark.parametrize("other", [l, 2**60, k * l], ids=["variable", "large", "product"])
def test_sums_that_may_be_no_number_of_double_precision_are_those_of_integers(other: Any) -> None:
    found = text(converted(converted(i, "int64") + other, "float64"))
    assert found.startswith("(double) (")
    assert "(int64_t) i + " in found
