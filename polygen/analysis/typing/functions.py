"""The mathematical functions that kernels may call: how many arguments, and which type results.

They have the names of OpenCL's and C's.  What a target calls them is the target's business.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.analysis.typing.kinds import can_assign, kind_name
from polygen.analysis.typing.random_numbers import GENERATORS, Generator
from polygen.errors import InternalError, TypeMismatch, UnknownFunction, WrongArity, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import Signature, user_function
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.fetches import FETCHES
from polygen.ir.reduction import BUILT_IN as REDUCTIONS
from polygen.ir.show_expression import show_expression


class ResultType(enum.Enum):
    """The result type of a function, given the common type of its arguments.

    Those of NumPy's functions: the sine of an int8 is a float16, of an int16 a float32, of wider
    integers a float64, and rounding leaves integers what they are.
    """

    FLOATING = "their type; for integers a floating-point type that is large enough"
    KEPT = "their type"
    NUMBER = "their type; of truth values that of the smallest integers"
    MAGNITUDE = "their type; of complex numbers that of a part"
    PHASE = "the floating-point type of a sine; of complex numbers that of a part"
    TRUTH = "a truth value"
    WHOLE = "a 32-bit integer"
    CONVERTED = "the type that the function is named after"
    RANDOM = "the type of its random numbers"
    INTEGER = "their type, of integers; where they have none of their own, 64-bit integers"
    UNSIGNED = "such a type without a sign"
    WORD = "a 32-bit integer, without a sign if they have none"
    LONG = "a 64-bit integer"
    DOUBLED = "an integer of twice the size"
    SIZED = "the floating-point type of their size"
    CHOSEN = "what all but the last have in common"
    TWICE = "two numbers of the type of a sine"
    WITH_WHOLE = "a number of the type of a sine, and a 32-bit integer"
    DECLARED = "as the user declares it"


@dataclass(frozen=True, slots=True)
class Function:
    """A function that kernels may call.

    Attributes:
        name: its name.
        least: how many arguments it takes at least.
        most: how many it takes at most; None for any number.
        result: the rule for the type that it returns.
        takes_complex: whether its arguments may be complex.
        exponent: whether the last argument is an integer that has no say in the type.
        dtype: what a conversion converts to, or of what type random numbers are; else None.
        results: how many numbers it returns.
    """

    name: str
    least: int
    most: int | None
    result: ResultType
    takes_complex: bool = False
    exponent: bool = False
    dtype: DType | None = None
    results: int = 1


# The functions of given numbers of arguments, by the rule for their results.
_REAL: dict[tuple[ResultType, int], str] = {
    (ResultType.FLOATING, 1): """
        acospi asinpi atanpi cbrt cospi erf erfc exp10 exp2 expm1 fabs lgamma log10 log1p log2
        logb rint round rsqrt sinpi tanpi tgamma degrees nearbyint radians""",
    (ResultType.FLOATING, 2): """
        atan2 atan2pi copysign fdim hypot maxmag minmag nextafter powr remainder step""",
    (ResultType.FLOATING, 3): "fma mad mix smoothstep",
    (ResultType.KEPT, 1): "ceil floor trunc",
    (ResultType.KEPT, 2): "fmax fmin",
    (ResultType.KEPT, 3): "clamp",
    (ResultType.NUMBER, 2): "fmod",
    (ResultType.TRUTH, 1): "isnormal signbit",
    (ResultType.TRUTH, 2): """
        isgreater isgreaterequal isless islessequal islessgreater isordered isunordered""",
    (ResultType.WHOLE, 1): "ilogb",
    (ResultType.LONG, 1): "llrint llround lrint lround",
    (ResultType.SIZED, 1): "nan",
    (ResultType.INTEGER, 1): "clz ctz popcount",
    (ResultType.INTEGER, 2): "add_sat hadd mul_hi rhadd sub_sat",
    (ResultType.INTEGER, 3): "bitselect mad_hi mad_sat",
    (ResultType.UNSIGNED, 2): "abs_diff",
    (ResultType.WORD, 2): "mul24",
    (ResultType.WORD, 3): "mad24",
    (ResultType.DOUBLED, 2): "upsample",
    (ResultType.TWICE, 1): "fract modf sincos",
    (ResultType.WITH_WHOLE, 1): "frexp lgamma_r",
    (ResultType.WITH_WHOLE, 2): "remquo",
}
# OpenCL's that compute some functions of single precision quickly, and less precisely.
_FAST = (
    "cos",
    "divide",
    "exp",
    "exp10",
    "exp2",
    "log",
    "log10",
    "log2",
    "powr",
    "recip",
    "rsqrt",
    "sin",
    "sqrt",
    "tan",
)
FAST = {f"{prefix}_{name}": name for prefix in ("half", "native") for name in _FAST}
_PAIRS = (ResultType.TWICE, ResultType.WITH_WHOLE)
_COMPLEX: dict[tuple[ResultType, int], str] = {
    (ResultType.FLOATING, 1): """
        acos acosh asin asinh atan atanh cos cosh exp log sin sinh sqrt tan tanh""",
    (ResultType.NUMBER, 1): "conj cproj sign",
    (ResultType.NUMBER, 2): "pow",
    (ResultType.MAGNITUDE, 1): "abs imag real",
    (ResultType.PHASE, 1): "carg",
    (ResultType.TRUTH, 1): "isfinite isinf isnan",
    (ResultType.TRUTH, 2): "isequal isnotequal",
    (ResultType.CHOSEN, 3): "select",
}


def _functions() -> Iterable[Function]:
    for table in (_REAL, _COMPLEX):
        for (result, count), names in table.items():
            results = 2 if result in _PAIRS else 1
            for name in names.split():
                yield Function(name, count, count, result, table is _COMPLEX, results=results)
    for name in ("max", "min"):
        yield Function(name, 2, None, ResultType.KEPT)
    for name in ("ldexp", "pown", "rootn", "scalbln", "scalbn"):
        yield Function(name, 2, 2, ResultType.FLOATING, exponent=True)
    yield from map(_fast, FAST)
    yield Function("rotate", 2, 2, ResultType.INTEGER, exponent=True)
    yield from map(_random, GENERATORS.values())
    yield _conversion("bool", takes_complex=True)
    for kind in ("int", "uint"):
        for bits in (8, 16, 32, 64):
            yield _conversion(f"{kind}{bits}")
    for name in ("float16", "float32", "float64"):
        yield _conversion(name)
    for name in ("complex64", "complex128"):
        yield _conversion(name, takes_complex=True)


def _fast(name: str) -> Function:
    count = 2 if FAST[name] in ("divide", "powr") else 1
    return Function(name, count, count, ResultType.FLOATING)


def _random(generator: Generator) -> Function:
    name, given, results = generator.name, generator.count + generator.keys, generator.count
    kind = ResultType.RANDOM
    return Function(name, given, given, kind, dtype=generator.dtype, results=results)


def _conversion(name: str, *, takes_complex: bool = False) -> Function:
    return Function(name, 1, 1, ResultType.CONVERTED, takes_complex, dtype=np.dtype(name))


FUNCTIONS = {function.name: function for function in _functions()}


# What other languages call, and what is written here.
_ELSEWHERE: dict[str, str] = dict.fromkeys(
    ("where", "ifelse", "cond", "ternary"), "to choose between two values, write if(c, x, y)"
)


def lookup(name: str) -> Function:
    """Return the function of this name.

    Raises:
        UnknownFunction: if there is none.

    >>> lookup("atan2").least
    2
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise UnknownFunction(
            f"there is no function '{name}'",
            remedy=_ELSEWHERE.get(name, did_you_mean(name, {*FUNCTIONS, *REDUCTIONS, *FETCHES}))
            + f"; one of your own: register_callable(kernel, '{name}', ScalarCallable(...))",
        )
    return function


