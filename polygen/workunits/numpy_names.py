"""Functions by NumPy's names: of views in work units and outside, and functions that make views.

pk.sqrt(x[i])          in a work unit: the function of C
pk.sqrt(view)          outside: a view of all square roots, as numpy.sqrt
pk.zeros(3)            outside: a view
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.python.names import c_functions
from polygen.workunits.element_types import element_dtype
from polygen.workunits.views import View

# Mathematical functions by C's names, where NumPy's differ or it has none.
_OF_C: dict[str, Any] = {
    **{one.__name__: one for one in c_functions.FUNCTIONS},
    "gamma": c_functions.tgamma,
    "nearbyint": np.rint,
    "pow": np.power,
    "fabs": np.fabs,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}

# The same functions as NumPy's: they take views, and make views of views.
_FUNCTIONS = (
    "abs", "absolute", "add", "all", "allclose", "amax", "amin", "any", "arccos", "arccosh",
    "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort", "average",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast_to", "cbrt", "ceil",
    "clip", "concatenate", "conj", "conjugate", "copysign", "cos", "cosh", "count_nonzero",
    "cross", "cumprod", "cumsum", "degrees", "diff", "divide", "divmod", "dot", "einsum", "equal",
    "exp", "exp2", "expand_dims", "expm1", "float_power", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "gcd", "greater", "greater_equal", "heaviside", "hstack", "hypot", "invert",
    "isclose", "isfinite", "isin", "isinf", "isnan", "lcm", "ldexp", "left_shift", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "matmul", "max", "maximum", "mean", "median",
    "min", "minimum", "mod", "multiply", "negative", "nextafter", "not_equal", "outer", "pad",
    "positive", "power", "prod", "radians", "reciprocal", "remainder", "repeat", "reshape",
    "right_shift", "rint", "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh",
    "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "take",
    "tan", "tanh", "tile", "trace", "transpose", "true_divide", "trunc", "unique", "var",
    "vstack", "where",
)  # fmt: skip

# They make views: of the types and shapes that views have.
_MAKERS = (
    "array", "asarray", "arange", "empty", "empty_like", "eye", "frombuffer", "full", "full_like",
    "identity", "linspace", "logspace", "ones", "ones_like", "zeros", "zeros_like",
)  # fmt: skip
_CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
# These have elements of the default precision, if nothing else is said.
_OF_DEFAULT = frozenset(["empty", "eye", "identity", "ones", "zeros"])


def by_name(name: str) -> Any:
    """Return what the package has by a name of NumPy's or of C's; None for other names.

    Parameters:
        name: the name.
    """
    if name in _OF_C:
        return _OF_C[name]
    if name in _MAKERS:
        return _maker(name)
    if name in _CONSTANTS:
        return getattr(np, name)
    return getattr(np, name, None) if name in _FUNCTIONS else None


def names() -> list[str]:
    """Return all names that `by_name` knows."""
    return sorted({*_OF_C, *_FUNCTIONS, *_MAKERS, *_CONSTANTS})


@functools.cache
def _maker(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(np, name)

    @functools.wraps(function)
    def made(*given: Any, **named: Any) -> View:
        values = [one.array if isinstance(one, View) else one for one in given]
        if named.get("dtype") is not None:
            named["dtype"] = element_dtype(named["dtype"])
        elif name in _OF_DEFAULT and len(values) < 2:
            named["dtype"] = element_dtype(None)
        return View(array=function(*values, **named))

    return made
