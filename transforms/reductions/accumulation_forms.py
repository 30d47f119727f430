"""Recognises what an instruction combines an old value with, in the forms in which loops say it.

t = t + e                      combines it with e
t = (t + a) - b                with a - b
t = if(c, t + e, t)            with e, where c holds
t = if(e > t, e, t)            a maximum, as Python's max(t, e)
t = e  {if=e > t}              the same
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.atomicity import update_of
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment


@dataclass(frozen=True)
class Accumulation:
    """What an instruction combines the old value with.

    Attributes:
        operation: the name of the operation of a reduction.
        operand: what the old value is combined with.
        conditions: those under which it is, beside the predicates that are left.
        predicates: those of the instruction that are left.
        passes_over_nan: whether an operand that is NaN changes nothing, and the old value stays if
            it is: that is how comparisons choose, while operations of reductions let NaN through.
    """

    operation: str
    operand: Expression
    conditions: tuple[Expression, ...] = ()
    predicates: tuple[Expression, ...] = ()
    passes_over_nan: bool = False


_CHOSEN: Mapping[str, str] = {">": "max", ">=": "max", "<": "min", "<=": "min"}
_TURNED: Mapping[str, str] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def accumulation(insn: Assignment) -> Accumulation | None:
    """Return what an instruction combines the old value with; None if it does not.

    The operand, or a condition, may still read what is updated: the caller looks.
    """
    target, value = insn.assignee, insn.expression
    found = _of_value(target, value)
    if found is not None:
        return replace(found, predicates=insn.predicates)
    for predicate in insn.predicates:
        operation = _choice(target, value, predicate)
        if operation is not None:
            others = tuple([p for p in insn.predicates if p is not predicate])
            return Accumulation(operation, value, (), others, passes_over_nan=True)
    return None


def _of_value(target: Expression, value: Expression) -> Accumulation | None:
    direct = update_of(target, value)
    if direct is not None:
        return Accumulation(direct.operation, direct.operand)
    if isinstance(value, ex.Sum | ex.Product):
        return _of_terms(target, value)
    if isinstance(value, ex.If):
        return _of_choice(target, value)
    return None


def _of_terms(target: Expression, value: ex.Sum | ex.Product) -> Accumulation | None:
    first, *others = value.children
    is_sum = isinstance(value, ex.Sum)
    combined = ex.sum_of if is_sum else ex.product_of
    if not others:
        return None
    if first == target:
        operand = others[0] if len(others) == 1 else combined(*others)
        return Accumulation("sum" if is_sum else "product", operand)
    inner = _of_terms(target, first) if isinstance(first, type(value)) else None
    return inner and replace(inner, operand=combined(inner.operand, *others))


def _of_choice(target: Expression, value: ex.If) -> Accumulation | None:
    if value.else_ == target:
        operation = _choice(target, value.then, value.condition)
        if operation is not None:
            return Accumulation(operation, value.then, passes_over_nan=True)
        inner, condition = _of_value(target, value.then), value.condition
    elif value.then == target:
        inner, condition = _of_value(target, value.else_), ex.LogicalNot(value.condition)
    else:
        return None
    return inner and replace(inner, conditions=(condition, *inner.conditions))


def _choice(target: Expression, value: Expression, condition: Expression) -> str | None:
    """Return ``"max"`` if a value is taken where it is greater than the old one; ``"min"``."""
    if not isinstance(condition, ex.Comparison):
        return None
    if (condition.left, condition.right) == (value, target):
        return _CHOSEN.get(condition.operator)
    if (condition.left, condition.right) == (target, value):
        return _CHOSEN.get(_TURNED.get(condition.operator, ""))
    return None


def names_read(found: Accumulation) -> frozenset[str]:
    """Return the names that what is combined, and when, depends on."""
    parts = (found.operand, *found.conditions, *found.predicates)
    return NO_NAMES.union(*map(walk.free_variables, parts))
