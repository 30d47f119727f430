"""Choices between two values that are the same wherever an expression is evaluated."""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl

from polygen.analysis.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression


def decided(condition: Expression, known: isl.Set, integers: Collection[str]) -> Expression:
    """Return a condition, or True or False if what is known decides it.

    Parameters:
        condition: of inames and integers that do not change.
        known: what holds where it is asked, a flat set.
        integers: the names that sets may be about.
    """
    holds = condition_set(condition, integers)
    if holds is None:
        return condition
    if known.is_subset(holds):
        return True
    return False if known.is_disjoint(holds) else condition


def with_decided_choices(node: Expression, known: isl.Set, integers: Collection[str]) -> Expression:
    """Return an expression with True and False for those conditions of choices that are decided.

    The choice itself stays, and with it its type, which is that of both values.  Subscripts stay
    as they are.
    """
    if isinstance(node, ex.Subscript) or ex.If not in walk.classes(node):
        return node
    parts = tuple([with_decided_choices(p, known, integers) for p in walk.parts(node)])
    node = walk.rebuild(node, parts)
    if not isinstance(node, ex.If):
        return node
    condition = decided(node.condition, known, integers)
    return node if condition is node.condition else ex.If(condition, node.then, node.else_)
