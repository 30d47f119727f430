"""Choices that affine conditions decide: which of its values each is, at which points.

In ``{ [i]: 0<=i<n }``, the value of ``if(i < n and c[i] > 0, a[i], 0)`` is that of
``if(c[i] > 0, a[i], 0)``: the domain decides one part of the condition, and data the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl
import numpy as np

from polygen.analysis.equality.compared_values import Value, kept_casts
from polygen.analysis.typing.kinds import same_kind
from polygen.ir import expression as ex
from polygen.ir.expression import Expression


def affine_choices(value: Value, points: isl.Set) -> Sequence[tuple[Value, isl.Set]] | None:
    """Return which value a choice is where; None if no part of its condition is affine.

    What is left of a condition, where its affine parts do not decide it, is a choice again.  So is
    what is left of ``a and b`` and of ``a or b``, which choose a truth value.

    Parameters:
        value: a value, of an expression of any class.
        points: where.
    """
    node = value.node
    if isinstance(node, ex.If):
        return _choices(value, node, points)
    if value.frame.holds(node) is not None:
        return None
    decided = _partly_decided(value, node, points)
    if decided is None:
        return None
    return [(replace(value.part(left), casts=value.casts), inner) for left, inner in decided]


def _choices(value: Value, node: ex.If, points: isl.Set) -> Sequence[tuple[Value, isl.Set]] | None:
    """Return what a choice is where its condition is decided, and what is left of it elsewhere."""
    decided = _decided(value, node.condition, points)
    if decided is None:
        return None
    kind = replace(value, casts=()).kind
    found: list[tuple[Value, isl.Set]] = []
    for condition, inner in decided:
        if not isinstance(condition, bool):
            left = ex.If(condition, node.then, node.else_)
            found.append((replace(value, node=left), inner))
            continue
        asked = node.condition if condition else ex.LogicalNot(node.condition)
        part = value.part(node.then if condition else node.else_).within(asked)
        if same_kind(part.kind, kind):
            found.append((replace(part, casts=value.casts), inner))
        elif isinstance(kind, np.dtype):
            casts = kept_casts(part.kind, (*value.casts, kind))
            found.append((replace(part, casts=casts), inner))
        elif kind is float and part.number is not None:
            found.append((replace(part, node=float(part.number), casts=value.casts), inner))
    return found


def _decided(
    value: Value, condition: Expression, points: isl.Set
) -> Sequence[tuple[Expression, isl.Set]] | None:
    """Return what a condition is where: a truth value, or its parts that are not affine.

    None if no part of it is affine.
    """
    there = value.frame.holds(condition)
    if there is None:
        return _partly_decided(value, condition, points)
    return [(True, points.intersect(there)), (False, points.subtract(there))]


def _partly_decided(
    value: Value, condition: Expression, points: isl.Set
) -> Sequence[tuple[Expression, isl.Set]] | None:
    """Return where affine parts of ``a and b`` or ``a or b`` decide it, and the rest elsewhere."""
    if not isinstance(condition, ex.LogicalAnd | ex.LogicalOr):
        return None
    is_any = isinstance(condition, ex.LogicalOr)
    sets = [value.frame.holds(part) for part in condition.children]
    left = tuple([p for p, there in zip(condition.children, sets, strict=True) if there is None])
    if len(left) == len(sets):
        return None
    where = [there if is_any else there.complement() for there in sets if there is not None]
    decided = reduce(isl.Set.union, where)
    rest = left[0] if len(left) == 1 else type(condition)(left)
    return [(is_any, points.intersect(decided)), (rest, points.subtract(decided))]
