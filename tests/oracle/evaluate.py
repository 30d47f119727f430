"""Values of expressions, computed by NumPy's scalars: what both interpreters share.

Python's numbers take on the type of what they are combined with, in NumPy 2 as in polygen.  Inames
and sizes are `Count`s: beside floating-point numbers they do that, too; beside integers they are
int32.  Subscripts and bounds are Python's integers, which have no end, whatever is read in them.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.reduction import dtype_of
from tests.oracle import functions

Value: TypeAlias = Any  # a NumPy scalar, or a Python number without a type of its own
Event: TypeAlias = tuple[int, tuple[int, ...]]


class Count(int):
    """The value of an iname, or of a size, or of what is computed of these and numbers."""


class OracleError(Exception):
    """The program that is interpreted does something that it must not do."""


class OracleLimitError(Exception):
    """The interpreter does not know how the program is executed: that says nothing of it."""


class Evaluator:
    """Evaluates expressions; subclasses say what variables, elements and reductions are.

    Parameters:
        samples: for each name a value of its type, from which types are found.
        events: counts the instances that were executed (see `tests.oracle.trace`).
    """

    def __init__(self, samples: Mapping[str, Value], events: Counter[Event] | None = None) -> None:
        self.samples = samples
        self._events = events

    def variable(self, name: str) -> Value:
        """Return the value of a scalar."""
        raise NotImplementedError

    def element(self, name: str, index: tuple[int, ...]) -> Value:
        """Return the value of an element of an array."""
        raise NotImplementedError

    def contributions(self, node: ex.Reduction) -> Iterator[Value]:
        """Yield the value of the operand for each value of the inames."""
        raise NotImplementedError

    def value(self, node: Expression) -> Value:
        """Return the value of an expression."""
        if not isinstance(node, ex.ExpressionNode):
            return np.bool_(node) if isinstance(node, bool) else node
        return _RULES[type(node)](self, node)

    def holds(self, node: Expression) -> bool:
        """Tell whether a condition holds."""
        return bool(self.value(node))

    def index(self, node: ex.Subscript) -> tuple[int, ...]:
        """Return the values of subscripts."""
        return tuple([self.integer(e) for e in ex.index_tuple(node)])

    def integer(self, node: Expression) -> int:
        """Return the value of a subscript or a bound: what is in it is an integer first."""
        rule = OF_INTEGERS.get(type(node))
        return int(self.value(node)) if rule is None else int(rule(self, node))

    def sample(self, node: Expression) -> Value:
        """Return a value of the type of `node`, whatever its own value would be."""
        return Sampler(self.samples).value(node)

    def note(self, event: Event) -> None:
        """Count an executed instance."""
        if self._events is not None:
            self._events[event] += 1


class Sampler(Evaluator):
    """Evaluates an expression with a sample for each variable: its type is what counts."""

    def variable(self, name: str) -> Value:
        if self.samples.get(name) is None:
            raise OracleError(f"the type of '{name}' is not known")
        return self.samples[name]

    def element(self, name: str, index: tuple[int, ...]) -> Value:  # noqa: ARG002
        return self.variable(name)

    def contributions(self, node: ex.Reduction) -> Iterator[Value]:
        yield self.value(node.operand)


def common_type(*samples: Value) -> np.dtype[Any] | None:
    """Return the type that operands are computed in; None for Python's numbers alone."""
    if all(isinstance(s, int | float | complex) and not isinstance(s, np.generic) for s in samples):
        return None
    typed = [s for s in samples if isinstance(s, np.generic)]
    counts = any(isinstance(s, Count) for s in samples)
    beside = all(isinstance(s, np.integer) and not isinstance(s, np.uint64) for s in typed)
    own = [int(s) if isinstance(s, Count) else s for s in samples]
    return np.result_type(*own, *([np.int32(1)] if counts and beside else []))


def together(first: Value, second: Value) -> tuple[Value, Value]:
    """Return two operands as NumPy combines them: a count beside an integer is an int32."""
    return _beside(first, second), _beside(second, first)


def _beside(value: Value, other: Value) -> Value:
    if not isinstance(value, Count) or not isinstance(other, np.generic):
        return value
    small = isinstance(other, np.integer) and not isinstance(other, np.uint64)
    return np.int32(value) if small else int(value)


