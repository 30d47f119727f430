"""Atomic updates: which assignments are one, and how memory sees them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from polygen.ir import expression as ex
from polygen.ir.expression import Expression


class MemoryOrdering(enum.Enum):
    """What an atomic operation says of other accesses, as in C11 and OpenCL 2."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQUIRE_RELEASE = "acq_rel"
    SEQUENTIALLY_CONSISTENT = "seq_cst"


class MemoryScope(enum.Enum):
    """Among whom an operation is atomic."""

    WORK_ITEM = "work_item"
    WORK_GROUP = "work_group"
    WORK_DEVICE = "device"
    ALL_DEVICES = "all_devices"


@dataclass(frozen=True)
class Atomicity:
    """``{atomic}``: nothing comes between what an assignment reads and what it writes.

    Attributes:
        init: whether it writes without reading (``{atomic=init}``), else it is an update.
        ordering: what it says of other accesses.  What a kernel means does not depend on it: its
            instructions are ordered by loops and dependencies.
        scope: among whom it is atomic.
    """

    init: bool = False
    ordering: MemoryOrdering = MemoryOrdering.RELAXED
    scope: MemoryScope = MemoryScope.WORK_DEVICE

    def __str__(self) -> str:
        default = Atomicity()
        parts = ["init"] if self.init else []
        if self.ordering is not default.ordering:
            parts.append(self.ordering.value)
        if self.scope is not default.scope:
            parts.append(self.scope.value)
        return "atomic" + ("=" if parts else "") + ":".join(parts)


@dataclass(frozen=True, slots=True)
class Update:
    """``a = a + x`` and its kin.

    Attributes:
        operation: its name: two updates with one operation may come in any order.
        operand: what the old value is combined with.
    """

    operation: str
    operand: Expression


_OPERATIONS: dict[type, str] = {
    ex.Sum: "sum",
    ex.Product: "product",
    ex.Min: "min",
    ex.Max: "max",
    ex.BitwiseAnd: "bit_and",
    ex.BitwiseOr: "bit_or",
    ex.BitwiseXor: "bit_xor",
    ex.LogicalAnd: "all",
    ex.LogicalOr: "any",
}


def update_of(target: Expression, value: Expression) -> Update | None:
    """Return what the old value of `target` is combined with in `value`; None if it is no update.

    >>> from polygen.ir.expression import Max, Variable
    >>> update_of(Variable("t"), Max((Variable("t"), Variable("x"))))
    Update(operation='max', operand=Variable('x'))
    """
    operation = _OPERATIONS.get(type(value))
    if operation is None:
        return None
    node: Any = value
    children: tuple[Expression, ...] = node.children
    others = [child for child in children if child != target]
    if len(children) != 2 or len(others) != 1:
        return None
    return Update(operation, others[0])


def with_old_value(target: Expression, value: Any, old: Expression) -> Expression:
    """Return the value of an update with something else in place of the old value."""
    children = tuple([old if child == target else child for child in value.children])
    kind = cast("Callable[[tuple[Expression, ...]], Expression]", type(value))
    return kind(children)
