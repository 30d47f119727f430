"""What the functions that kernels call are: NumPy's, Python's, and some that are written out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from tests.oracle.math_functions import TYPED, UNTYPED
from tests.oracle.random_numbers import philox, threefry

_Function: TypeAlias = Callable[..., Any]

_SAME = """abs cbrt ceil conj copysign cos cosh exp exp2 expm1 fabs floor fmax fmin fmod hypot imag
    isfinite isinf isnan log log10 log1p log2 nextafter pow real rint signbit sin sinh sqrt
    tan tanh trunc"""
_TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
_PI = np.longdouble("3.14159265358979323846264338327950288")


def _typed_as(like: np.ufunc, function: Callable[..., Any]) -> _Function:
    """Return a function that computes with the most digits, and has the type of NumPy's `like`."""

    def value(*arguments: Any) -> Any:
        joined = np.result_type(
            *[np.asarray(a).dtype if isinstance(a, np.generic) else a for a in arguments]
        )
        with np.errstate(all="ignore"):
            dtype = np.asarray(like(*[np.ones((), joined)] * like.nin)).dtype
            return dtype.type(function(*[np.longdouble(a) for a in arguments]))

    return value


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    def value(*arguments: Any) -> float:
        try:
            return function(*map(float, arguments))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return value


def _converted(name: str) -> _Function:
    return lambda a: np.asarray(a).astype(name)[()]


def _random(name: str) -> _Function:
    found = re.fullmatch(r"(\w+?)(\d)x(\d\d)(_f\d\d)?", name)
    assert found is not None
    count, bits = int(found[2]), int(found[3])
    compute = philox if found[1] == "philox" else threefry

    def value(*arguments: Any) -> tuple[Any, ...]:
        given = [int(a) % 2**bits for a in arguments]
        words = compute(given[:count], given[count:], bits)
        if found[4] is None:
            return tuple([np.dtype(f"uint{bits}").type(word) for word in words])
        digits, dtype = (24, np.float32) if bits == 32 else (53, np.float64)
        return tuple([dtype((word >> (bits - digits)) * 2.0**-digits) for word in words])

    return value


def _logb(a: Any) -> Any:
    return np.longdouble(math.frexp(float(a))[1] - 1) if np.isfinite(a) and a else np.log2(abs(a))


def _by_size(pick: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function that picks the operand of the picked size; of one size, itself picks."""

    def value(a: Any, b: Any) -> Any:
        size = pick(abs(a), abs(b))
        return pick(a, b) if abs(a) == abs(b) else a if abs(a) == size else b

    return value


def _root(a: Any, n: int) -> Any:
    if n % 2 == 0:
        return a ** (np.longdouble(1) / n)
    return np.copysign(abs(a) ** (np.longdouble(1) / n), a)


FUNCTIONS: dict[str, _Function] = {
    **{name: getattr(np, name) for name in _SAME.split()},
    **{f"a{n}": getattr(np, f"arc{n}") for n in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "atan2": np.arctan2,
    **dict.fromkeys(("fma", "mad"), lambda a, b, c: a * b + c),  # rounded once more
    **{name: _converted(name) for name in (*_TYPES.split(), "complex64", "complex128")},
    **{n: _typed_as(np.cbrt, _each(getattr(math, n))) for n in ("erf", "erfc", "lgamma")},
    "tgamma": _typed_as(np.cbrt, _each(math.gamma)),
    "remainder": _typed_as(np.hypot, _each(math.remainder)),
    "rsqrt": _typed_as(np.cbrt, lambda a: 1 / np.sqrt(a)),
    "round": _typed_as(np.cbrt, lambda a: np.copysign(np.floor(np.fabs(a) + 0.5), a)),
    "fdim": _typed_as(np.hypot, lambda a, b: np.maximum(a - b, 0)),
    "sinpi": _typed_as(np.cbrt, lambda a: np.sin(_PI * np.fmod(a, 2))),
    "cospi": _typed_as(np.cbrt, lambda a: np.cos(_PI * np.fmod(a, 2))),
    "tanpi": _typed_as(np.cbrt, lambda a: np.tan(_PI * np.fmod(a, 1))),
    **{
        f"a{n}pi": _typed_as(np.cbrt, lambda a, arc=arc: arc(a) / _PI)
        for n, arc in (("cos", np.arccos), ("sin", np.arcsin), ("tan", np.arctan))
    },
    "atan2pi": _typed_as(np.hypot, lambda a, b: np.arctan2(a, b) / _PI),
    "exp10": _typed_as(np.cbrt, lambda a: np.longdouble(10) ** a),
    "powr": _typed_as(np.hypot, lambda a, b: np.power(a, b) if a >= 0 else np.nan),
    "logb": _typed_as(np.cbrt, _logb),
    "ilogb": lambda a: np.int32(math.frexp(float(a))[1] - 1),
    "maxmag": _typed_as(np.hypot, _by_size(np.fmax)),
    "minmag": _typed_as(np.hypot, _by_size(np.fmin)),
    "pown": lambda a, n: _typed_as(np.cbrt, lambda x: x ** int(n))(a),
    "rootn": lambda a, n: _typed_as(np.cbrt, lambda x: _root(x, int(n)))(a),
    "max": lambda *arguments: reduce(np.maximum, arguments),
    "min": lambda *arguments: reduce(np.minimum, arguments),
    **{
        f"{family}{count}x{bits}{end}": _random(f"{family}{count}x{bits}{end}")
        for family in ("philox", "threefry")
        for count in (2, 4)
        for bits in (32, 64)
        for end in ("", f"_f{bits}")
    },
    **TYPED,
    **UNTYPED,
}


_FAST = "cos exp exp10 exp2 log log10 log2 powr rsqrt sin sqrt tan"
for _prefix in ("half", "native"):
    FUNCTIONS |= {f"{_prefix}_{n}": FUNCTIONS[n] for n in _FAST.split()}
    FUNCTIONS[f"{_prefix}_divide"] = _typed_as(np.hypot, lambda a, b: a / b)
    FUNCTIONS[f"{_prefix}_recip"] = _typed_as(np.cbrt, lambda a: 1 / a)


def call(name: str, arguments: list[Any]) -> Any:
    """Return the value of a function; of Python's numbers it is one, if it is no conversion."""
    with np.errstate(all="ignore"):
        value = FUNCTIONS[name](*arguments)
    if name in TYPED:
        return value
    weak = all(type(a) in (int, float, complex) for a in arguments)
    if weak and isinstance(value, np.generic) and name not in _TYPES and "complex" not in name:
        return value.item() if value.dtype != np.bool_ else value
    return value