def function_of(call: ex.Call) -> Function:
    """Return the function that is called, one of the user's too.

    Raises:
        UnknownFunction: if there is none of this name.
    """
    found = user_function(call)
    if found is None:
        return lookup(ex.name_of(call.function))
    count, results = found.definition.argument_count, found.definition.result_count
    return Function(found.name, count, count, ResultType.DECLARED, results=results)


def signature_of(call: ex.Call, kinds: Sequence[Any]) -> Signature:
    """Return the function of the target's that stands for a function of the user's.

    Parameters:
        call: of one of the user's.
        kinds: the types of the arguments; Python's for numbers without a type of their own.

    Raises:
        TypeMismatch: if there is none that takes them.
    """
    found = user_function(call)
    if found is None:
        raise InternalError(f"'{show_expression(call)}' calls no function of the user's")
    for signature in found.definition.signatures:
        if all(map(_fits, kinds, signature.arguments)):
            return signature
    given = ", ".join(map(kind_name, kinds))
    raise TypeMismatch(
        f"'{show_expression(call)}' gives arguments of the types {given}, and '{found.name}' takes "
        + " or ".join(
            f"({', '.join(a.name for a in s.arguments)})" for s in found.definition.signatures
        ),
        remedy="convert them, as in float64(x), or register the function for these types",
    )


