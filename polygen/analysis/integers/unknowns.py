"""Subscripts that are data, as functions of unknown numbers: ``2*idx[i] + 1`` is ``2*u + 1``.

Affine arithmetic then says what can be said whatever the data is.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TypeGuard

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.function_definitions import meaning_of
from polygen.analysis.integers.isl_affine import condition_set, to_pw_aff
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression

_NAME = "__unknown_"  # names of users do not begin so
_AFFINE = (ex.Sum, ex.FloorDiv, ex.Remainder, ex.Min, ex.Max)


class Unknowns:
    """Unknown integers that stand for parts of expressions that are data.

    Equal parts have equal values.

    Parameters:
        known: names whose values are those of inames and parameters.
        suffix: what the names of the unknowns end with.

    Attributes:
        names: the name of each part.
    """

    def __init__(self, known: Container[str], suffix: str = "") -> None:
        self._known = known
        self._suffix = suffix
        self.names: dict[Expression, str] = {}

    def function(self, node: Expression) -> isl.PwAff | None:
        """Return an expression as a function of inames, parameters and unknowns, if it is one."""
        return to_pw_aff(self.abstract(node))

    def abstract(self, node: Expression) -> Expression:
        """Return an expression with a variable for each part that is data."""
        if not isinstance(node, ex.ExpressionNode):
            return node
        if isinstance(node, ex.Variable) and node.name in self._known:
            return node
        if (isinstance(node, _AFFINE) and not is_by_size(node)) or _is_multiple(node):
            return walk.rebuild(node, tuple([self.abstract(p) for p in walk.parts(node)]))
        if isinstance(node, ex.If) and condition_set(node.condition, self._known) is not None:
            return ex.If(node.condition, self.abstract(node.then), self.abstract(node.else_))
        meaning = meaning_of(node) if isinstance(node, ex.Call) else None
        if meaning is not None and isinstance(meaning, _AFFINE):
            return self.abstract(meaning)
        name = self.names.setdefault(node, f"{_NAME}{len(self.names)}{self._suffix}")
        return ex.Variable(name)


def is_by_size(node: Expression) -> TypeGuard[ex.FloorDiv | ex.Remainder]:
    """Tell whether this is a quotient, or a remainder, by what is no constant."""
    if not isinstance(node, ex.FloorDiv | ex.Remainder):
        return False
    size = linear_form(node.denominator)
    return size is None or not size.is_constant


def without_whole_sizes(node: ex.FloorDiv | ex.Remainder) -> ex.FloorDiv | ex.Remainder:
    """Return ``(i - 1) % n`` for ``(i + n - 1) % n``: another number with the same remainder."""
    size = node.denominator
    form = linear_form(node.numerator)
    if isinstance(node, ex.FloorDiv) or not isinstance(size, ex.Variable) or form is None:
        return node
    if size.name not in form.terms:
        return node
    rest = LinearForm(form.constant, {t: c for t, c in form.terms.items() if t != size.name})
    return ex.remainder_of(rest.expression(), size)


def _is_multiple(node: Expression) -> bool:
    """Tell whether this is a product of numbers and at most one other factor."""
    if not isinstance(node, ex.Product):
        return False
    return sum(isinstance(part, ex.ExpressionNode) for part in node.children) <= 1
