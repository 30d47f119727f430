"""OpenCL's functions of integers, its common and relational ones, and those with two results.

Integers are Python's, which have as many bits as they need; what does not fit wraps around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

_Function: TypeAlias = Callable[..., Any]
_PI = np.longdouble("3.14159265358979323846264338327950288")


def _meet(arguments: Any) -> Any:
    """Return the type in which NumPy computes with arguments, of which some are Python's."""
    if all(type(a) is int for a in arguments):
        return np.dtype(np.int64)
    return np.result_type(
        *[a if type(a) in (int, float, complex) else np.asarray(a).dtype for a in arguments]
    )


def _sine_type(arguments: Any) -> Any:
    if all(type(a) in (int, float) for a in arguments):
        return np.dtype(np.float64)
    return np.sin(np.ones((), _meet(arguments))).dtype


def _limits(dtype: Any) -> tuple[int, int]:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def wrapped(value: int, dtype: Any) -> Any:
    """Return the number of a type that is equal to a number but for multiples of 2**bits."""
    low, high = _limits(dtype)
    return dtype.type((value - low) % (high - low + 1) + low)


def _saturated(value: int, dtype: Any) -> Any:
    low, high = _limits(dtype)
    return dtype.type(min(max(value, low), high))


def _whole(function: Callable[..., int], fit: Callable[[int, Any], Any] = wrapped) -> _Function:
    """Return a function of integers, which is given their number of bits before them."""

    def value(*arguments: Any) -> Any:
        dtype = _meet(arguments)
        dtype = np.dtype("int8") if dtype == np.bool_ else dtype
        assert dtype.kind in "iu"
        given = [int(a) for a in arguments]
        return fit(function(8 * dtype.itemsize, *given), dtype)

    return value


def _unsigned(function: Callable[..., int]) -> _Function:
    return _whole(function, lambda value, dtype: wrapped(value, np.dtype(f"u{dtype.itemsize}")))


def _rotate(a: Any, count: Any) -> Any:
    bits, dtype = 8 * _meet([a]).itemsize, _meet([a])
    by, unsigned = int(count) % bits, int(a) % 2**bits
    return wrapped(unsigned << by | unsigned >> (bits - by), dtype)


def _of_words(function: Callable[..., int]) -> _Function:
    def value(*arguments: Any) -> Any:
        unsigned = any(type(a) is not int for a in arguments) and _meet(arguments).kind == "u"
        return wrapped(function(*map(int, arguments)), np.dtype("uint32" if unsigned else "int32"))

    return value


def _upsample(upper: Any, lower: Any) -> Any:
    bits = 8 * upper.dtype.itemsize
    return np.dtype(f"{upper.dtype.kind}{bits // 4}").type(int(upper) * 2**bits + int(lower))


def _floats(function: Callable[..., Any]) -> _Function:
    """Return a function that computes with the most digits, in the type that a sine has."""

    def value(*arguments: Any) -> Any:
        dtype = _sine_type(arguments)
        return dtype.type(function(*[np.longdouble(dtype.type(a)) for a in arguments]))

    return value


def _pair(function: Callable[..., Any]) -> _Function:
    """Return a function with two results; a second that is an ``int`` has 32 bits."""

    def value(*arguments: Any) -> Any:
        dtype = _sine_type(arguments)
        first, second = function(*[float(dtype.type(a)) for a in arguments])
        other = np.int32(second) if type(second) is int else dtype.type(second)
        return dtype.type(first), other

    return value


def _phase(a: Any) -> Any:
    return np.arctan2(np.imag(a), np.real(a))


def _projected(a: Any) -> Any:
    """Return what C calls cproj: all infinite numbers are one, but for the sign of a zero."""
    if not isinstance(a, np.generic | float | complex) or not np.isinf(a):
        return a
    kind: Any = type(a)
    return kind(complex(np.inf, math.copysign(0, a.imag)) if np.iscomplexobj(a) else np.inf)


def _sign(a: Any) -> Any:
    if isinstance(a, complex | np.complexfloating):
        return np.sign(a)
    kind = type(a) if type(a) in (int, float) else np.asarray(a).dtype.type
    kind = np.int8 if kind is np.bool_ else kind
    if a != a:  # noqa: PLR0124  (not a number)
        return kind(0)
    return kind(1 if a > 0 else -1 if a < 0 else a)


def _fract(a: float) -> tuple[float, float]:
    if math.isnan(a) or math.isinf(a) or a == 0:
        return math.copysign(0.0, a) if not math.isnan(a) else a, a
    return a - math.floor(a), float(math.floor(a))


def fract(*arguments: Any) -> Any:
    """Return the part after the point, which is less than 1, and the rest."""
    (a,) = arguments
    dtype = _sine_type(arguments)
    rest, whole = _fract(float(dtype.type(a)))
    below_one = np.nextafter(dtype.type(1), dtype.type(0))
    rest = dtype.type(rest)
    return below_one if rest > below_one else rest, dtype.type(whole)


def _frexp(a: float) -> tuple[float, int]:
    return math.frexp(a) if math.isfinite(a) else (a, 0)


def _lgamma_r(a: float) -> tuple[float, int]:
    if math.isnan(a):
        return a, 1
    if a <= 0 and (math.isinf(a) or a == math.floor(a)):
        return math.inf, 0
    return math.lgamma(a), -1 if a < 0 and math.floor(a) % 2 else 1


