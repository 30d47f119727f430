"""The operations that reductions have, and what is true of each: one table, for all who ask."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.operation import Definition, Number, Operation, Special


class Result(enum.Enum):
    """Which type a reduction has, given that of its operand: as NumPy's."""

    KEPT = "its type"
    WIDENED = "its type; 64 bits wide for integers and truth values"
    TRUTH = "a truth value"


@dataclass(frozen=True)
class Facts:
    """What is true of an operation.

    Attributes:
        identity: what changes no value of a type that it is combined with.
        combined: what the operation makes of two values.
        result: the rule for the type of the result.
        operands: NumPy's letters of the types that it takes.
        exact: the letters of those results that are the same in whatever order is combined.
        regroups: whether it may be combined in another order, up to rounding.
    """

    identity: Callable[[DType], Number]
    combined: Callable[[Expression, Expression], Expression]
    result: Result
    operands: str
    exact: str
    regroups: bool = True


def _largest(dtype: DType) -> Number:
    return float("inf") if dtype.kind == "f" else _limits(dtype)[1]


def _smallest(dtype: DType) -> Number:
    return float("-inf") if dtype.kind == "f" else _limits(dtype)[0]


def _limits(dtype: DType) -> tuple[int, int]:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu":
        raise InternalError(f"no smallest or largest value of type {dtype}")
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


# The new value comes first: then it is evaluated in each iteration, as that of a sum is, and
# compilers may vectorise the loop.


def _either(first: Expression, second: Expression) -> Expression:
    return ex.LogicalOr((second, first))


def _both(first: Expression, second: Expression) -> Expression:
    return ex.LogicalAnd((second, first))


BUILT_IN: Mapping[str, Facts] = {
    "sum": Facts(lambda _: 0, ex.sum_of, Result.WIDENED, "biufc", "biu"),
    "product": Facts(lambda _: 1, ex.product_of, Result.WIDENED, "biufc", "biu"),
    "min": Facts(_largest, lambda a, b: ex.Min((a, b)), Result.KEPT, "biuf", "biuf"),
    "max": Facts(_smallest, lambda a, b: ex.Max((a, b)), Result.KEPT, "biuf", "biuf"),
    "any": Facts(lambda _: False, _either, Result.TRUTH, "biufc", "biuf"),
    "all": Facts(lambda _: True, _both, Result.TRUTH, "biufc", "biuf"),
}


def name_of(operation: Operation) -> str:
    """Return the name of an operation."""
    return operation.name if isinstance(operation, Special) else operation


def with_dtype(operation: Operation, dtype: DType) -> Special:
    """Return an operation as one that is computed in this type."""
    if isinstance(operation, Special):
        return replace(operation, dtype=dtype)
    return Special(operation, dtype)


def definition_of(operation: Operation) -> Definition | None:
    """Return what a user's own operation does; None of one that is built in."""
    return operation.definition if isinstance(operation, Special) else None


def facts_of(operation: Operation) -> Facts:
    """Return what is true of an operation."""
    definition = definition_of(operation)
    return BUILT_IN[name_of(operation)] if definition is None else _facts(definition)


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

    regroups = len(definition.claims) == 2
    return Facts(identity, combined, Result.KEPT, "biufc", "biu" if regroups else "", regroups)


def dtype_of(operation: Operation) -> DType | None:
    """Return the type that an operation is said to be computed in."""
    return operation.dtype if isinstance(operation, Special) else None
