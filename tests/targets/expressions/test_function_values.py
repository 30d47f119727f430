"""Mathematical functions have the values that NumPy, Python or extended precision give them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygen.analysis.typing.functions import FAST, FUNCTIONS, ResultType
from polygen.ir import expression as ex
from polygen.ir.expression import Subscript, Variable
from tests.targets.execute import Array, run_c, run_opencl

LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    """Return a function of Python's for arrays."""

    def value(*arguments: Any) -> float:
        try:
            return float(function(*map(float, arguments)))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return np.vectorize(value, otypes=[np.float64])


def _by_magnitude(pick: Callable[[Any, Any], Any], other: Any) -> Callable[[Any, Any], Any]:
    def value(a: Any, b: Any) -> Any:
        result = np.where(pick(np.fabs(a), np.fabs(b)), a, b)
        return np.where(np.fabs(a) == np.fabs(b), other(a, b), result)

    return value


def _round(a: Any) -> Any:
    return np.copysign(np.floor(np.fabs(a) + LONG(0.5)), a)


def _root(a: Any, n: Any) -> Any:
    odd = np.copysign(np.fabs(a) ** (LONG(1) / n), a)
    with np.errstate(all="ignore"):
        return np.where(n % 2 == 0, a ** (LONG(1) / n), odd)


def _smooth(share: Any) -> Any:
    return 3 * share**2 - 2 * share**3


# What each function is, of numbers of extended precision.
REFERENCES: Mapping[str, Callable[..., Any]] = {
    **{n: getattr(np, f"arc{n[1:]}") for n in ("acos", "acosh", "asin", "asinh", "atan", "atanh")},
    **{
        name: getattr(np, name)
        for name in """cbrt ceil copysign cos cosh exp exp2 expm1 fabs floor fmax fmin fmod hypot
        log log10 log1p log2 rint sin sinh sqrt tan tanh trunc""".split()  # noqa: SIM905
    },
    **{name: _each(getattr(math, name)) for name in ("erf", "erfc", "lgamma", "remainder")},
    "tgamma": _each(math.gamma),
    "atan2": np.arctan2,
    "pow": np.power,
    "powr": np.power,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "round": _round,
    "fdim": lambda a, b: np.maximum(a - b, 0),
    "fma": lambda a, b, c: a * b + c,
    "mad": lambda a, b, c: a * b + c,
    "exp10": lambda a: LONG(10) ** a,
    "logb": lambda a: np.floor(np.log2(np.fabs(a))),
    "maxmag": _by_magnitude(np.greater, np.maximum),
    "minmag": _by_magnitude(np.less, np.minimum),
    "acospi": lambda a: np.arccos(a) / PI,
    "asinpi": lambda a: np.arcsin(a) / PI,
    "atanpi": lambda a: np.arctan(a) / PI,
    "atan2pi": lambda a, b: np.arctan2(a, b) / PI,
    "sinpi": lambda a: np.sin(PI * np.fmod(a, 2)),
    "cospi": lambda a: np.cos(PI * np.fmod(a, 2)),
    "tanpi": lambda a: np.tan(PI * np.fmod(a, 1)),
    **dict.fromkeys(("ldexp", "scalbln", "scalbn"), lambda a, n: a * LONG(2) ** n),
    "nearbyint": np.rint,
    "degrees": np.degrees,
    "radians": np.radians,
    "sign": np.sign,
    "clamp": lambda a, low, high: np.minimum(np.maximum(a, low), high),
    "mix": lambda a, b, share: a + (b - a) * share,
    "step": lambda edge, a: np.heaviside(a - edge, LONG(1)),
    "smoothstep": lambda low, high, a: _smooth(np.clip((a - low) / (high - low), 0, 1)),
    "pown": lambda a, n: a**n,
    "rootn": _root,
}
REFERENCES = {
    **REFERENCES,
    **{
        name: {"divide": np.divide, "recip": np.reciprocal}.get(usual) or REFERENCES[usual]
        for name, usual in FAST.items()
    },
}
CHECKED_ALONE = {"nextafter"}