def _remquo(a: float, b: float) -> tuple[float, int]:
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan, 0
    rest = math.remainder(a, b)
    if math.isinf(b):
        return rest, 0
    quotient = round(Fraction(a) / Fraction(b))  # halves to even
    return rest, abs(quotient) % 128 * (1 if quotient >= 0 else -1)


def _smoothstep(low: Any, high: Any, a: Any) -> Any:
    share = np.minimum(np.maximum((a - low) / (high - low), 0), 1)
    return share * share * (3 - 2 * share)


def _normal(a: Any) -> Any:
    dtype: Any = np.asarray(a).dtype if isinstance(a, np.generic) else np.dtype(np.float64)
    smallest = np.finfo(dtype).smallest_normal if dtype.kind == "f" else 1
    return np.isfinite(a) and np.abs(a) >= smallest


def _scaled(a: Any, n: Any) -> Any:
    return np.ldexp(a, np.int32(min(max(int(n), -(2**31) + 1), 2**31 - 1)))


def _rounded(pick: Callable[[float], float]) -> _Function:
    def value(a: Any) -> Any:
        if isinstance(a, int | np.integer | np.bool_):
            return np.asarray(a).astype(np.int64)[()]
        return np.int64(pick(float(a)))

    return value


def _away_from_zero(a: float) -> float:
    return math.copysign(math.floor(abs(Fraction(a)) + Fraction(1, 2)), a)


def _ordered(a: Any, b: Any) -> Any:
    return not (np.isnan(a) or np.isnan(b))


_TESTS: dict[str, _Function] = {
    "isequal": lambda a, b: a == b,
    "isnotequal": lambda a, b: a != b,
    "isgreater": lambda a, b: a > b,
    "isgreaterequal": lambda a, b: a >= b,
    "isless": lambda a, b: a < b,
    "islessequal": lambda a, b: a <= b,
    "islessgreater": lambda a, b: a < b or a > b,
    "isordered": _ordered,
    "isunordered": lambda a, b: not _ordered(a, b),
    "isnormal": _normal,
}


def _test(function: _Function) -> _Function:
    return lambda *arguments: np.bool_(function(*arguments))


def _bounded(a: Any, low: Any, high: Any) -> Any:
    if all(type(x) in (int, float) for x in (a, low, high)):
        return min(max(a, low), high)
    return np.minimum(np.maximum(a, low), high)


def _selected(a: Any, b: Any, condition: Any) -> Any:
    if type(a) in (int, float, complex) and type(b) in (int, float, complex):
        return b if condition else a
    return _meet((a, b)).type(b if condition else a)


# Those whose results have a type even if no argument has one.
TYPED: dict[str, _Function] = {
    "abs_diff": _unsigned(lambda bits, a, b: abs(a - b)),
    "add_sat": _whole(lambda bits, a, b: a + b, _saturated),
    "sub_sat": _whole(lambda bits, a, b: a - b, _saturated),
    "mad_sat": _whole(lambda bits, a, b, c: a * b + c, _saturated),
    "hadd": _whole(lambda bits, a, b: (a + b) // 2),
    "rhadd": _whole(lambda bits, a, b: (a + b + 1) // 2),
    "mul_hi": _whole(lambda bits, a, b: a * b >> bits),
    "mad_hi": _whole(lambda bits, a, b, c: (a * b >> bits) + c),
    "bitselect": _whole(lambda bits, a, b, c: (a & ~c) | (b & c)),
    "clz": _whole(lambda bits, a: bits - (a % 2**bits).bit_length()),
    "ctz": _whole(lambda bits, a: (a & -a).bit_length() - 1 if a else bits),
    "popcount": _whole(lambda bits, a: (a % 2**bits).bit_count()),
    "rotate": _rotate,
    "mul24": _of_words(lambda a, b: a * b),
    "mad24": _of_words(lambda a, b, c: a * b + c),
    "upsample": _upsample,
    **{name: _test(function) for name, function in _TESTS.items()},
    **dict.fromkeys(("lrint", "llrint"), _rounded(round)),
    **dict.fromkeys(("lround", "llround"), _rounded(_away_from_zero)),
    "sincos": _pair(lambda a: (np.sin(np.longdouble(a)), np.cos(np.longdouble(a)))),
    "modf": _pair(math.modf),
    "fract": fract,
    "frexp": _pair(_frexp),
    "lgamma_r": _pair(_lgamma_r),
    "remquo": _pair(_remquo),
}
UNTYPED: dict[str, _Function] = {
    "clamp": _bounded,
    "select": _selected,
    "sign": _sign,
    "carg": _phase,
    "cproj": _projected,
    "degrees": np.degrees,
    "radians": np.radians,
    "nearbyint": np.rint,
    **dict.fromkeys(("scalbn", "scalbln", "ldexp"), _scaled),
    "mix": _floats(lambda a, b, share: a + (b - a) * share),
    "step": _floats(lambda edge, a: np.where(a < edge, 0, 1)),
    "smoothstep": _floats(_smoothstep),
    "nan": lambda code: (
        np.dtype(f"f{code.dtype.itemsize}").type(np.nan)
        if isinstance(code, np.generic)
        else math.nan
    ),
}
