"""The table of functions, against NumPy and Python's math module."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest

from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.functions import (
    FUNCTIONS,
    ResultType,
    check_call,
    conversion_type,
    lookup,
)
from polygen.errors import UnknownFunction, WrongArity
from polygen.ir import expression as ex

F32, F64, I32 = np.dtype("float32"), np.dtype("float64"), np.dtype("int32")
OF_INTEGERS = (ResultType.INTEGER, ResultType.UNSIGNED, ResultType.WORD)

# What NumPy calls those functions that it has under another name.
NUMPY_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "max": "maximum",
    "min": "minimum",
    "pow": "power",
}


def numpy_function(name: str) -> np.ufunc | None:
    # C's remainder is another function than NumPy's.
    found = None if name == "remainder" else getattr(np, NUMPY_NAMES.get(name, name), None)
    return found if isinstance(found, np.ufunc) else None


def call(name: str, count: int) -> ex.Call:
    return ex.Call(ex.Variable(name), tuple(ex.Variable(f"x{k}") for k in range(count)))


@pytest.mark.parametrize("name", sorted(n for n in FUNCTIONS if numpy_function(n)))
@pytest.mark.parametrize(
    "dtypes",
    [
        ("float32",) * 3,
        ("float64",) * 3,
        ("float32", "float64", "float32"),
        ("int32",) * 3,
        ("int64",) * 3,
        ("uint32",) * 3,
        ("float32", "int32", "int32"),
        ("float16",) * 3,
        ("int8",) * 3,
        ("uint8",) * 3,
        ("int16",) * 3,
        ("uint16",) * 3,
        ("bool",) * 3,
        ("uint64",) * 3,
        ("float16", "uint8", "uint8"),
    ],
)
def test_types_are_numpys(name: str, dtypes: tuple[str, ...]) -> None:
    ufunc = numpy_function(name)
    assert ufunc is not None
    function = lookup(name)
    count = function.least
    assert ufunc.nin == count
    arguments = [np.ones(1, dtype) for dtype in dtypes[:count]]
    if function.exponent:
        arguments[1] = np.ones(1, np.int32)
    if name == "sign" and dtypes[0] == "bool":
        arguments[0] = np.ones(1, np.int8)  # NumPy has none of truth values
    with np.errstate(all="ignore"):
        results = ufunc(*arguments)
    kinds = {f"x{k}": a.dtype for k, a in enumerate(arguments)}
    expr = call(name, count)
    if function.results == 1:
        assert type_of(expr, kinds) == results.dtype
    else:
        found = [type_of(ex.Component(expr, k), kinds) for k in range(function.results)]
        assert found == [result.dtype for result in results]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_python_numbers_adapt(name: str) -> None:
    function = lookup(name)
    if function.least < 2 or function.dtype is not None:
        return
    expr = ex.Call(ex.Variable(name), (ex.Variable("x"), *[1] * (function.least - 1)))
    if function.result in OF_INTEGERS:
        kinds = {"x": np.dtype(np.uint32)}
        assert type_of(expr, kinds) == np.dtype(np.uint32)
    elif function.result is ResultType.TRUTH:
        assert type_of(expr, {"x": F32}) == np.dtype(bool)
    elif function.results > 1:
        assert type_of(ex.Component(expr, 0), {"x": F32}) == F32
    elif function.result is not ResultType.DOUBLED:  # which tells the sizes of all apart
        assert type_of(expr, {"x": F32}) == F32


def in_math() -> list[str]:
    # Python's own log and hypot take other numbers of arguments, too.
    return sorted({n for n in FUNCTIONS if callable(getattr(math, n, None))} - {"hypot", "log"})


@pytest.mark.parametrize("name", in_math())
def test_numbers_of_arguments_are_pythons(name: str) -> None:
    function = lookup(name)
    arguments: list[float] = [1.5] * function.least
    if function.exponent:
        arguments[-1] = 2
    with suppress(ValueError):  # out of its domain: it was given as many as it takes
        getattr(math, name)(*arguments)
    with pytest.raises(TypeError):
        getattr(math, name)(*arguments, 1.5)


def test_every_function_that_is_promised_is_there() -> None:
    promised = """abs fabs sqrt rsqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos
        atan atan2 sinh cosh tanh asinh acosh atanh pow hypot floor ceil round trunc fmod fmin
        fmax fma copysign erf erfc tgamma lgamma isnan isinf isfinite real imag conj min max rint
        remainder nextafter ldexp fdim signbit
        abs_diff add_sat clamp clz degrees fract frexp hadd isequal isgreater isgreaterequal
        isless islessequal islessgreater isnormal isnotequal isordered isunordered lgamma_r mad
        mad24 mad_hi mad_sat maxmag minmag mix modf mul24 mul_hi nan popcount pown powr radians
        remquo rhadd rootn rotate select sign sincos smoothstep step sub_sat upsample
        llrint llround lrint lround nearbyint scalbln scalbn ilogb logb carg cproj"""
    assert set(promised.split()) <= set(FUNCTIONS)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("abs", "complex64", "float32"),
        ("abs", "complex128", "float64"),
        ("abs", "int8", "int8"),
        ("real", "complex64", "float32"),
        ("imag", "float32", "float32"),
        ("conj", "complex64", "complex64"),
        ("isnan", "float32", "bool"),
        ("erf", "float32", "float32"),
        ("erf", "int16", "float32"),
        ("sqrt", "int8", "float16"),
        ("sqrt", "bool", "float16"),
        ("sqrt", "complex64", "complex64"),
        ("ilogb", "float64", "int32"),
        ("round", "int32", "float64"),
        ("trunc", "uint8", "uint8"),
        ("isnan", "complex64", "bool"),
        ("isnormal", "int8", "bool"),
        ("sign", "bool", "int8"),
        ("sign", "complex64", "complex64"),
        ("cproj", "complex128", "complex128"),
        ("cproj", "int16", "int16"),
        ("carg", "complex64", "float32"),
        ("carg", "complex128", "float64"),
        ("carg", "int8", "float16"),
        ("carg", "int32", "float64"),
        ("popcount", "bool", "int8"),
        ("clz", "uint16", "uint16"),
        ("lrint", "float32", "int64"),
        ("llround", "uint8", "int64"),
        ("nan", "uint16", "float16"),
        ("nan", "uint64", "float64"),
        ("degrees", "int16", "float32"),
    ],
)
def test_types(name: str, given: str, expected: str) -> None:
    assert type_of(call(name, 1), {"x0": np.dtype(given)}) == np.dtype(expected)


@pytest.mark.parametrize("name", ["int8", "uint64", "float32", "float64", "complex64"])
def test_conversions(name: str) -> None:
    assert conversion_type(name) == np.dtype(name)
    assert type_of(call(name, 1), {"x0": I32}) == np.dtype(name)
    assert type_of(call(name, 1), {"x0": float}) == np.dtype(name)


def test_other_functions_convert_nothing() -> None:
    assert conversion_type("sqrt") is None
    assert conversion_type("nothing") is None


@pytest.mark.parametrize(
    ("name", "hint"), [("sqr", "sqrt"), ("arctan2", "atan2"), ("flor", "floor"), ("tanhh", "tanh")]
)
def test_unknown_functions(name: str, hint: str) -> None:
    with pytest.raises(UnknownFunction, match=f"no function '{name}'") as error:
        check_call(call(name, 1))
    assert f"'{hint}'" in str(error.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("sqrt(x, y)", "'sqrt(x, y)' gives 2 arguments to 'sqrt', which takes 1 argument"),
        ("atan2(x)", "'atan2(x)' gives 1 argument to 'atan2', which takes 2 arguments"),
        ("fma(x, y)", "'fma(x, y)' gives 2 arguments to 'fma', which takes 3 arguments"),
        ("max(x)", "'max(x)' gives 1 argument to 'max', which takes 2 or more arguments"),
        ("int32()", "'int32()' gives 0 arguments to 'int32', which takes 1 argument"),
    ],
)
def test_wrong_numbers_of_arguments(text: str, what: str) -> None:
    name, arguments = text.rstrip(")").split("(")
    parameters = tuple(ex.Variable(a.strip()) for a in arguments.split(",") if a)
    with pytest.raises(WrongArity) as error:
        check_call(ex.Call(ex.Variable(name), parameters))
    assert error.value.what == what


def test_any_number_of_arguments() -> None:
    assert check_call(call("min", 5)).name == "min"
