"""The derivatives of functions and operators, by their arguments.

Each is one of two kinds.  What is one expression *by cases* (``if``, ``min``, ``fdim``) has the
derivative of the case that is taken; where two are taken at once, that of the first.  Of all
others, a table says the partial derivatives.  What only has whole numbers or truth values as its
results (``floor``, ``x < y``, ``int32(x)``) has the derivative 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log, pi, sqrt
from typing import Any, TypeAlias, cast

from polygen.analysis.integers.function_definitions import meaning_of
from polygen.analysis.typing.functions import FAST, FUNCTIONS, ResultType
from polygen.errors import NotDifferentiable
from polygen.ir import expression as ex
from polygen.ir.callables import user_function
from polygen.ir.dtype import is_real
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression

Cases: TypeAlias = list[tuple[Expression | None, Expression]]
_Arguments: TypeAlias = tuple[Any, ...]  # expressions, with which is computed as with numbers
_Partial: TypeAlias = Callable[..., Any]


def _call(name: str, *arguments: Any) -> Any:
    return ex.Call(ex.Variable(name), arguments)


def _no(*_arguments: Any) -> Expression:
    return 0


def _one(*_arguments: Any) -> Expression:
    return 1


# For each function of one argument, its derivative.
_OF_ONE: Mapping[str, Callable[[Any], Any]] = {
    "abs": lambda x: _call("sign", x),
    "acos": lambda x: -1 / _call("sqrt", 1 - x * x),
    "acosh": lambda x: 1 / _call("sqrt", x * x - 1),
    "acospi": lambda x: -1 / (pi * _call("sqrt", 1 - x * x)),
    "asin": lambda x: 1 / _call("sqrt", 1 - x * x),
    "asinh": lambda x: 1 / _call("sqrt", x * x + 1),
    "asinpi": lambda x: 1 / (pi * _call("sqrt", 1 - x * x)),
    "atan": lambda x: 1 / (1 + x * x),
    "atanh": lambda x: 1 / (1 - x * x),
    "atanpi": lambda x: 1 / (pi * (1 + x * x)),
    "cbrt": lambda x: 1 / (3 * _call("cbrt", x) * _call("cbrt", x)),
    "cos": lambda x: -_call("sin", x),
    "cosh": lambda x: _call("sinh", x),
    "cospi": lambda x: -pi * _call("sinpi", x),
    "degrees": lambda _: 180 / pi,
    "erf": lambda x: 2 / sqrt(pi) * _call("exp", -(x * x)),
    "erfc": lambda x: -2 / sqrt(pi) * _call("exp", -(x * x)),
    "exp": lambda x: _call("exp", x),
    "exp10": lambda x: log(10) * _call("exp10", x),
    "exp2": lambda x: log(2) * _call("exp2", x),
    "expm1": lambda x: _call("exp", x),
    "fabs": lambda x: _call("sign", x),
    "log": lambda x: 1 / x,
    "log10": lambda x: 1 / (log(10) * x),
    "log1p": lambda x: 1 / (1 + x),
    "log2": lambda x: 1 / (log(2) * x),
    "radians": lambda _: pi / 180,
    "recip": lambda x: -1 / (x * x),
    "rsqrt": lambda x: -0.5 * _call("rsqrt", x) / x,
    "sin": lambda x: _call("cos", x),
    "sinh": lambda x: _call("cosh", x),
    "sinpi": lambda x: pi * _call("cospi", x),
    "sqrt": lambda x: 0.5 / _call("sqrt", x),
    "tan": lambda x: 1 + _call("tan", x) * _call("tan", x),
    "tanh": lambda x: 1 - _call("tanh", x) * _call("tanh", x),
    "tanpi": lambda x: pi * (1 + _call("tanpi", x) * _call("tanpi", x)),
}

# For each function of several, that by each of them.
_OF_TWO: Mapping[str, tuple[Callable[[Any, Any], Any], ...]] = {
    "atan2": (lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y)),
    "atan2pi": (
        lambda y, x: x / (pi * (x * x + y * y)),
        lambda y, x: -y / (pi * (x * x + y * y)),
    ),
    "copysign": (lambda x, y: _call("sign", x) * _call("sign", _call("copysign", x, y)), _no),
    "divide": (lambda _, y: 1 / y, lambda x, y: -x / (y * y)),
    "fmod": (_one, lambda x, y: -_call("trunc", x / y)),
    "hypot": (lambda x, y: x / _call("hypot", x, y), lambda x, y: y / _call("hypot", x, y)),
    "ldexp": (lambda _, n: _call("exp2", 1.0 * n), _no),
    "pow": (
        lambda x, y: y * _call("pow", x, y - 1),
        lambda x, y: _call("log", x) * _call("pow", x, y),
    ),
    "powr": (
        lambda x, y: y * _call("powr", x, y - 1),
        lambda x, y: _call("log", x) * _call("powr", x, y),
    ),
    "pown": (lambda x, n: n * _call("pown", x, n - 1), _no),
    "remainder": (_one, lambda x, y: -_call("rint", x / y)),
    "rootn": (lambda x, n: _call("rootn", x, n) / (n * x), _no),
}
_OF_THREE: Mapping[str, tuple[Callable[[Any, Any, Any], Any], ...]] = {
    "fma": (lambda _, y, __: y, lambda x, _x, _z: x, _one),
    "mad": (lambda _, y, __: y, lambda x, _x, _z: x, _one),
}

_TABLE: Mapping[str, tuple[_Partial, ...]] = {
    **{name: (derivative,) for name, derivative in _OF_ONE.items()},
    **_OF_TWO,
    **_OF_THREE,
}

# The same of functions with several results, by result.
_RESULTS: Mapping[tuple[str, int], tuple[_Partial, ...]] = {
    ("sincos", 0): _TABLE["sin"],
    ("sincos", 1): _TABLE["cos"],
    ("modf", 0): (_one,),
    ("modf", 1): (_no,),
    ("fract", 0): (_one,),
    ("fract", 1): (_no,),
}


def _smooth(a: Any, b: Any, x: Any) -> Expression:
    t = _call("clamp", (x - a) / (b - a), 0.0, 1.0)
    found: Expression = t * t * (3 - 2 * t)
    return found


def _by_magnitude(v: _Arguments, operator: str, other: Expression) -> Cases:
    a, b = (_call("fabs", x) for x in v)
    return [
        (ex.Comparison(a, operator, b), v[0]),
        (ex.Comparison(b, operator, a), v[1]),
        (None, other),
    ]


# Functions that are another expression, or several by cases.
_CASES: Mapping[str, Callable[[_Arguments], Cases]] = {
    "fdim": lambda v: [(ex.Comparison(v[0], ">", v[1]), v[0] - v[1]), (None, 0)],
    "maxmag": lambda v: _by_magnitude(v, ">", ex.Max(v)),
    "minmag": lambda v: _by_magnitude(v, "<", ex.Min(v)),
    "mix": lambda v: [(None, v[0] + (v[1] - v[0]) * v[2])],
    "smoothstep": lambda v: [(None, _smooth(*v))],
    **dict.fromkeys(("max", "fmax"), lambda v: _extremal(v, ">=")),
    **dict.fromkeys(("min", "fmin"), lambda v: _extremal(v, "<=")),
}
_SAME_AS = {"scalbn": "ldexp", "scalbln": "ldexp", **FAST}

_STEPS = frozenset(("ceil", "floor", "trunc", "rint", "round", "nearbyint", "logb", "sign", "step"))
_WITHOUT_FRACTION = frozenset(
    (
        ResultType.TRUTH,
        ResultType.WHOLE,
        ResultType.LONG,
        ResultType.INTEGER,
        ResultType.UNSIGNED,
        ResultType.WORD,
        ResultType.DOUBLED,
        ResultType.SIZED,
        ResultType.RANDOM,
    )
)


def _extremal(values: _Arguments, operator: str) -> Cases:
    """Return the cases of a minimum or maximum: the first that is as good as all others."""
    found: Cases = []
    for position, value in enumerate(values[:-1]):
        others = [v for n, v in enumerate(values) if n > position]
        better = tuple([ex.Comparison(value, operator, other) for other in others])
        found.append((better[0] if len(better) == 1 else ex.LogicalAnd(better), value))
    return [*found, (None, values[-1])]


def cases_of(node: Expression) -> Cases | None:
    """Return the expressions that a node is by cases; None if it is of the other kind.

    Returns:
        Conditions and values: it is the value of the first condition that holds.  That of the last
        one is None, which always holds.

    >>> from polygen.ir.expression import Min, Variable
    >>> [(str(c), str(e)) for c, e in cases_of(Min((Variable("x"), Variable("y"))))]
    [('x <= y', 'x'), ('None', 'y')]
    """
    if isinstance(node, ex.If):
        return [(node.condition, node.then), (None, node.else_)]
    if isinstance(node, ex.Min):
        return _extremal(node.children, "<=")
    if isinstance(node, ex.Max):
        return _extremal(node.children, ">=")
    if not isinstance(node, ex.Call) or user_function(node) is not None:
        return None
    meaning = meaning_of(node)
    if meaning is not None:
        return [(None, meaning)]
    row = _CASES.get(ex.name_of(node.function))
    return None if row is None else row(node.parameters)


def partials(node: Expression) -> list[tuple[Expression, Callable[[], Expression]]]:
    """Return the parts of a node that it is a smooth function of, and the derivatives by them.

    What is a case, an element of an array, or a reduction, is not for this function.

    Returns:
        Each part with a function that makes the derivative by it, or raises `NotDifferentiable`
        if there is none.

    >>> from polygen.ir.expression import Call, Variable
    >>> [(x, d)] = partials(Call(Variable("sin"), (Variable("x"),)))
    >>> print(d())
    cos(x)
    """
    rule = _NODES.get(type(node))
    return [] if rule is None else rule(node)


_Partials: TypeAlias = list[tuple[Expression, Callable[[], Expression]]]


def _of_sum(node: Any) -> _Partials:
    return [(child, lambda: 1) for child in node.children]


def _of_product(node: Any) -> _Partials:
    children = node.children

    def others(position: int) -> Callable[[], Expression]:
        return lambda: times(*(c for n, c in enumerate(children) if n != position))

    return [(child, others(position)) for position, child in enumerate(children)]


def _of_quotient(node: Any) -> _Partials:
    x, y = node.numerator, node.denominator
    return [(x, lambda: 1 / y), (y, lambda: -x / (y * y))]


def _of_power(node: Any) -> _Partials:
    x, n = node.base, node.exponent
    lower = n - 1

    def by_base() -> Expression:
        if n in (0, 2):
            return times(2, x) if n else 0
        return times(n, ex.Power(x, lower)) if lower != 0 else 1

    return [(x, by_base), (n, lambda: times(_call("log", x), ex.Power(x, n)))]


def _of_remainder(node: Any) -> _Partials:
    x, y = node.numerator, node.denominator
    return [(x, lambda: 1), (y, lambda: -_call("floor", x / y))]


def _of_component(node: Any) -> _Partials:
    call = node.aggregate
    if not isinstance(call, ex.Call):
        return []
    return _by_row(node, call, _RESULTS.get((ex.name_of(call.function), node.position)))


def _of_call(node: ex.Call) -> _Partials:
    name = ex.name_of(node.function)
    function = FUNCTIONS.get(name)
    if user_function(node) is None and function is not None:
        if name in _STEPS or function.result in _WITHOUT_FRACTION:
            return []
        if function.dtype is not None and is_real(function.dtype):
            return [(x, lambda: 1) for x in node.parameters if function.dtype.kind == "f"]
    return _by_row(node, node, _TABLE.get(_SAME_AS.get(name, name)))


def _by_row(node: Expression, call: ex.Call, row: tuple[_Partial, ...] | None) -> _Partials:
    if user_function(call) is not None:
        row = None

    def partial(position: int) -> Callable[[], Expression]:
        def made() -> Expression:
            if row is None:
                raise _unknown(node, call)
            found: Expression = row[position](*call.parameters)
            return found

        return made

    smooth = [p for p in enumerate(call.parameters) if row is None or row[p[0]] is not _no]
    return [(x, partial(position)) for position, x in smooth]


def _unknown(node: Expression, call: ex.Call) -> NotDifferentiable:
    name = ex.name_of(call.function)
    return NotDifferentiable(
        f"the derivative of '{show_expression(node)}' is not known: '{name}' is "
        + ("a function of your own" if user_function(call) else "in no table of derivatives"),
        remedy="write it in terms of functions whose derivatives are known, as a substitution rule",
    )


_NODES: Mapping[type, Callable[[Any], _Partials]] = {
    ex.Sum: _of_sum,
    ex.Product: _of_product,
    ex.Quotient: _of_quotient,
    ex.Power: _of_power,
    ex.Remainder: _of_remainder,
    ex.Component: _of_component,
    ex.Call: _of_call,
}


def times(*factors: Expression) -> Expression:
    """Return a product: its numbers are one, which stands first, and ``1/y`` divides what is left.

    >>> from polygen.ir.expression import Quotient, Variable
    >>> x, y = Variable("x"), Variable("y")
    >>> print(times(2, x, Quotient(0.5, y)))
    x / y
    """
    children: list[Expression] = []
    for factor in factors:
        children += factor.children if isinstance(factor, ex.Product) else (factor,)
    number: int | float = 1
    found: list[Expression] = []
    divisors: list[Any] = []
    for child in children:
        if isinstance(child, ex.Quotient) and (numerator := _with_number(child.numerator)):
            number *= numerator[0]
            found += numerator[1:]
            divisors.append(child.denominator)
        elif isinstance(child, int | float):
            number *= child
        else:
            found.append(child)
    if number == 0:
        return 0
    if abs(number) != 1 or not found:
        found.insert(0, number)
    elif number < 0:
        found.insert(0, -1)
    result: Expression = found[0] if len(found) == 1 else ex.product_of(*found)
    for divisor in divisors:
        result = ex.Quotient(cast("Any", result), divisor)
    return result


def _with_number(node: Expression) -> tuple[Any, ...]:
    """Return the factors of a product that begins with a number; of what is none, nothing."""
    factors: tuple[Any, ...] = node.children if isinstance(node, ex.Product) else (node,)
    return factors if isinstance(factors[0], int | float) else ()
