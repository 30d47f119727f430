"""The operations that reductions have, and what is true of each: one table, for all who ask."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.operation import Operation, Special

Number: TypeAlias = int | float | bool


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


def facts_of(operation: Operation) -> Facts:
    """Return what is true of an operation."""
    return BUILT_IN[name_of(operation)]


def dtype_of(operation: Operation) -> DType | None:
    """Return the type that an operation is said to be computed in."""
    return operation.dtype if isinstance(operation, Special) else None
