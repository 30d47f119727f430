"""Instances that are never both executed: one if a condition holds, the other if it does not.

Equal subscripts give equal values of what is never written.  So where ``c[i] > 0`` and
``not c[j] > 0`` are conditions of two instances, these do not have the same values of ``i`` and
``j``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import Reference, known_names
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.integers.second_instance import in_other
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.domain import universe
from polygen.ir.expression import Expression
from polygen.ir.instruction import identical
from polygen.ir.kernel import Kernel


def never_both(kernel: Kernel, first: Reference, second: Reference) -> isl.Set | None:
    """Return pairs of instances of which one is not executed; None if there are none.

    Parameters:
        kernel: the kernel.
        first: a reference in the first instance.
        second: one in the second.

    Returns:
        A flat set over the inames of both, the second's with a suffix.
    """
    if not (first.conditions and second.conditions):
        return None
    pair = _Pair(kernel, first, second)
    found = [*pair.excluded()]
    return reduce(isl.Set.union, found) if found else None


class _Pair:
    def __init__(self, kernel: Kernel, first: Reference, second: Reference) -> None:
        self._kernel = kernel
        self._first, self._second = first, second

    def excluded(self) -> Iterator[isl.Set]:
        """Yield the pairs at which a condition of one says that those of the other do not hold."""
        here, there = self._first.conditions, self._second.conditions
        for refused in _refused(there):
            yield from self._all([[(held, part) for held in here] for part in refused])
        for refused in _refused(here):
            yield from self._all([[(part, held) for held in there] for part in refused])

    def _all(self, wanted: Sequence[Sequence[tuple[Expression, Expression]]]) -> Iterator[isl.Set]:
        """Yield the pairs at which, of each of these lists, two conditions have one value."""
        found: list[isl.Set] = []
        for candidates in wanted:
            same = [s for pair in candidates if (s := self._same(*pair)) is not None]
            if not same:
                return
            found.append(reduce(isl.Set.union, same))
        yield reduce(isl.Set.intersect, found, universe())

    def _same(self, here: Expression, there: Expression) -> isl.Set | None:
        """Return where expressions of the two instances have one value, whatever the data is."""
        if self._is_constant(here, there):
            return universe()
        equal = self._equal(here, there)
        if equal is not None:
            return equal
        parts, others = walk.parts(here), walk.parts(there)
        if type(here) is not type(there) or not parts or len(parts) != len(others):
            return None
        # With the same parts, all that is left is what the node itself says.
        if isinstance(here, ex.Reduction) or walk.rebuild(here, others) != there:
            return None
        if isinstance(here, ex.Subscript):
            names = {ex.name_of(node) for node in (here, there)}
            if len(names) > 1 or not all(is_never_written(self._kernel, n) for n in names):
                return None
            parts, others = ex.index_of(here), ex.index_of(there)
        found = [self._same(*pair) for pair in zip(parts, others, strict=True)]
        known = [same for same in found if same is not None]
        if len(known) < len(found):
            return None
        return reduce(isl.Set.intersect, known, universe())

    def _is_constant(self, here: Expression, there: Expression) -> bool:
        """Tell whether this is one and the same number, or a scalar that never changes."""
        if not identical(here, there) or not isinstance(here, ex.Variable):
            return identical(here, there) and not isinstance(here, ex.ExpressionNode)
        variable = self._kernel.variables.get(here.name)
        return isinstance(variable, ValueArg) or is_never_written(self._kernel, here.name)

    def _equal(self, here: Expression, there: Expression) -> isl.Set | None:
        """Return where two affine expressions are equal; None if they are not affine."""
        for node, reference in ((here, self._first), (there, self._second)):
            if not walk.free_variables(node) <= known_names(self._kernel, reference):
                return None
        return condition_set(ex.Comparison(here, "==", in_other(self._kernel, there)))


def _refused(conditions: Sequence[Expression]) -> Iterator[tuple[Expression, ...]]:
    """Yield, for each condition that says so, what does not hold all at once."""
    for condition in conditions:
        if isinstance(condition, ex.LogicalNot):
            yield tuple(walk.conjuncts(condition.child))
        elif isinstance(condition, ex.LogicalOr):
            nots = [ex.LogicalNot(part) for part in condition.children]
            yield tuple(part for n in nots for part in walk.conjuncts(n))