def _combined(function: Callable[[Value, Value], Value], first: Value, second: Value) -> Value:
    """Return what a function makes of two operands; of counts and integers it is a count."""
    value = function(*together(first, second))
    counts = isinstance(first, Count) or isinstance(second, Count)
    return Count(value) if counts and type(value) is int else value


def convert(value: Value, dtype: np.dtype[Any]) -> Value:
    """Return `value` as an element of this type holds it."""
    return np.asarray(value).astype(dtype)[()]


def as_read(value: Value) -> Value:
    """Return what an element is where it is read: a bfloat16 is stored, and computed as float32."""
    return np.float32(value) if type(value).__name__ == "bfloat16" else value


def _sum(e: Evaluator, node: Any) -> Value:
    total = e.value(node.children[0])
    for child in node.children[1:]:
        if isinstance(child, ex.Product) and repr(child.children[0]) == "-1":
            first, *others = child.children[1:]  # less these, as in the text
            less = e.value(ex.product_of(first, *others) if others else first)
            total = _combined(operator.sub, total, less)
        else:
            total = _combined(operator.add, total, e.value(child))
    return total


def _product(e: Evaluator, node: Any) -> Value:
    first, *others = node.children
    if type(first) is int and first == MARK and type(others[0]) is int:
        e.note((int(others[0]), tuple([int(e.value(c)) for c in others[1:]])))
        return Count(0)
    values = [e.value(c) for c in node.children]
    if type(values[0]) is int and values[0] < 0 and isinstance(values[1], np.unsignedinteger):
        # NumPy takes no negative number for an unsigned one.
        values[:2] = [-(values[1] * -values[0])]
    return _reduced(operator.mul, values)


def _reduced(function: Callable[[Value, Value], Value], values: list[Value]) -> Value:
    return reduce(lambda a, b: _combined(function, a, b), values)


def _extremum(
    plain: Callable[[Value, Value], Value], typed: Callable[[Value, Value], Value]
) -> Callable[[Evaluator, Any], Value]:
    def combine(a: Value, b: Value) -> Value:
        return plain(a, b) if common_type(a, b) is None else typed(a, b)

    return lambda e, node: _reduced(combine, [e.value(c) for c in node.children])


def _choice(e: Evaluator, node: Any) -> Value:
    # Only one branch is evaluated, but both decide the type.
    value = e.value(node.then if e.holds(node.condition) else node.else_)
    samples = (e.sample(node.then), e.sample(node.else_))
    dtype = common_type(*samples)
    if dtype is None:
        return float(value) if float in map(type, samples) else value
    return convert(value, dtype)


def _quotient(first: Any, second: Any) -> Any:
    """Return a quotient of IEEE's numbers: that of literals, too, may be infinite."""
    if isinstance(second, float) and second == 0 and isinstance(first, float):
        return float(np.float64(first) / np.float64(second))
    return first / second


def _binary(
    left: str, right: str, function: Callable[[Value, Value], Value]
) -> Callable[[Evaluator, Any], Value]:
    return lambda e, node: _combined(
        function, e.value(getattr(node, left)), e.value(getattr(node, right))
    )


def _folded(function: Callable[[Value, Value], Value]) -> Callable[[Evaluator, Any], Value]:
    return lambda e, node: _reduced(function, [e.value(c) for c in node.children])


_COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _call(e: Evaluator, node: Any) -> Value:
    given = [e.value(p) for p in node.parameters]
    typed = next((v for v in given if isinstance(v, np.generic)), None)
    name = node.function.name
    plain = [_plain(_beside(v, typed)) for v in given]
    if name in _WITH_EXPONENT:  # which has no say in the type
        plain[-1] = _plain(given[-1])
    value = functions.call(name, plain)
    counts = typed is None and any(isinstance(v, Count) for v in given)
    return Count(value) if counts and type(value) is int else value


_WITH_EXPONENT = ("ldexp", "pown", "rootn", "rotate", "scalbln", "scalbn")


def _plain(value: Value) -> Value:
    return int(value) if isinstance(value, Count) else value


def _widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype == np.float16:
        return np.dtype(np.float32)
    return np.dtype({"b": np.int64, "i": np.int64, "u": np.uint64}.get(dtype.kind, dtype))


_COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "sum": operator.add,
    "product": operator.mul,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
}


