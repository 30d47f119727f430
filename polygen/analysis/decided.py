"""Conditions that have one answer wherever they are asked; choices that depend on them."""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl

from polygen.analysis.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression


class Decided:
    """What is decided at a place; answers are remembered.

    Parameters:
        known: what holds there, a flat set.
        integers: the names of inames, and of integers that do not change.
    """

    def __init__(self, known: isl.Set, integers: Collection[str]) -> None:
        self._known = known
        self._integers = integers
        self._answers: dict[Expression, bool | None] = {}

    def condition(self, node: Expression) -> Expression:
        """Return a condition, or True or False if that is what it is."""
        if node not in self._answers:
            self._answers[node] = self._answer(node)
        answer = self._answers[node]
        return node if answer is None else answer

    def _answer(self, node: Expression) -> bool | None:
        holds = condition_set(node, self._integers)
        if holds is None:
            return None
        if self._known.is_subset(holds):
            return True
        return False if self._known.is_disjoint(holds) else None

    def choices(self, node: Expression) -> Expression:
        """Return an expression with True and False for those conditions of choices that are so.

        The choice itself stays, and with it its type, which is that of both values.  Subscripts
        stay as they are.
        """
        if isinstance(node, ex.Subscript) or ex.If not in walk.classes(node):
            return node
        node = walk.rebuild(node, tuple(map(self.choices, walk.parts(node))))
        if not isinstance(node, ex.If):
            return node
        condition = self.condition(node.condition)
        return node if condition is node.condition else ex.If(condition, node.then, node.else_)
