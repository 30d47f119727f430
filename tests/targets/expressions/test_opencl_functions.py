"""OpenCL's functions of integers, its tests, and functions with two results, on awkward numbers.

What they have to be is computed with Python's integers and fractions (`tests.oracle`), which are
compared with NumPy's functions here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygen.analysis.typing.functions import FUNCTIONS, ResultType
from polygen.errors import ReservedName
from polygen.ir import expression as ex
from polygen.ir.expression import Subscript, Variable
from polygen.ir.names import check_name
from tests.few import few
from tests.oracle import functions as oracle
from tests.targets.execute import Array, run_c, run_opencl

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
RNG = np.random.default_rng(11)


def _some_integers(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    near = [0, 1, 2, 3, 7, 8, 100, high, high - 1, high // 2, high // 2 + 1, low, low + 1]
    near += [-1, -2, -7, low // 2] if low < 0 else [high // 3, high - 7, 12, 5]
    return near + [int(x) for x in RNG.integers(low, high, 6, dtype=dtype, endpoint=True)]


def _of_integers() -> dict[str, Array]:
    """Return all pairs of some numbers, with a third one, of each type."""
    arrays: dict[str, Array] = {}
    for dtype in INTEGERS:
        some = np.array(_some_integers(dtype), dtype)
        first, second = (m.ravel() for m in np.meshgrid(some, some))
        third = RNG.permutation(first)
        arrays |= {f"a_{dtype}": first, f"b_{dtype}": second, f"c_{dtype}": third}
        if np.dtype(dtype).itemsize == 4:  # 24 bits, of which one may be a sign
            arrays |= {f"{x}24_{dtype}": (arrays[f"{x}_{dtype}"] >> 8).astype(dtype) for x in "ab"}
    return arrays


def _some_floats(dtype: str) -> list[Any]:
    info = np.finfo(dtype)
    one, number = np.dtype(dtype).type(1), np.dtype(dtype).type
    sized = [info.smallest_subnormal, info.smallest_normal, info.max, info.max / number(1.5)]
    sized += [info.smallest_normal / number(2), one - info.epsneg, one + info.eps, number(0.1)]
    plain = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 100.5, 1023.5, 2049.0]
    return [number(s * x) for s in (1, -1) for x in (*sized, *plain, math.inf)] + [number("nan")]


def _of_floats() -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for dtype in FLOATS:
        some = np.array(_some_floats(dtype), dtype)
        first, second = (m.ravel() for m in np.meshgrid(some, some))
        arrays |= {f"a_{dtype}": first, f"b_{dtype}": second, f"c_{dtype}": RNG.permutation(first)}
        # What 64 bits hold, and numbers of which computing takes no care near overflow.
        mild = np.where(np.fabs(first) < 1e4, first, number_like(first, 3.25))
        arrays |= {f"m_{dtype}": mild, f"n_{dtype}": RNG.permutation(mild)}
        arrays[f"o_{dtype}"] = RNG.permutation(mild)
    size = len(arrays["a_float32"])
    exponents = [0, 1, -1, 5, -7, 150, -160, 1100, -1100, 2**31 - 1, -(2**31) + 1]
    arrays["e_int32"] = np.resize(np.array(exponents, np.int32), size)
    more = [*exponents, 2**31, 2**32, -(2**32), 2**63 - 1, -(2**63)]
    arrays["e_int64"] = np.resize(np.array(more, np.int64), size)
    arrays["e_uint32"] = np.resize(np.array([0, 3, 2**31, 2**32 - 1], np.uint32), size)
    arrays["e_uint64"] = np.resize(np.array([0, 3, 2**31, 2**64 - 1], np.uint64), size)
    for bits in (16, 32, 64):
        arrays[f"u_uint{bits}"] = np.arange(size).astype(f"uint{bits}")
    arrays["t_bool"] = np.arange(size) % 3 == 0
    arrays["t_int8"] = (np.arange(size) % 3 - 1).astype(np.int8)
    return arrays


def number_like(array: Array, value: float) -> Any:
    return array.dtype.type(value)


INTEGER_ARRAYS = _of_integers()
FLOAT_ARRAYS = _of_floats()
_OF_INTEGERS = (ResultType.INTEGER, ResultType.UNSIGNED)
_TESTED = [f for f in FUNCTIONS.values() if f.result is ResultType.TRUTH and f.least == 2]


def _integer_cases() -> list[tuple[str, list[str]]]:
    cases: list[tuple[str, list[str]]] = []
    for dtype in INTEGERS:
        names = [f"{x}_{dtype}" for x in "abc"]
        cases += [
            (f.name, names[: f.least]) for f in FUNCTIONS.values() if f.result in _OF_INTEGERS
        ]
        cases += [(f.name, names[:2]) for f in _TESTED]
        cases += [("sign", names[:1]), ("clamp", names), ("select", names), ("lrint", names[:1])]
        if np.dtype(dtype).itemsize == 4:
            words = [f"a24_{dtype}", f"b24_{dtype}", f"c_{dtype}"]
            cases += [("mul24", words[:2]), ("mad24", words)]
        if np.dtype(dtype).itemsize < 8:
            unsigned = f"u{dtype.lstrip('u')}"
            cases.append(("upsample", [names[0], f"b_{unsigned}"]))
    cases += [("rotate", ["a_uint8", "b_int64"]), ("rotate", ["a_int64", "b_int8"])]
    cases += [(f.name, ["a_int64", "b_uint64"]) for f in _TESTED]
    return [*cases, ("add_sat", ["a_uint8", "b_int16"]), ("mul24", ["a_uint8", "b_uint16"])]


def _float_cases() -> list[tuple[str, list[str]]]:
    cases: list[tuple[str, list[str]]] = []
    for dtype in FLOATS:
        a, b, c = (f"{x}_{dtype}" for x in "abc")
        cases += [(name, [a]) for name in ("sign", "nearbyint", "isnormal", "degrees", "radians")]
        cases += [(f.name, [a, b]) for f in _TESTED]
        cases += [("clamp", [a, b, c]), ("step", [a, b]), ("select", [a, b, "t_int8"])]
        cases += [(n, [f"m_{dtype}"]) for n in ("lrint", "llrint", "lround", "llround")]
        cases += [(n, [f"{x}_{dtype}" for x in "mno"]) for n in ("mix", "smoothstep")]
        cases += [(n, [a, f"e_{e}"]) for n in ("ldexp", "scalbn") for e in ("int32", "int64")]
        cases += [("scalbln", [a, f"e_{e}"]) for e in ("int64", "uint32", "uint64")]
        cases.append(("nan", [f"u_uint{dtype[5:]}"]))
    return [*cases, ("select", ["a_float32", "b_float64", "t_bool"])]


def _pair_cases() -> list[tuple[str, list[str]]]:
    cases: list[tuple[str, list[str]]] = []
    for dtype in FLOATS:
        one = [f"a_{dtype}"]
        cases += [(n, one) for n in ("frexp", "modf", "fract")]
        cases += [(n, [f"m_{dtype}"]) for n in ("sincos", "lgamma_r")]
        cases.append(("remquo", [*one, f"b_{dtype}"]))
    return cases


def _call(name: str, operands: list[str]) -> ex.Call:
    elements = [Subscript(Variable(o), Variable("i")) for o in operands]
    return ex.Call(Variable(name), tuple(elements))


def _expected(name: str, operands: list[str], arrays: Mapping[str, Array]) -> list[Array]:
    """Return what the interpreter of the tests computes: an array for each result."""
    given = zip(*(arrays[o] for o in operands), strict=True)
    rows = [oracle.call(name, list(row)) for row in given]
    several = isinstance(rows[0], tuple)
    columns = list(zip(*rows, strict=True)) if several else [rows]
    return [np.array(column) for column in columns]


# Those that are rounded: units in the last place, of the result or, near a zero of it, of 1.
_ROUNDED = {"degrees": 4, "radians": 4, "mix": 16, "smoothstep": 64, "sincos": 32, "lgamma_r": 64}


def _good(name: str, found: Array, expected: Array, operands: list[Array]) -> Any:
    if found.dtype != expected.dtype:
        return np.zeros(len(found), bool)
    if name in _ROUNDED and found.dtype.kind == "f":
        eps = float(np.finfo(found.dtype).eps) * _ROUNDED[name]
        largest = np.fmax.reduce([np.fabs(o.astype(np.float64)) for o in operands])
        scale = eps * np.where(np.isfinite(largest), np.fmax(largest, 1), 1)
        wide, wanted = found.astype(np.longdouble), expected.astype(np.longdouble)
        with np.errstate(all="ignore"):
            near = np.fabs(wide - wanted) <= eps * np.fabs(wanted) + scale * (name != "degrees")
        return near | (found == expected) | (np.isnan(found) & np.isnan(expected))
    if found.dtype.kind == "f":
        alike = found == expected
        if name != "clamp":  # which of two zeros is the larger one, nobody says
            alike &= np.signbit(found) == np.signbit(expected)
        return alike | (np.isnan(found) & np.isnan(expected))
    return found == expected


def _check(
    cases: list[tuple[str, list[str]]], arrays: Mapping[str, Array], target: str, folder: Path
) -> None:
    expected = [_expected(name, operands, arrays) for name, operands in cases]
    expressions: list[ex.Expression] = []
    for (name, operands), results in zip(cases, expected, strict=True):
        call = _call(name, operands)
        parts = [ex.Component(call, k) for k in range(len(results))]
        expressions += parts if len(results) > 1 else [call]
    run: list[Array] = (
        run_c(expressions, arrays, folder) if target == "c" else run_opencl(expressions, arrays)
    )
    found = iter(run)
    wrong: list[str] = []
    for (name, operands), results in zip(cases, expected, strict=True):
        values = [arrays[o] for o in operands]
        for number, one in enumerate(results):
            got = next(found)
            good = _good(name, got, one, values)
            if not good.all():
                k = int(np.argmin(good))
                given = [v[k] for v in values]
                count = f"{int((~good).sum())} of {len(good)}"
                wrong.append(f"{name}{given}[{number}]: {got[k]!r}, not {one[k]!r} ({count})")
    assert not wrong, "\n".join(wrong)


def _free(name: str) -> bool:
    """Tell whether a variable may be called like a function."""
    try:
        check_name(name)
    except ReservedName:
        return False
    return True


@pytest.mark.parametrize(
    "hidden", [pytest.param(False, marks=pytest.mark.more), True], ids=["seen", "hidden"]
)
@pytest.mark.parametrize("target", ["c", "opencl"])
@few(1, "cases", ["integers", "floats", "two"])
def test_values(cases: str, target: str, hidden: bool, tmp_path: Path) -> None:
    """Also where variables have the names of functions, and so hide those of OpenCL."""
    make, arrays = {
        "integers": (_integer_cases, INTEGER_ARRAYS),
        "floats": (_float_cases, FLOAT_ARRAYS),
        "two": (_pair_cases, FLOAT_ARRAYS),
    }[cases]
    if hidden:
        size = len(next(iter(arrays.values())))
        named = {name: np.zeros(size, np.uint8) for name in FUNCTIONS if _free(name)}
        assert {"clamp", "select", "sign", "step", "clz", "sincos"} < named.keys()
        arrays = {**arrays, **{n: a for n, a in named.items() if FUNCTIONS[n].dtype is None}}
    _check(make(), arrays, target, tmp_path)
