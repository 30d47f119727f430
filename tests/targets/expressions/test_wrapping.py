"""Integers wrap around as NumPy's do, whatever compilers make of it.

In C, a signed integer never leaves its type: so ``x*x`` is positive to an optimizer, and ``x + 1``
larger than ``x``.  Operands are the least and the greatest numbers, those beside them and beside
zero, each with each, and random ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir.expression import Expression, Subscript, Variable
from tests.few import few
from tests.targets.execute import Array, evaluate, run_c, run_opencl

pytestmark = pytest.mark.usefixtures("optimized")

SMALL = ("int8", "uint8", "int16", "uint16")
LARGE = ("int32", "uint32", "int64", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")

_RANDOM = 63


def _extremes(dtype: np.dtype[Any]) -> Array:
    info = np.iinfo(dtype)
    root = int(np.sqrt(float(info.max)))
    found = [info.min, info.min + 1, 0, 1, 2, root + 1, info.max // 2 + 1, info.max - 1, info.max]
    return np.array([*found, info.max if dtype.kind == "u" else -1], dtype)


def _arrays() -> dict[str, Array]:
    """Return ``a_int8``, ``b_int8`` and so on: pairs of extremes, then of random numbers."""
    rng = np.random.default_rng(26)
    arrays: dict[str, Array] = {}
    for name in (*SMALL, *LARGE):
        dtype = np.dtype(name)
        pairs = np.array([*product(_extremes(dtype), repeat=2)], dtype)
        info = np.iinfo(dtype)
        for letter, column in zip("ab", pairs.T, strict=True):
            random = rng.integers(info.min, info.max, _RANDOM, dtype, endpoint=True)
            arrays[f"{letter}_{name}"] = np.concatenate([column, random])
    # x*x % 9 was 3 on C
    arrays["a_int32"][-1] = 1032732902
    return arrays


ARRAYS = _arrays()


def element(name: str) -> Any:
    return Subscript(Variable(name), Variable("i"))


def call(name: str, *operands: Any) -> Any:
    return ex.Call(Variable(name), operands)


def minus(left: Any, right: Any) -> Any:
    return ex.Sum((left, ex.Product((-1, right))))


def _arithmetic(t: str) -> list[Expression]:
    """Each operator whose result may be no number of the type, and chains of some."""
    x, y = element(f"a_{t}"), element(f"b_{t}")
    bits = 8 * np.dtype(t).itemsize
    return [
        ex.Sum((x, y)),
        minus(x, y),
        ex.Product((x, y)),
        ex.Sum((x, 1)),
        minus(ex.Sum((x, y)), 1),
        ex.Product((3, x)),
        ex.Sum((x, y, x, y)),
        ex.Product((x, y, x, y, y)),
        ex.Sum((ex.Product((x, x)), ex.Product((y, y)))),
        minus(ex.Product((x, y)), ex.Product((y, ex.Sum((x, y))))),
        ex.Sum((x, ex.Product((5, y)))),
        ex.LeftShift(x, 1),
        ex.LeftShift(ex.Sum((x, y)), bits - 1),
        ex.LeftShift(x, ex.BitwiseAnd((y, bits - 1))),
        ex.RightShift(ex.Sum((x, y)), 1),
        ex.Power(x, 2),
        ex.Power(ex.Sum((x, y)), 3),
        ex.Power(x, 4),
        ex.Power(x, ex.BitwiseAnd((y, 7))),
        call("abs", x),
        call("abs", minus(x, y)),
        minus(ex.Max((x, y)), ex.Min((x, y))),
        ex.FloorDiv(x, y),
        ex.Remainder(x, y),
        ex.Sum((ex.FloorDiv(x, y), y)),
        ex.Sum((call("abs", x), 1)),
        ex.FloorDiv(ex.Sum((x, y)), 7),
        ex.Remainder(ex.Product((x, x)), 9),
        ex.Product((ex.Sum((ex.Remainder(x, 9), 1)), y)),
        ex.Product((ex.BitwiseAnd((x, 15)), ex.BitwiseAnd((y, 7)))),
        ex.BitwiseNot(ex.Sum((x, y))),
        ex.BitwiseXor((minus(x, y), x)),
        ex.BitwiseAnd((ex.Product((x, y)), y)),
        ex.If(ex.Comparison(x, "<", y), ex.Product((x, y)), x),
        ex.If(ex.Comparison(x, "<", y), minus(x, y), ex.Sum((x, y))),
        ex.FloorDiv(ex.Sum((ex.Max((x, 0)), ex.Max((y, 0)))), 3),
        ex.Remainder(ex.Product((ex.Max((x, 1)), ex.Max((y, 1)))), 10),
        call("int64", ex.Product((x, y))),
        call("float64", ex.Sum((x, y))),
        ex.Product((ex.Sum((x, y)), 0.5)),
        ex.Sum((x, Variable("n"))) if bits > 8 else x,
    ]


def _with_signs(t: str) -> list[Expression]:
    """Negatives, and what an optimizer knows of numbers that do not wrap around."""
    x, y = element(f"a_{t}"), element(f"b_{t}")
    negative = ex.Product((-1, x))
    least = ex.Comparison(call("abs", x), "<", 0)
    return [
        negative,
        ex.Product((-1, x, y)),
        ex.Product((-1, ex.Sum((x, y)))),
        ex.Product((-3, x)),
        ex.Comparison(negative, "==", x),
        ex.FloorDiv(x, -1),
        ex.Remainder(x, -1),
        ex.FloorDiv(negative, 2),
        least,
        ex.Comparison(ex.Sum((x, 1)), ">", x),
        ex.Comparison(minus(x, 1), "<", x),
        ex.Comparison(minus(x, y), ">", 0),
        ex.Comparison(ex.Product((x, x)), ">=", 0),
        ex.Comparison(ex.FloorDiv(ex.Product((x, 2)), 2), "==", x),
        ex.Comparison(ex.Sum((x, y)), "<", y),
        ex.Comparison(ex.Remainder(ex.Product((x, x)), 2), "==", 0),
        ex.Comparison(ex.Product((x, y)), "<", element("a_uint32")),
        ex.Product((negative, 0.5)),
        ex.If(least, 7, ex.Sum((x, 1))),
    ]


def _mixed() -> list[Expression]:
    """Operands of two types, of which NumPy has the result in one that holds both."""
    cases: list[Expression] = []
    for s, t in product((*SMALL, *LARGE), repeat=2):
        x, y = element(f"a_{s}"), element(f"b_{t}")
        if s != t and {s, t}.isdisjoint({"uint64"}):
            cases += [ex.Sum((x, y)), minus(ex.Product((x, y)), y), ex.Sum((x, x, y))]
    return cases


CASES = [
    *(case for t in (*SMALL, *LARGE) for case in _arithmetic(t)),
    *(case for t in SIGNED for case in _with_signs(t)),
    *_mixed(),
]
# GCC warns of what it finds out about unsigned numbers.
_FLAGS = ("-Wno-error",)
_SANITIZED = ("-O0", "-fsanitize=undefined")


def check(cases: Sequence[Expression], results: Sequence[Array]) -> None:
    values = {**ARRAYS, "n": len(ARRAYS["a_int8"])}
    wrong: list[str] = []
    for case, found in zip(cases, results, strict=True):
        expected = np.broadcast_to(np.asarray(evaluate(case, values)), found.shape)
        for k in np.flatnonzero(found != expected)[:1]:
            operands = {m: array[k] for m, array in ARRAYS.items() if f"{m}[" in str(case)}
            wrong.append(f"{case}: {found[k]!r}, not {expected[k]!r}, for {operands}")
        if found.dtype != expected.dtype:
            wrong.append(f"{case}: {found.dtype}, not {expected.dtype}")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:20])


@few(1, "step", [5, 1])
def test_every_operator_in_c(tmp_path: Path, step: int) -> None:
    cases = CASES[::step]
    check(cases, run_c(cases, ARRAYS, tmp_path, (*_FLAGS, "-O2")))


@pytest.mark.deep
def test_with_vectors_in_c(tmp_path: Path) -> None:
    flags = (*_FLAGS, "-O3", "-march=native")
    check(CASES, run_c(CASES, ARRAYS, tmp_path, flags))


@few(1, "step", [4, 1])
def test_nothing_undefined_in_c(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], step: int
) -> None:
    """GCC's sanitizer sees no signed overflow, and no shift of a negative number."""
    cases = CASES[1::step]
    check(cases, run_c(cases, ARRAYS, tmp_path, (*_FLAGS, *_SANITIZED)))
    assert "runtime error" not in capfd.readouterr().err


