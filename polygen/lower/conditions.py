"""Guards: what must be asked before a statement is executed, as conditions that can be shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import islpy as isl

from polygen.analysis.affine import LinearForm
from polygen.analysis.integers import integer_parameters
from polygen.analysis.isl_affine import condition_set, form_of_constraint
from polygen.analysis.known import known_parameters
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.lower.address import simplify


@dataclass(frozen=True)
class Condition:
    """A condition that a group of statements has in common.

    Attributes:
        reads: the elements of arrays that it reads, as the kernel says them.
        after: if it reads any, the conditions that are asked before it: they may be what keeps it
            inside of the arrays.
    """

    expression: Expression
    reads: tuple[ex.Subscript, ...] = field(default=(), compare=False)
    after: tuple[Condition, ...] = field(default=(), compare=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables, arrays included, whose values it depends on."""
        return walk.free_variables(self.expression)


def guards(needed: isl.Set, known: isl.Set) -> tuple[Condition, ...]:
    """Return the conditions for `needed` where `known` holds; none if that is always so.

    Both are flat sets.
    """
    left = needed if known.plain_is_universe() else needed.gist(known)
    if left.plain_is_universe():
        return ()
    pieces = left.compute_divs().get_basic_sets()
    if not pieces:
        return (Condition(False),)
    if len(pieces) == 1:
        return tuple(Condition(c) for c in _comparisons(pieces[0]))
    alternatives = tuple(conjunction(_comparisons(piece)) for piece in pieces)
    return (Condition(ex.LogicalOr(alternatives)),)


def conjunction(conditions: list[Expression]) -> Expression:
    """Return one condition that says all of them."""
    return conditions[0] if len(conditions) == 1 else ex.LogicalAnd(tuple(conditions))


def _comparisons(piece: isl.BasicSet) -> list[Expression]:
    found = [
        comparison(form_of_constraint(c), "==" if c.is_equality() else ">=")
        for c in piece.get_constraints()
    ]
    return found or [True]


def comparison(form: LinearForm, operator: str) -> Expression:
    """Return ``form >= 0`` or ``form == 0`` as one would write it: ``16*io + ii < n``."""
    positive = LinearForm(0, {t: c for t, c in form.terms.items() if c > 0})
    negative = LinearForm(0, {t: -c for t, c in form.terms.items() if c < 0})
    constant = form.constant
    if operator == "==":
        sides = (
            (positive, negative - constant) if positive.terms else (negative, positive + constant)
        )
        return ex.Comparison(sides[0].expression(), "==", sides[1].expression())
    if not negative.terms:
        return ex.Comparison(positive.expression(), ">=", -constant)
    if constant < 0:
        # negative <= positive + constant, without the subtraction
        return ex.Comparison((negative + (-constant - 1)).expression(), "<", positive.expression())
    return ex.Comparison(negative.expression(), "<=", (positive + constant).expression())


def folded(condition: Condition, values: Mapping[str, Expression]) -> Condition:
    """Return the condition for these values of some names, a truth value if it is decided."""
    node = walk.substitute(condition.expression, values)
    if not isinstance(node, ex.Comparison):
        return Condition(node)
    left, right = simplify(node.left), simplify(node.right)
    if isinstance(left, int) and isinstance(right, int):
        return Condition(_COMPARE[str(node.operator)](left, right))
    return Condition(ex.Comparison(left, node.operator, right))


_COMPARE = {
    "<": int.__lt__,
    "<=": int.__le__,
    "==": int.__eq__,
    ">=": int.__ge__,
}


def reads_inside(
    kernel: Kernel, condition: Condition, before: Iterable[Condition], known: isl.Set
) -> bool:
    """Tell whether a condition reads inside of arrays wherever it may come to be asked.

    Before a loop, it is asked even if the loop has no iteration.

    Parameters:
        kernel: the kernel.
        condition: the condition.
        before: conditions that are asked before it.
        known: what holds where it may be asked, a flat set.
    """
    if not condition.reads:
        return True
    known = known.intersect(known_parameters(kernel))
    integers = integer_parameters(kernel).union(kernel.inames)
    for other in before:
        holds = condition_set(other.expression, integers)
        known = known if holds is None else known.intersect(holds)
    for node in condition.reads:
        shape = kernel.array(ex.name_of(node)).shape or ()
        for subscript, extent in zip(ex.index_tuple(node), shape, strict=True):
            low = ex.Comparison(subscript, ">=", 0)
            inside = condition_set(ex.LogicalAnd((low, ex.Comparison(subscript, "<", extent))))
            if inside is None or not known.is_subset(inside):
                return False
    return True