def _fits(kind: Any, wanted: DType) -> bool:
    """Tell whether an argument can be converted without loss; a number has no type of its own."""
    if not isinstance(kind, type):
        return bool(np.can_cast(kind, wanted, "safe"))
    return can_assign(kind, wanted)


def is_known(call: ex.Call) -> bool:
    """Tell whether it is known what is called; if not, `register_callable` may still say it."""
    return user_function(call) is not None or ex.name_of(call.function) in FUNCTIONS


def check_call(call: ex.Call) -> Function:
    """Return the function that is called.

    Raises:
        UnknownFunction: if there is none of this name.
        WrongArity: if it takes another number of arguments.
    """
    function = function_of(call)
    given = len(call.parameters)
    if given < function.least or (function.most is not None and given > function.most):
        count = f"{function.least}" + ("" if function.most is not None else " or more")
        plural = "" if count == "1" else "s"
        raise WrongArity(
            f"'{show_expression(call)}' gives {given} argument{'' if given == 1 else 's'} to "
            f"'{function.name}', which takes {count} argument{plural}",
            remedy="leave out what is too much"
            if given > function.least
            else "give it what it lacks: see docs/reference/expressions.md",
        )
    return function


def check_results(node: Expression) -> None:
    """Check that of functions with several results, one of these is taken, and one that exists.

    Functions that nobody knows are left out.

    Raises:
        WrongArity: if all results of a function are used as one, or it has no such result.
    """
    called = node.aggregate if isinstance(node, ex.Component) else node
    if isinstance(called, ex.Call) and not is_known(called):
        inner = called.parameters
    elif isinstance(node, ex.Component) and isinstance(node.aggregate, ex.Call):
        function = function_of(node.aggregate)
        if function.results == 1 or node.position >= function.results:
            count = "one result" if function.results == 1 else f"{function.results} results"
            raise WrongArity(
                f"'{show_expression(node)}' is result {node.position} of '{function.name}', "
                f"which has {count}",
                remedy=f"write {show_expression(node.aggregate)} alone, a value for each assignee"
                if function.results == 1
                else "results are counted from 0",
            )
        inner = node.aggregate.parameters
    else:
        if isinstance(node, ex.Call) and function_of(node).results > 1:
            raise WrongArity(
                f"'{show_expression(node)}' has several results",
                remedy=f"take one of them: {show_expression(node)}[0]",
            )
        inner = walk.parts(node)
    for part in inner:
        check_results(part)


def conversion_type(name: str) -> DType | None:
    """Return the type that the function of this name converts to, or None if it is another."""
    function = FUNCTIONS.get(name)
    converts = function is not None and function.result is ResultType.CONVERTED
    return function.dtype if function is not None and converts else None