def _identity(operation: str, dtype: np.dtype[Any]) -> Value:
    if operation == "bit_and":
        return np.invert(dtype.type(0))
    if operation in ("sum", "product", "any", "all", "bit_or", "bit_xor"):
        return dtype.type(operation in ("product", "all"))
    if dtype.kind == "f":
        return dtype.type(np.inf if operation == "min" else -np.inf)
    if dtype.kind == "b":
        return dtype.type(operation == "min")
    info = np.iinfo(dtype)
    return dtype.type(info.max if operation == "min" else info.min)


def _keeps(node: Any) -> bool:
    return str(node.operation).endswith("<operand>")


def _reduction(e: Evaluator, node: Any) -> Value:
    operation, dtype = str(node.operation).partition("<")[0], dtype_of(node.operation)
    if dtype is None:
        sample = e.sample(node.operand)
        dtype = np.result_type(_plain(sample[0] if isinstance(sample, tuple) else sample))
        if operation in ("sum", "product") and not _keeps(node):
            dtype = _widened(dtype)
        elif operation in ("any", "all"):
            dtype = np.dtype(np.bool_)
    if operation in _WITH_TWO_RESULTS:
        first, second = e.sample(node.operand)
        return _WITH_TWO_RESULTS[operation](list(e.contributions(node)), first, second, node)
    definition = getattr(node.operation, "definition", None)
    if definition is not None:
        return _defined(e, node, definition, dtype)
    total = _identity(operation, dtype)
    for value in e.contributions(node):
        total = convert(_COMBINE[operation](total, value), dtype)
    return total


def _extremal(values: list[Any], first: Value, second: Value, node: Any) -> Value:
    """Return the best value and its index: NaN is best of all, the least index wins a tie."""
    sign = 1 if node.operation == "argmin" else -1
    dtype, index_dtype = np.result_type(first), np.result_type(second)
    best = _identity(str(node.operation)[3:], dtype), np.iinfo(index_dtype).max
    for value, index in values:
        ours, theirs = (
            (not np.isnan(v), sign * float(v) if dtype.kind == "f" else sign * int(v), int(k))
            for v, k in (best, (value, index))
        )
        if np.isnan(float(value)) and np.isnan(float(best[0])):
            best = value, min(index, best[1])
        elif theirs < ours:
            best = value, index
    return dtype.type(best[0]), index_dtype.type(best[1])


def _segmented(values: list[Any], first: Value, _: Value, node: Any) -> Value:
    """Return what is combined since the last start, and whether there was one."""
    dtype = np.result_type(first)
    dtype = dtype if _keeps(node) else _widened(dtype)
    operation = str(node.operation).partition("<")[0].removeprefix("segmented(").removesuffix(")")
    total, started = _identity(operation, dtype), False
    for value, starts in values:
        total = convert(value if starts else _COMBINE[operation](total, value), dtype)
        started = started or bool(starts)
    return total, np.bool_(started)


def _compensated(values: list[Any], first: Value, _: Value, node: Any) -> Value:
    """Return what a sum is before it is rounded once, and nothing that is missing."""
    dtype = dtype_of(node.operation) or np.result_type(first)
    dtype = dtype if _keeps(node) else _widened(dtype)
    return dtype.type(math.fsum(float(part) for pair in values for part in pair)), dtype.type(0)


def _rescaled(values: list[Any], first: Value, _: Value, node: Any) -> Value:
    """Return the greatest value, and the sum relative to that."""
    dtype = np.result_type(first)
    greatest = max((float(v) for v, _ in values), default=-np.inf)
    if any(np.isnan(float(v)) for v, _ in values):
        return dtype.type(np.nan), dtype.type(np.nan)
    parts = [float(p) * (1 if v == greatest else np.exp(float(v) - greatest)) for v, p in values]
    return dtype.type(greatest), dtype.type(math.fsum(parts))


_WITH_TWO_RESULTS = {
    "rescaled(max)": _rescaled,
    "compensated(sum)": _compensated,
    "argmin": _extremal,
    "argmax": _extremal,
    "segmented(sum)": _segmented,
    "segmented(product)": _segmented,
}


def _defined(e: Evaluator, node: Any, definition: Any, dtype: np.dtype[Any]) -> Value:
    """Return the value of a reduction with an operation of a user's own."""
    identity = definition.identity
    total = dtype.type(dict(identity)[dtype.name] if isinstance(identity, tuple) else identity)
    for value in e.contributions(node):
        values = dict(zip(definition.arguments, (total, value), strict=True))
        total = convert(Sampler(values).value(definition.combined), dtype)
    return total


