"""Functions that random kernels call: how large their values are, and how steep they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import polygen as pg
from tests.oracle import functions as oracle
from tests.random_kernels.values import ULPS

__all__ = ["CALLS", "CLAIMED", "GENERATORS", "KERNELS", "ONE", "OWN", "TWO", "ULPS"]


@dataclass(frozen=True)
class Function:
    """A function of real numbers.

    Attributes:
        form: the text of a call, with arguments x and y.
        slope: by how much more than the arguments a value changes at most.
        most: a bound of the value, from one of the arguments.
    """

    form: str
    slope: float
    most: Callable[[float], float]


def _at_most(bound: float) -> Callable[[float], float]:
    return lambda _: bound


ONE = (
    Function("sin({x})", 1, _at_most(1)),
    Function("cos({x})", 1, _at_most(1)),
    Function("atan({x})", 1, _at_most(1.6)),
    Function("tanh({x})", 1, _at_most(1)),
    Function("erf({x})", 1.2, _at_most(1)),
    Function("asinh({x})", 1, lambda m: m + 1),
    Function("exp(-fabs({x}))", 1, _at_most(1)),
    Function("exp2(min({x}, 2))", 3, _at_most(4)),
    Function("sqrt(fabs({x}) + 1)", 0.5, lambda m: m + 1),
    Function("rsqrt(fabs({x}) + 1)", 0.5, _at_most(1)),
    Function("cbrt(fabs({x}) + 1)", 0.4, lambda m: m + 1),
    Function("log(fabs({x}) + 1)", 1, lambda m: m),
    Function("log1p(fabs({x}))", 1, lambda m: m),
    Function("(1/(fabs({x}) + 1))", 1, _at_most(1)),
)
TWO = (
    Function("hypot({x}, {y})", 1, lambda m: m),
    Function("atan2({x}, fabs({y}) + 1)", 1, _at_most(1.6)),
    Function("fmax({x}, {y})", 1, lambda m: m),
    Function("fma({x}, 2, {y})", 2, lambda m: 2 * m),
)
# Names, bits of a word, and how many arguments.
GENERATORS = (
    *(("philox2x32", 32, 3), ("philox4x32", 32, 6), ("philox2x64", 64, 3), ("philox4x64", 64, 6)),
    *(("threefry2x32", 32, 4), ("threefry4x32", 32, 8)),
    *(("threefry2x64", 64, 4), ("threefry4x64", 64, 8)),
)

_CODE = """
static inline int own_mix_i(int a, int b) { return (a ^ (b & 255)) - (b & 15); }
static inline float own_half_f(float a) { return a / 2; }
static inline double own_half_d(double a) { return a / 2; }
static inline void own_parts_i(int a, int *low, int *high) { *low = a & 7; *high = a & 56; }
"""
OWN = {
    "own_mix": pg.ScalarCallable({"own_mix_i": "int32, int32 -> int32"}, _CODE),
    "own_half": pg.ScalarCallable(
        {"own_half_f": "float32 -> float32", "own_half_d": "float64 -> float64"}, _CODE
    ),
    "own_parts": pg.ScalarCallable({"own_parts_i": "int32 -> int32, int32"}, _CODE),
}


def _mix(a: Any, b: Any) -> Any:
    return np.int32(a ^ (b & 255)) - np.int32(b & 15)


def _half(a: Any) -> Any:
    return (a if a.dtype == np.float64 else np.float32(a)) / np.float32(2)


# What the interpreters take these for.
oracle.FUNCTIONS |= {
    "own_mix": _mix,
    "own_half": _half,
    "own_parts": lambda a: (np.int32(a & 7), np.int32(a & 56)),
}

pg.register_reduction("xor_all", "a ^ b", 0, associative=True, commutative=True)
_STARTS = {f"{kind}{bits}": bits // 8 for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
pg.register_reduction("horner3", "3*a + b", _STARTS | dict.fromkeys(("float32", "float64"), 0.5))

# Kernels that others call: of 5 elements each.
_PLUS = pg.make_function("{ [k]: 0<=k<5 }", "y[k] = x[k] + s", ["s", "x", "y"], name="own_plus")
_KERNELS = (
    _PLUS,
    pg.make_function(
        "{ [k]: 0<=k<5 }",
        """
        <> top = max(k, x[k])  {id=top}
        y[0] = top             {dep=top}
        """,
        ["x", pg.GlobalArg("y", shape=1)],
        name="own_largest",
    ),
    pg.make_function(
        "{ [k, l]: 0<=k<5 and 0<=l<2 }",
        "y[k] = x[0, 4 - k]*sum(l, x[l, k])",
        ["x", "y"],
        name="own_turned",
        silenced_warnings=("AmbiguousNesting",),
    ),
    pg.make_function(
        "{ [k]: 1<=k<c }", "y[k] = y[k - 1] + x[k] - s", ["c", "s", "x", "y"], name="own_run"
    ),
    pg.make_function(
        "{ [k]: 0<=k<5 }",
        """
        [j]: t[j] = own_plus(3*s, [j]: x[j])  {id=call}
        y[k] = t[4 - k] - 2*x[k]              {dep=call}
        """,
        ["s", pg.GlobalArg("x", shape=5), pg.TemporaryVariable("t", np.int32, 5), "..."],
        functions={"own_plus": _PLUS},
        name="own_nested",
    ),
)
KERNELS = {kernel.name: kernel for kernel in _KERNELS}
# What they are given: s a number, x a row, xx two rows, y what is written; of so many elements.
CALLS = {
    "own_plus": (5, "{s}, {x}"),
    "own_largest": (2, "{x}"),
    "own_turned": (5, "{xx}"),
    "own_run": (5, "{s}, 2, {x}, {y}"),
    "own_nested": (5, "{s}, {x}"),
}
CLAIMED = ("xor_all",)
