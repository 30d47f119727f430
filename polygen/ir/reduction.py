"""The built-in operations of reductions: a table of the facts about each.

A row of `BUILT_IN` is enough to parse an operation, to generate its code for every target, and to
split, share and validate it.  Its identity has to change no operand: ``hypot``, which makes 3 of 0
and -3, fits operands that are not negative.

Some modules know single operations by name, and treat or refuse others in a general way:
`analysis.access.empty_reductions` (those that nothing has no value for), `analysis.equality` (which
order may change), `ir.atomicity` (atomic updates), `inspection.counts.op_map` (what it is counted
as), and `transforms.derivatives`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.atomicity import Update
from polygen.ir.dtype import DType, integer_limits, is_exact, is_integer
from polygen.ir.expression import Expression
from polygen.ir.operation import Definition, Number, Operation, Special

Parts: TypeAlias = tuple[Expression, ...]  # one for each result


class Result(enum.Enum):
    """The rule for a reduction's type, given that of its operand: as NumPy's."""

    KEPT = "its type"
    WIDENED = "its type; 64 bits for integers and truth values, float32 for float16"
    TRUTH = "a truth value"
    FIRST = "that of the first result"  # of a second one


Combine: TypeAlias = Callable[[Parts, Parts, tuple[DType, ...]], Parts]


@dataclass(frozen=True)
class Facts:
    """Facts about a reduction operation.

    Attributes:
        identity: what changes no value of a type that it is combined with: of those types that the
            results have, one for each result.
        combined: what the operation makes of two values, given the types of the results.
        result: the rule for the type of the result.
        operands: NumPy's letters of the types that it takes.
        exact: the letters of those results that are the same in whatever order is combined.
        regroups: whether it may be combined in another order, up to rounding.
        seconds: the rule for the type of the second result, if there is one.
        associates: whether neighbours may be combined first, up to rounding, in the same order.
    """

    identity: Callable[[tuple[DType, ...]], tuple[Number, ...]]
    combined: Combine
    result: Result
    operands: str
    exact: str
    regroups: bool = True
    seconds: Result | None = None
    associates: bool = True

    @property
    def width(self) -> int:
        """The number of results."""
        return 1 if self.seconds is None else 2


def _largest(dtype: DType) -> Number:
    return float("inf") if dtype.kind == "f" else _limits(dtype)[1]


def _smallest(dtype: DType) -> Number:
    return float("-inf") if dtype.kind == "f" else _limits(dtype)[0]


def _limits(dtype: DType) -> tuple[int, int]:
    if dtype.kind == "b":
        return False, True
    return integer_limits(dtype)


# The new value comes first: then it is evaluated in each iteration, as that of a sum is, and
# compilers may vectorise the loop.


def _either(first: Expression, second: Expression) -> Expression:
    return ex.LogicalOr((second, first))


def _both(first: Expression, second: Expression) -> Expression:
    return ex.LogicalAnd((second, first))


def _min(first: Expression, second: Expression) -> Expression:
    return ex.Min((first, second))


def _max(first: Expression, second: Expression) -> Expression:
    return ex.Max((first, second))


_Two: TypeAlias = Callable[[Expression, Expression], Expression]


def _bits(node: Callable[[Parts], Expression]) -> _Two:
    return lambda first, second: node((first, second))


def _zeros(dtype: DType) -> Number:
    return False if dtype.kind == "b" else 0


def _ones(dtype: DType) -> Number:
    """Return the number all of whose bits are 1."""
    return True if dtype.kind == "b" else -1 if dtype.kind == "i" else _limits(dtype)[1]


def _single(
    identity: Callable[[DType], Number],
    combined: _Two,
    result: Result,
    operands: str,
    exact: str,
    regroups: bool = True,
) -> Facts:
    """Return the facts of an operation that has one result."""
    return Facts(
        lambda dtypes: (identity(dtypes[0]),),
        lambda old, new, _: (combined(old[0], new[0]),),
        result,
        operands,
        exact,
        regroups,
    )


def _is_nan(value: Expression) -> Expression:
    return ex.Comparison(value, "!=", value)


_NOT_BETTER = {"<": ">=", ">": "<="}


def _extremal(operator: str, worst: Callable[[DType], Number]) -> Facts:
    """Return the facts of ``argmin`` or ``argmax``: the best value, and its index.

    Of equal values, and of several that are NaN, the one with the least index is taken.  All of
    that is asked, bit by bit, so that nothing branches.
    """

    def combined(old: Parts, new: Parts, dtypes: tuple[DType, ...]) -> Parts:
        (value, index), (other, other_index) = old, new
        better: Expression = ex.Comparison(other, operator, value)
        same: Expression = ex.Comparison(other, "==", value)
        if dtypes[0].kind == "f":
            # What is not worse may be NaN, which is taken unless there is one already.
            not_worse = ex.LogicalNot(ex.Comparison(other, _NOT_BETTER[operator], value))
            better = ex.BitwiseAnd((not_worse, ex.Comparison(value, "==", value)))
            both = ex.BitwiseAnd((_is_nan(value), _is_nan(other)))
            same = ex.BitwiseOr((same, both))
        earlier = ex.Comparison(other_index, "<", index)
        taken = ex.BitwiseOr((better, ex.BitwiseAnd((earlier, same))))
        return ex.If(taken, other, value), ex.If(taken, other_index, index)

    return Facts(
        lambda dtypes: (worst(dtypes[0]), _largest(dtypes[1])),
        combined,
        Result.KEPT,
        "biuf",
        "biuf",
        seconds=Result.KEPT,
    )


def _added(old: Expression, new: Expression, dtype: DType) -> Expression:
    """Return a sum of this type.

    In ``old - x``, `x` is converted before it is subtracted; in ``-x + old``, the negative of an
    integer is taken first, which may wrap around in a smaller type.
    """
    negative = isinstance(new, ex.Product) and new.children[0] == -1
    return ex.sum_of(new, old) if negative and is_integer(dtype) else ex.sum_of(old, new)


def _summed(old: Parts, new: Parts, dtypes: tuple[DType, ...]) -> Parts:
    return (_added(old[0], new[0], dtypes[0]),)


def _minus(first: Expression, second: Expression) -> Expression:
    return ex.sum_of(first, ex.product_of(-1, second))


def _compensated(old: Parts, new: Parts, _: tuple[DType, ...]) -> Parts:
    """Return the rounded sum of two values, and all that rounding took off so far.

    What it took off this time is computed without rounding, whichever of the two is larger: by
    Knuth's two-sum (The Art of Computer Programming, volume 2, section 4.2.2, theorem B).
    """
    total = ex.sum_of(old[0], new[0])
    added = _minus(total, old[0])
    lost = ex.sum_of(_minus(old[0], _minus(total, added)), _minus(new[0], added))
    return total, ex.sum_of(ex.sum_of(old[1], new[1]), lost)


def _rescaled(old: Parts, new: Parts, _: tuple[DType, ...]) -> Parts:
    """Return the greater of two values, and the sum of two sums, each made relative to it.

    A sum that is relative to the value itself stays: so is that of nothing, relative to -infinity.
    """
    best = _max(old[0], new[0])

    def relative(value: Expression, part: Expression) -> Expression:
        factor = ex.Call(ex.Variable("exp"), (_minus(value, best),))
        return ex.If(ex.Comparison(value, "==", best), part, ex.product_of(part, factor))

    return best, ex.sum_of(relative(*old), relative(*new))


def _segmented(
    identity: Number, combine: Callable[[Expression, Expression, DType], Expression]
) -> Facts:
    """Return the facts of an operation that starts anew where its second operand is true."""

    def combined(old: Parts, new: Parts, dtypes: tuple[DType, ...]) -> Parts:
        return ex.If(new[1], new[0], combine(old[0], new[0], dtypes[0])), _either(old[1], new[1])

    return Facts(
        lambda _: (identity, False),
        combined,
        Result.WIDENED,
        "biufc",
        "",
        regroups=False,
        seconds=Result.TRUTH,
    )


BUILT_IN: Mapping[str, Facts] = {
    "sum": Facts(lambda _: (0,), _summed, Result.WIDENED, "biufc", "biu"),
    "product": _single(lambda _: 1, ex.product_of, Result.WIDENED, "biufc", "biu"),
    "min": _single(_largest, _min, Result.KEPT, "biuf", "biuf"),
    "max": _single(_smallest, _max, Result.KEPT, "biuf", "biuf"),
    "any": _single(lambda _: False, _either, Result.TRUTH, "biufc", "biufc"),
    "all": _single(lambda _: True, _both, Result.TRUTH, "biufc", "biufc"),
    "argmin": _extremal("<", _largest),
    "argmax": _extremal(">", _smallest),
    "bit_and": _single(_ones, _bits(ex.BitwiseAnd), Result.KEPT, "biu", "biu"),
    "bit_or": _single(_zeros, _bits(ex.BitwiseOr), Result.KEPT, "biu", "biu"),
    "bit_xor": _single(_zeros, _bits(ex.BitwiseXor), Result.KEPT, "biu", "biu"),
    "compensated(sum)": Facts(
        lambda _: (0, 0), _compensated, Result.WIDENED, "f", "", seconds=Result.FIRST
    ),
    "rescaled(max)": Facts(
        lambda dtypes: (_smallest(dtypes[0]), 0),
        _rescaled,
        Result.KEPT,
        "f",
        "",
        seconds=Result.FIRST,
    ),
    "segmented(sum)": _segmented(0, _added),
    "segmented(product)": _segmented(1, lambda old, new, _: ex.product_of(old, new)),
}


def name_of(operation: Operation) -> str:
    """Return the name of an operation."""
    return operation.name if isinstance(operation, Special) else operation


def with_dtype(operation: Operation, dtype: DType) -> Special:
    """Return an operation as one that is computed in this type."""
    if isinstance(operation, Special):
        return replace(operation, dtype=dtype)
    return Special(operation, dtype)


def widens(operation: Operation) -> bool:
    """Tell whether an operation may be computed in a wider type than that of its operand."""
    said = isinstance(operation, Special) and (operation.dtype is not None or operation.keeps)
    return facts_of(operation).result is Result.WIDENED and not said


def keeping(operation: Operation) -> Operation:
    """Return an operation as one that is computed in the type of its operand."""
    return Special(name_of(operation), keeps=True) if widens(operation) else operation


def definition_of(operation: Operation) -> Definition | None:
    """Return what a user's own operation does; None of one that is built in."""
    return operation.definition if isinstance(operation, Special) else None