RNG = np.random.default_rng(5)
SMALL = RNG.uniform(-0.99, 0.99, 200)
# Nothing close to half a period, where the tangent has a pole, nor to what rounding decides.
LARGE = RNG.integers(-40, 40, 200) / 8 + 0.03
RANGES = {"acosh": 1.01 + np.fabs(LARGE), "tgamma": np.fabs(LARGE) + 0.2, "lgamma": np.fabs(LARGE)}
UNIT = ("acos", "asin", "atanh", "acospi", "asinpi")
POSITIVE = ("log", "log2", "log10", "sqrt", "rsqrt", "pow", "powr", "log1p")
ARRAYS: dict[str, Array] = {"whole": np.tile([1, 2, 3, -1, -3], 40).astype(np.int32)}


def _operands(name: str, dtype: str) -> list[str]:
    """Return the names of arrays with numbers that a function is for."""
    usual = FAST.get(name, name)
    first = RANGES.get(name, SMALL if name in UNIT else LARGE)
    first = np.fabs(first) if usual in POSITIVE else first
    ARRAYS[f"x_{name}_{dtype}"] = first.astype(dtype)
    function = FUNCTIONS[name]
    others = ["whole"] if function.exponent else [f"y{k}_{dtype}" for k in range(1, function.least)]
    for other in others:
        if other not in ARRAYS:
            ARRAYS[other] = RNG.permutation(LARGE).astype(dtype)
    return [f"x_{name}_{dtype}", *others]


def _case(name: str, operands: list[str]) -> ex.Expression:
    elements = [Subscript(Variable(o), Variable("i")) for o in operands]
    return ex.Call(Variable(name), tuple(elements))


MATHEMATICAL = sorted(
    f.name
    for f in FUNCTIONS.values()
    if f.most is not None and f.result in (ResultType.FLOATING, ResultType.KEPT, ResultType.NUMBER)
)
OPERANDS = {
    (name, dtype): _operands(name, dtype)
    for name in MATHEMATICAL
    if name not in (*CHECKED_ALONE, "conj", "cproj")
    for dtype in ("float32", "float64")
}


def test_each_function_has_a_reference() -> None:
    assert {name for name, _ in OPERANDS} == set(REFERENCES)


def _check(results: list[Array]) -> None:
    wrong: list[str] = []
    for ((name, dtype), operands), found in zip(OPERANDS.items(), results, strict=True):
        with np.errstate(all="ignore"):
            values = [ARRAYS[o] if o == "whole" else ARRAYS[o].astype(LONG) for o in operands]
            expected = REFERENCES[name](*values).astype(dtype)
        assert found.dtype == expected.dtype
        # Where functions are close to zero, as lgamma at 1, their errors are not relative ones.
        eps = float(np.finfo(expected.dtype).eps)
        # Of those that are quick, at least the digits of a half count.
        eps = max(eps, 2.0**-15) if name in FAST and dtype == "float32" else eps
        good = np.isclose(found, expected, rtol=32 * eps, atol=16 * eps, equal_nan=True)
        if not good.all():
            k = int(np.argmin(good))
            given = [ARRAYS[o][k] for o in operands]
            wrong.append(f"{name}{given}: {found[k]!r}, not {expected[k]!r}")
    assert not wrong, "\n".join(wrong)


def test_values_in_c(tmp_path: Path) -> None:
    _check(run_c([_case(n, o) for (n, _), o in OPERANDS.items()], ARRAYS, tmp_path))


@pytest.mark.more
def test_values_in_opencl() -> None:
    _check(run_opencl([_case(n, o) for (n, _), o in OPERANDS.items()], ARRAYS))


EXTREME = np.array([0.0, -0.0, 1.0, -2.5, 0.1, 3e-5, 7.0, np.inf, -np.inf, np.nan])
EXACT: list[tuple[str, list[str], Array]] = []
for _type in ("float32", "float64"):
    _one = EXTREME.astype(_type)
    _two = np.roll(_one, 3)
    EXACT += [
        ("nextafter", [f"e_{_type}", f"f_{_type}"], np.nextafter(_one, _two)),
        ("signbit", [f"e_{_type}"], np.signbit(_one)),
        ("isinf", [f"e_{_type}"], np.isinf(_one)),
        ("sinpi", [f"whole_{_type}"], np.zeros(10, _type)),
        ("cospi", [f"whole_{_type}"], np.where(np.arange(10) % 2, -1, 1).astype(_type)),
        ("ilogb", [f"p_{_type}"], np.array([3, -2, 0, 10, 3, -2, 0, 10, 3, -2], np.int32)),
        ("round", [f"h_{_type}"], np.tile([1, -1, 3, -3, 0], 2).astype(_type)),
        ("rint", [f"h_{_type}"], np.tile([0, 0, 2, -2, 0], 2).astype(_type)),
    ]