MARK = 0
_RULES: dict[type, Callable[[Evaluator, Any], Value]] = {
    ex.Variable: lambda e, node: e.variable(node.name),
    ex.Subscript: lambda e, node: e.element(ex.name_of(node), e.index(node)),
    ex.Sum: _sum,
    ex.Product: _product,
    ex.Min: _extremum(min, np.minimum),
    ex.Max: _extremum(max, np.maximum),
    ex.If: _choice,
    ex.Call: _call,
    ex.Component: lambda e, node: e.value(node.aggregate)[node.position],
    ex.Reduction: _reduction,
    ex.Several: lambda e, node: tuple([e.value(c) for c in node.children]),
    ex.Quotient: _binary("numerator", "denominator", _quotient),
    ex.FloorDiv: _binary("numerator", "denominator", operator.floordiv),
    ex.Remainder: _binary("numerator", "denominator", operator.mod),
    ex.Power: _binary("base", "exponent", operator.pow),
    ex.LeftShift: _binary("shiftee", "shift", operator.lshift),
    ex.RightShift: _binary("shiftee", "shift", operator.rshift),
    ex.BitwiseNot: lambda e, node: ~e.value(node.child),
    ex.BitwiseAnd: _folded(operator.and_),
    ex.BitwiseOr: _folded(operator.or_),
    ex.BitwiseXor: _folded(operator.xor),
    ex.Comparison: lambda e, n: np.bool_(
        _COMPARISONS[str(n.operator)](_plain(e.value(n.left)), _plain(e.value(n.right)))
    ),
    ex.LogicalAnd: lambda e, n: np.bool_(all(e.holds(c) for c in n.children)),
    ex.LogicalOr: lambda e, n: np.bool_(any(e.holds(c) for c in n.children)),
    ex.LogicalNot: lambda e, n: np.bool_(not e.holds(n.child)),
}


def _integers(function: Callable[[int, int], int], *fields: str) -> Callable[[Any, Any], int]:
    return lambda e, node: function(*[e.integer(getattr(node, field)) for field in fields])


def _all_integers(function: Callable[[int, int], int]) -> Callable[[Evaluator, Any], int]:
    return lambda e, node: reduce(function, [e.integer(child) for child in node.children])


def _integer_product(e: Evaluator, node: Any) -> int:
    if type(node.children[0]) is int and node.children[0] == MARK:
        return int(e.value(node))  # a mark notes its event
    return reduce(operator.mul, [e.integer(child) for child in node.children])


def _integer_call(e: Evaluator, node: Any) -> int:
    function = _CALLSOF_INTEGERS.get(node.function.name)
    return int(e.value(node)) if function is None else function(*map(e.integer, node.parameters))


_CALLSOF_INTEGERS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(("min", "fmin"), min),
    **dict.fromkeys(("max", "fmax"), max),
    "clamp": lambda x, low, high: min(max(x, low), high),
    "select": lambda x, y, chosen: y if chosen else x,
}
OF_INTEGERS: dict[type, Callable[[Evaluator, Any], int]] = {
    ex.Sum: _all_integers(operator.add),
    ex.Product: _integer_product,
    ex.Min: _all_integers(min),
    ex.Max: _all_integers(max),
    ex.If: lambda e, node: e.integer(node.then if e.holds(node.condition) else node.else_),
    ex.Call: _integer_call,
    ex.FloorDiv: _integers(operator.floordiv, "numerator", "denominator"),
    ex.Remainder: _integers(operator.mod, "numerator", "denominator"),
    ex.Power: _integers(operator.pow, "base", "exponent"),
    ex.LeftShift: _integers(operator.lshift, "shiftee", "shift"),
    ex.RightShift: _integers(operator.rshift, "shiftee", "shift"),
    ex.BitwiseNot: lambda e, node: ~e.integer(node.child),
    ex.BitwiseAnd: _all_integers(operator.and_),
    ex.BitwiseOr: _all_integers(operator.or_),
    ex.BitwiseXor: _all_integers(operator.xor),
}


class _Sizes(Evaluator):
    """Evaluates expressions of sizes."""

    def variable(self, name: str) -> Value:
        return self.samples[name]


def integer(node: Expression, sizes: Mapping[str, int]) -> int:
    """Return the value of an expression of sizes, such as an extent."""
    return int(_Sizes(sizes).value(node))