def facts_of(operation: Operation) -> Facts:
    """Return what is true of an operation."""
    definition = definition_of(operation)
    return BUILT_IN[name_of(operation)] if definition is None else _facts(definition)


def parts_of(reduction: ex.Reduction) -> Parts:
    """Return what a reduction reduces: one value for each of its results."""
    operand = reduction.operand
    if isinstance(operand, ex.Several):
        return operand.children
    width = facts_of(reduction.operation).width
    if width == 1:
        return (operand,)
    return tuple([ex.Component(operand, n) for n in range(width)])  # of another one inside


def identity_of(operation: Operation, dtypes: tuple[DType, ...]) -> Parts:
    """Return what changes nothing, one value for each result, as the text of a kernel says it.

    Infinity has no name there.
    """

    def said(value: Number) -> Expression:
        if isinstance(value, float) and math.isinf(value):
            return ex.Quotient(math.copysign(1.0, value), 0.0)
        return value

    return tuple(map(said, facts_of(operation).identity(dtypes)))


def update_identity(update: Update, operation: Operation | None, dtype: DType) -> Expression | None:
    """Return what an atomic update of a variable of this type may start from, or None.

    Parameters:
        update: what it does.
        operation: the operation of a user's own that it updates with, or None.
        dtype: the type of the variable.
    """
    definition = None if operation is None else definition_of(operation)
    if definition is not None:
        return definition.identity_of(dtype)
    if update.operation in _BITS:
        return _BITS[update.operation](dtype) if is_exact(dtype) else None
    return identity_of(update.operation, (dtype,))[0]


_BITS: Mapping[str, Callable[[DType], Number]] = {
    "bit_or": lambda _: 0,
    "bit_xor": lambda _: 0,
    "bit_and": lambda dtype: _limits(dtype)[1] if dtype.kind in "bu" else -1,
}


def may_merge(outer: Operation, inner: Operation) -> bool:
    """Tell whether a reduction directly inside of another is one with it."""
    return outer == inner and facts_of(outer).regroups


def _facts(definition: Definition) -> Facts:
    """Return what is true of a user's own operation."""

    def identity(dtype: DType) -> Number:
        found = definition.identity_of(dtype)
        if found is None:
            raise InternalError(f"no identity of type {dtype}")  # types were checked
        return found

    def combined(first: Expression, second: Expression) -> Expression:
        values = dict(zip(definition.arguments, (first, second), strict=True))
        return walk.substitute(definition.combined, values)

    regroups = definition.has_any_order
    exact = "biu" if regroups else ""
    facts = _single(identity, combined, Result.KEPT, "biufc", exact, regroups)
    return replace(facts, associates="associative" in definition.claims)


def dtype_of(operation: Operation) -> DType | None:
    """Return the type that an operation is said to be computed in."""
    return operation.dtype if isinstance(operation, Special) else None