WHOLE: list[tuple[str, list[str], Array]] = []
INTEGERS = ("int8", "uint16", "int32", "uint64")
for _type in INTEGERS:
    _one = np.array([7, 100, 3, 0, 5, 120, 1, 2, 9, 6], _type)
    _two = np.array([2, 3, 5, 1, 2, 1, 2, 0, 2, 3], _type)
    WHOLE += [
        *((name, [f"i_{_type}"], _one) for name in ("floor", "ceil", "trunc")),
        ("fmin", [f"i_{_type}", f"j_{_type}"], np.fmin(_one, _two)),
        ("fmax", [f"i_{_type}", f"j_{_type}"], np.fmax(_one, _two)),
        ("pow", [f"i_{_type}", f"j_{_type}"], np.power(_one, _two)),
    ]
    with np.errstate(all="ignore"):  # dividing by zero gives zero
        WHOLE.append(("fmod", [f"i_{_type}", f"j_{_type}"], np.fmod(_one, _two)))


def _exact_arrays() -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for dtype in ("float32", "float64"):
        one = EXTREME.astype(dtype)
        arrays |= {f"e_{dtype}": one, f"f_{dtype}": np.roll(one, 3)}
        arrays[f"whole_{dtype}"] = np.arange(1000, 1010).astype(dtype)
        arrays[f"p_{dtype}"] = np.resize([8, 0.3, -1.5, 1024], 10).astype(dtype)
        arrays[f"h_{dtype}"] = np.resize([0.5, -0.5, 2.5, -2.5, 0.25], 10).astype(dtype)
    for dtype in INTEGERS:
        arrays[f"i_{dtype}"] = np.array([7, 100, 3, 0, 5, 120, 1, 2, 9, 6], dtype)
        arrays[f"j_{dtype}"] = np.array([2, 3, 5, 1, 2, 1, 2, 0, 2, 3], dtype)
    return arrays


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_exact_values(target: str, tmp_path: Path) -> None:
    arrays = _exact_arrays()
    cases = [_case(name, operands) for name, operands, _ in EXACT + WHOLE]
    results = run_c(cases, arrays, tmp_path) if target == "c" else run_opencl(cases, arrays)
    for (name, operands, expected), found in zip(EXACT + WHOLE, results, strict=True):
        assert found.dtype == expected.dtype, (name, operands)
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind == "f"), (name, operands)


def test_negative_operands_of_fmod_keep_their_sign(tmp_path: Path) -> None:
    arrays = {"a": np.array([-7, 7, -7, -128], np.int8), "b": np.array([3, -3, 0, -1], np.int8)}
    (found,) = run_c([_case("fmod", ["a", "b"])], arrays, tmp_path)
    with np.errstate(all="ignore"):
        assert np.array_equal(found, np.fmod(arrays["a"], arrays["b"]))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_neighbours_of_all_halves(target: str, tmp_path: Path) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    ends = [np.full(2**16, end, np.float16) for end in (np.inf, -np.inf, 0.0, -0.0, np.nan)]
    others = [*ends, RNG.permutation(every), every]
    arrays = {"h": np.tile(every, len(others)), "k": np.concatenate(others)}
    cases = [_case("nextafter", ["h", "k"])]
    (found,) = run_c(cases, arrays, tmp_path) if target == "c" else run_opencl(cases, arrays)
    with np.errstate(all="ignore"):
        expected = np.nextafter(arrays["h"], arrays["k"])
    assert found.dtype == np.float16
    numbers = ~np.isnan(expected)
    assert np.array_equal(numbers, ~np.isnan(found))
    bits = found[numbers].view(np.uint16), expected[numbers].view(np.uint16)
    assert np.array_equal(*bits)  # signs of zeros too
