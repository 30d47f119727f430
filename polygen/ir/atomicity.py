"""Atomic updates: which assignments are one, and how memory sees them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.operation import Definition, Special


class MemoryOrdering(enum.Enum):
    """The memory ordering of an atomic operation, as in C11 and OpenCL 2."""

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
        operation: the operation of a user's own that it updates with, or None.
        any_order: the claim that an update which returns the old value may come before or after
            others which claim that, or have its operation, whatever their results are then.
    """

    init: bool = False
    ordering: MemoryOrdering = MemoryOrdering.RELAXED
    scope: MemoryScope = MemoryScope.WORK_DEVICE
    operation: Special | None = None
    any_order: bool = False

    def __str__(self) -> str:
        default = Atomicity()
        parts = ["init"] if self.init else []
        if self.operation is not None:
            parts.append(self.operation.name)
        if self.any_order:
            parts.append("any_order")
        if self.ordering is not default.ordering:
            parts.append(self.ordering.value)
        if self.scope is not default.scope:
            parts.append(self.scope.value)
        return "atomic" + ("=" if parts else "") + ":".join(parts)


ANY_ORDER = Atomicity(any_order=True)  # what verbatim texts may claim


@dataclass(frozen=True, slots=True)
class Update:
    """``a = a + x`` and its kin.

    Attributes:
        operation: its name, or what it does if it is a user's own: two updates with one operation
            may come in any order.
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

# Those that have the same result in any order, whatever their type.
EXACT = frozenset(("min", "max", "bit_and", "bit_or", "bit_xor", "all", "any"))

# The words of ``{atomic=...}``.
WORDS: dict[str, dict[str, Any]] = {
    "update": {"init": False},
    "init": {"init": True},
    "any_order": {"any_order": True},
    **{ordering.value: {"ordering": ordering} for ordering in MemoryOrdering},
    **{scope.value: {"scope": scope} for scope in MemoryScope},
}


def update_of(
    target: Expression, value: Expression, operation: Special | None = None
) -> Update | None:
    """Return what the old value of `target` is combined with in `value`; None if it is no update.

    Parameters:
        target: what is updated.
        value: its new value.
        operation: one of a user's own that it may be updated with; in any order, by its claims.

    >>> from polygen.ir.expression import Max, Variable
    >>> update_of(Variable("t"), Max((Variable("t"), Variable("x"))))
    Update(operation='max', operand=Variable('x'))
    """
    built_in = _OPERATIONS.get(type(value))
    if built_in is not None:
        node: Any = value
        children: tuple[Expression, ...] = node.children
        others = [child for child in children if child != target]
        if len(children) == 2 and len(others) == 1:
            return Update(built_in, others[0])
    definition = None if operation is None else operation.definition
    if definition is None or not definition.has_any_order:
        return None
    operand = _operand(definition, target, value)
    return None if operand is None else Update(repr(definition), operand)


def updated(
    target: Expression,
    value: Any,
    old: Expression,
    operation: Special | None = None,
    operand: Expression | None = None,
) -> Expression:
    """Return the value of an update with something else in place of the old value.

    Parameters:
        target, value, operation: as in `update_of`.
        old: what takes the place.
        operand: what takes the place of what the old value is combined with, if something does.
    """
    definition = None if operation is None else operation.definition
    known = None if definition is None else _operand(definition, target, value)
    if definition is not None and known is not None:
        return _applied(definition, old, known if operand is None else operand)
    children = tuple(
        [
            old if child == target else child if operand is None else operand
            for child in value.children
        ]
    )
    kind = cast("Callable[[tuple[Expression, ...]], Expression]", type(value))
    return kind(children)


def _applied(definition: Definition, first: Expression, second: Expression) -> Expression:
    return walk.substitute(
        definition.combined, dict(zip(definition.arguments, (first, second), strict=True))
    )


def _operand(definition: Definition, target: Expression, value: Expression) -> Expression | None:
    """Return what `target` is combined with in `value` by an operation; None if it is not."""
    operand = _standing_for(definition.arguments[1], definition.combined, value)
    if operand is None or target in walk.subexpressions(operand):
        return None
    return operand if _applied(definition, target, operand) == value else None


def _standing_for(name: str, pattern: Expression, node: Expression) -> Expression | None:
    """Return what stands in `node` where a name stands in `pattern`; None if nothing does."""
    if isinstance(pattern, ex.Variable):
        return node if pattern.name == name else None
    if type(pattern) is not type(node):
        return None
    for inner, part in zip(walk.parts(pattern), walk.parts(node), strict=False):
        found = _standing_for(name, inner, part)
        if found is not None:
            return found
    return None