def test_the_sanitizer_sees_overflow(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is computed of counters is signed: here it is larger than it is in kernels."""
    case = ex.Comparison(ex.Product((Variable("i"), 2**30)), ">", element("a_int32"))
    run_c([case], ARRAYS, tmp_path, _SANITIZED)
    assert "signed integer overflow" in capfd.readouterr().err


@few(1, "step", [5, 1])
def test_every_operator_in_opencl(step: int) -> None:
    cases = CASES[::step]
    check(cases, run_opencl(cases, ARRAYS, may_warn=True))


# --- in kernels: vectors, sums, atomic updates

_TEXT = """
r[i] = (x[i]*x[i]) % 9
s[i] = 7 if x[i] + 1 > x[i] else abs(x[i]*y[i]) % 7
t[i] = -x[i] - y[i]
u[i] = (x[i] << 2) + 3*y[i] + (x[i] & y[i] + 1)
"""


def _expected(x: Array, y: Array) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        one = x.dtype.type(1)
        return {
            "r": (x * x) % 9,
            "s": np.where(x + one > x, x.dtype.type(7), np.abs(x * y) % 7),
            "t": -x - y,
            "u": (x << 2) + 3 * y + (x & (y + one)),
        }


def _operands(name: str) -> tuple[Array, Array]:
    count = len(ARRAYS["a_int8"]) // 8 * 8
    return tuple(ARRAYS[f"{letter}_{name}"][-count:].copy() for letter in "ab")  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("c", "int32"),
        ("opencl", "int32"),
        *(pytest.param("c", name, marks=pytest.mark.more) for name in ("int16", "int64", "uint32")),
        *(pytest.param("opencl", name, marks=pytest.mark.more) for name in ("int8", "int64")),
    ],
)
def test_lanes(target: str, name: str) -> None:
    x, y = _operands(name)
    data = [pg.GlobalArg(a, name) for a in "xyrstu"]
    knl = pg.make_kernel("{ [i]: 0<=i<8*n }", _TEXT, [*data, "..."])
    lanes = 32 // max(4, x.itemsize)
    knl = pg.set_options(pg.split_iname(knl, "i", lanes, inner_tag="vec"), return_dict=True)
    _, found = knl.executor(target)(x=x, y=y)
    for result, expected in _expected(x, y).items():
        np.testing.assert_array_equal(found[result], expected, err_msg=result)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_sums(target: str) -> None:
    """What reductions, scans and updates accumulate, on one thread and in lanes."""
    x, y = _operands("int64")
    text = """
    total[0] = sum(i, x[i]*y[i])
    factor[0] = product(j, 2*x[j] + 1)
    running[l] = sum(k, x[k])
    """
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [l,k]: 0<=k<=l<n }"]
    data = [*(pg.GlobalArg(a, np.int64, shape="n") for a in "xy"), "..."]
    knl = pg.set_options(pg.make_kernel(domains, text, data), return_dict=True)
    _, found = knl.executor(target)(x=x, y=y)
    with np.errstate(all="ignore"):
        assert found["total"][0] == np.sum(x * y)
        assert found["factor"][0] == np.prod(2 * x + 1)
        np.testing.assert_array_equal(found["running"], np.cumsum(x))


@few(1, "target", ["c", "opencl"])
def test_atomic_updates(target: str) -> None:
    x, y = _operands("int32")
    text = """
    sums[i % 3] = sums[i % 3] + x[i]*y[i]  {atomic}
    products[i % 3] = products[i % 3]*(2*x[i] + 1)  {atomic}
    """
    data = [pg.GlobalArg(a, np.int32, shape=s) for a, s in zip("xy", "nn", strict=True)]
    data += [pg.GlobalArg(a, np.int32, shape=3) for a in ("sums", "products")]
    knl = pg.tag_inames(pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."]), {"i": "g.0"})
    sums, products = np.zeros(3, np.int32), np.ones(3, np.int32)
    knl.executor(target)(x=x, y=y, sums=sums, products=products)
    with np.errstate(all="ignore"):
        terms, factors = x * y, 2 * x + np.int32(1)
    for k in range(3):
        assert sums[k] == np.sum(terms[k::3], dtype=np.int32)
        assert products[k] == np.prod(factors[k::3], dtype=np.int32)


def test_atomic_sums_are_the_hardware_s() -> None:
    """GCC has no instruction for ``h += (unsigned) x``: there it would compare and swap."""
    text = "h[b[i]] = h[b[i]] + x[i]*x[i]  {atomic}"
    data = [pg.GlobalArg(a, np.int32, shape="n") for a in "xbh"]
    knl = pg.tag_inames(pg.make_kernel("{ [i]: 0<=i<n }", text, [*data, "..."]), {"i": "g.0"})
    assert "h[b[i]] += (int) (x[i] * (uint32_t) x[i]);" in pg.generate_code(knl, "c").source


# --- what is left as it is


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("out[i] = 3*i + 1", "3LL * i + 1"),
        ("out[i] = x[2*p[i] + i]", "x[2 * p[i] + i]"),
        ("out[i] = (x[i] & 255)*(p[i] & 255) + 1", "(x[i] & 255) * (p[i] & 255) + 1"),
        ("out[i] = x[i]//3 + 1", "pg_floor_div_i32(x[i], 3) + 1"),
        ("out[i] = s[i]*s[i] - 1", "s[i] * s[i] - 1"),
        ("out[i] = int32(s[i])*int32(s[i])", "(int) s[i] * (int) s[i]"),
        ("out[i] = int64(x[i])*int64(p[i])", "(int64_t) x[i] * (int64_t) p[i]"),
    ],
)
def test_what_does_not_leave_its_type(statement: str, expected: str) -> None:
    """Counters, subscripts, and values that are proved to be small are computed as they are."""
    types = {"s": np.int16, "x": np.int32, "p": np.int32}
    data = [
        pg.GlobalArg(name, types[name], shape="n + 9") for name in types if f"{name}[" in statement
    ]
    text = pg.generate_code(
        pg.make_kernel("{ [i]: 0<=i<n }", statement, [*data, "..."]), "c"
    ).source
    assert f"out[i] = {expected};" in text


def test_a_sum_is_converted_once() -> None:
    data = [*(pg.GlobalArg(a, np.int32) for a in "xyz"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "z[i] = x[i] + y[i]*x[i] - y[i] + z[i] + 1", data)
    text = pg.generate_code(knl, "c").source
    assert "z[i] = x[i] + y[i] * (uint32_t) x[i] - y[i] + z[i] + 1;" in text


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_constants_that_another_type_has_otherwise(target: str) -> None:
    """A conversion to a type that lacks a number wraps, also if another one follows."""
    text = """
    a[i] = uint64(uint32(int32(-1)))
    b[i] = uint64(int32(-1))
    c[i] = int64(uint32(int32(-7)))
    """
    knl = pg.make_kernel("{ [i]: 0<=i<1 }", text)
    _, found = knl.executor(target)()
    assert [int(one[0]) for one in found] == [2**32 - 1, 2**64 - 1, 2**32 - 7]
