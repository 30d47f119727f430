"""Conditions that have one answer wherever they are asked; choices that depend on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Sequence

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression


def with_answers(node: Expression, answer: Callable[[Expression], Expression]) -> Expression:
    """Return a condition in which `answer` has a say: about the whole, else about its parts.

    Parameters:
        node: the condition.
        answer: takes a condition; returns it, or True or False if that is what it is.
    """
    found = answer(node)
    if found is not node:
        return found
    if isinstance(node, ex.LogicalNot):
        child = with_answers(node.child, answer)
        if isinstance(child, bool):
            return not child
        return node if child is node.child else ex.LogicalNot(child)
    if not isinstance(node, ex.LogicalAnd | ex.LogicalOr):
        return node
    # What is True says nothing in a conjunction, and all in a disjunction.
    says_all = isinstance(node, ex.LogicalOr)
    parts = [with_answers(child, answer) for child in node.children]
    if any(part is says_all for part in parts):
        return says_all
    left = tuple([part for part in parts if not isinstance(part, bool)])
    if len(left) < 2:
        return left[0] if left else not says_all
    return node if _are_same(left, node.children) else type(node)(left)


def _are_same(parts: Sequence[Expression], others: Sequence[Expression]) -> bool:
    return len(parts) == len(others) and all(map(operator.is_, parts, others))


class Decided:
    """Decisions about conditions at a place; answers are remembered.

    Parameters:
        known: what holds there, a flat set.
        integers: the names of inames, and of integers that do not change.
    """

    def __init__(self, known: isl.Set, integers: Container[str]) -> None:
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
