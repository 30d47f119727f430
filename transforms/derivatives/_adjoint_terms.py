"""The adjoints of what an expression reads, of its parts first where that saves work.

Like the kernel, an expression runs backwards: from the adjoint of its value to those of what it
reads.  On the way, a part that several elements stand in, or that is reduced, has an adjoint of its
own, which is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polygen.analysis.typing.derivatives import Cases, cases_of, partials, times
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.transforms.derivatives._expression_derivatives import (
    Context,
    factor_of,
    is_component_of_reduction,
    tangent,
)


class Loops(Context):
    """Makes inames; knows what the old ones stand for where an expression is looked at.

    Attributes:
        values: what old inames are.
    """

    values: Mapping[str, Expression]

    def name(self, like: str) -> str:
        """Return a new name."""
        raise NotImplementedError


@dataclass(frozen=True)
class Term:
    """A term of an element's adjoint, or the adjoint of a part.

    Attributes:
        access: what is read, in terms of the old inames; for a part, the name of its adjoint.
        seed: the name of the adjoint of the part that it stands in; None for that of the whole.
        coefficient: the derivative of that, in terms of the old inames and of copies that
            reductions in it run over.
        conditions: where it is not 0.
        values: what the old inames are, outermost loops first: for each of those reduced over, a
            new one.
        is_part: whether it is that of a part.
    """

    access: ex.Variable | ex.Subscript
    seed: str | None
    coefficient: Expression
    conditions: tuple[Expression, ...]
    values: Mapping[str, Expression]
    is_part: bool = False


def terms(node: Expression, moving: frozenset[str], loops: Loops) -> list[Term]:
    """Return the derivatives of an expression by what it reads of some variables.

    That is the sum of those terms that are by one element, also if it is read several times, and
    over all values of the new inames.  Adjoints of parts stand before what they are passed on to.

    Parameters:
        node: the expression.
        moving: the variables.
        loops: makes new inames; says what the old ones are.

    Raises:
        NotDifferentiable: if one is not known.
    """
    return list(_Backwards(moving, loops).terms(node, None, (), ()))


class _Backwards:
    """Goes through an expression, from the whole to its parts."""

    def __init__(self, moving: frozenset[str], loops: Loops) -> None:
        self._moving, self._loops = moving, loops

    def terms(
        self,
        node: Expression,
        seed: str | None,
        factors: tuple[Expression, ...],
        conditions: tuple[Expression, ...],
    ) -> Iterator[Term]:
        """Yield the terms by what a part reads.

        Parameters:
            node: the part.
            seed: the adjoint of a part that it stands in.
            factors: the derivative of that by this part.
            conditions: those under which it is evaluated.
        """
        if self._moving.isdisjoint(walk.free_variables(node)):
            return
        if isinstance(node, ex.Variable | ex.Subscript):
            if ex.name_of(node) in self._moving:
                yield self._term(node, seed, factors, conditions)
            return
        reduced = isinstance(node, ex.Reduction) or is_component_of_reduction(node)
        if self._matters(node) and (reduced or len(self._read(node)) > 1) and _is_work(factors):
            part = self._term(ex.Variable(self._loops.name("part_bar")), seed, factors, conditions)
            yield replace(part, is_part=True)
            seed, factors = ex.name_of(part.access), ()
        cases = cases_of(node)
        if reduced:
            yield from self._of_reduced(node, seed, factors, conditions)
        elif cases is not None:
            yield from self._of_cases(cases, seed, factors, conditions)
        else:
            for inner, partial in partials(node):
                factor = partial() if self._matters(inner) else 0
                if factor != 0:
                    yield from self.terms(inner, seed, (*factors, factor), conditions)

    def _of_cases(
        self,
        cases: Cases,
        seed: str | None,
        factors: tuple[Expression, ...],
        conditions: tuple[Expression, ...],
    ) -> Iterator[Term]:
        for condition, value in cases:
            here = () if condition is None else (condition,)
            yield from self.terms(value, seed, factors, (*conditions, *here))
            if condition is not None:
                conditions = (*conditions, ex.LogicalNot(condition))

    def _term(
        self,
        access: ex.Variable | ex.Subscript,
        seed: str | None,
        factors: tuple[Expression, ...],
        conditions: tuple[Expression, ...],
    ) -> Term:
        return Term(access, seed, times(*factors), conditions, dict(self._loops.values))

    def _matters(self, node: Expression) -> bool:
        """Tell whether an expression depends on some variables smoothly anywhere."""
        if self._moving.isdisjoint(walk.free_variables(node)):
            return False
        found = tangent(node, lambda n: 1 if ex.name_of(n) in self._moving else None, Context())
        return found is not None

    def _read(self, node: Expression) -> set[Expression]:
        """Return the elements that an expression depends on."""
        return {access for access in walk.accesses(node) if ex.name_of(access) in self._moving}

    def _of_reduced(
        self,
        node: Expression,
        seed: str | None,
        factors: tuple[Expression, ...],
        conditions: tuple[Expression, ...],
    ) -> Iterator[Term]:
        reduction = node.aggregate if isinstance(node, ex.Component) else node
        assert isinstance(reduction, ex.Reduction)
        position = node.position if isinstance(node, ex.Component) else 0
        operand = reduction.operand
        if isinstance(operand, ex.Several):
            operand = operand.children[0]
        if not self._matters(operand):
            return
        before = self._loops.values
        own = self._loops.copies(reduction.inames)
        self._loops.values = {**before, **{old: ex.Variable(new) for old, new in own.items()}}
        factor = factor_of(node, reduction, position, self._loops)
        if factor is not None:
            here = () if factor.condition is None else (factor.condition,)
            inner = (*factors, factor.value)
            yield from self.terms(operand, seed, inner, (*conditions, *here))
        self._loops.values = before


def _is_work(factors: tuple[Expression, ...]) -> bool:
    """Tell whether a product is more than a sign."""
    return times(*factors) not in (1, -1)
