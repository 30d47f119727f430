"""Finds pairs of instances that touch one element through subscripts that are data.

Of an array that is never written, equal subscripts give equal values; of one that is claimed to be
injective, equal values come from equal subscripts.  A table of constants says itself if it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import islpy as isl
import numpy as np

from polygen.analysis.access.accesses import Reference, known_names, reference_domain
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import is_never_written, known_parameters
from polygen.analysis.integers.products import size_facts
from polygen.analysis.integers.quotients import order_facts, quotient_facts, says_something
from polygen.analysis.integers.second_instance import OTHER, in_other
from polygen.analysis.integers.unknowns import Unknowns
from polygen.ir import expression as ex
from polygen.ir.array import TemporaryVariable
from polygen.ir.claims import Injective
from polygen.ir.domain import project_out, rename_dimension, universe
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


def may_be_equal(kernel: Kernel, first: Reference, second: Reference) -> isl.Set:
    """Return pairs of instances outside of which the subscripts differ, whatever the data is.

    Parameters:
        kernel: the kernel.
        first: a reference in the first instance.
        second: a reference to the same array in the second.

    Returns:
        A flat set over the inames of both, the second's with a suffix.
    """
    if len(first.index) != len(second.index):
        return universe()  # verbatim C touches all of an array
    return _Pair(kernel, first, second).equal()


class _Pair:
    """The parts of subscripts that are data, in two instances."""

    def __init__(self, kernel: Kernel, first: Reference, second: Reference) -> None:
        self._kernel = kernel
        self._references = (first, second)
        self._indices = (first.index, second.index)
        self._unknowns = tuple(Unknowns(known_names(kernel, r)) for r in (first, second))

    def equal(self) -> isl.Set:
        pairs = reduce(isl.Set.intersect, self._equations(), universe())
        pairs = related = reduce(isl.Set.intersect, self._divisions(), pairs)
        seen = 0
        # Subscripts of subscripts are found while looking at these.
        while (count := sum(len(u.names) for u in self._unknowns)) > seen:
            seen = count
            related = reduce(isl.Set.intersect, self._relations(), pairs)
        return project_out(related, self._names())

    def _equations(self) -> Iterator[isl.Set]:
        for left, right in zip(*self._indices, strict=True):
            found = self._same(left, right)
            if found is not None:
                yield found

    def _same(self, left: Expression, right: Expression) -> isl.Set | None:
        """Return where expressions of the two instances are equal, if that is affine."""
        here, there = self._unknowns
        other = in_other(self._kernel, there.abstract(right))
        return condition_set(ex.Comparison(here.abstract(left), "==", other))

    def _divisions(self) -> Iterator[isl.Set]:
        """Yield what holds of quotients and remainders by sizes in the two instances."""
        if not any(says_something(self._kernel, unknowns) for unknowns in self._unknowns):
            return
        kernel, (here, there) = self._kernel, self._unknowns
        known = [
            reference_domain(kernel, reference)[0].intersect(known_parameters(kernel))
            for reference in self._references
        ]
        yield size_facts(kernel)
        yield quotient_facts(kernel, here, known[0])
        facts = quotient_facts(kernel, there, known[1])
        for name in (*kernel.inames, *there.names.values()):
            facts = rename_dimension(facts, name, name + OTHER)
        yield facts
        yield from order_facts(kernel, (here, there), known[0])

    def _relations(self) -> Iterator[isl.Set]:
        """Yield what holds of values of one array in the two instances."""
        here, there = (dict(u.names) for u in self._unknowns)
        for left, name in here.items():
            for right, other_name in there.items():
                if self._same_table(left, right):
                    yield from self._relation(left, name, right, other_name + OTHER)

    def _same_table(self, left: Expression, right: Expression) -> bool:
        if not isinstance(left, ex.Subscript) or not isinstance(right, ex.Subscript):
            return False
        array = ex.name_of(left)
        return array == ex.name_of(right) and is_never_written(self._kernel, array)

    def _relation(
        self, left: Expression, name: str, right: Expression, other_name: str
    ) -> Iterator[isl.Set]:
        arguments = [
            ex.index_tuple(node) for node in (left, right) if isinstance(node, ex.Subscript)
        ]
        parts = [self._same(a, b) for a, b in zip(*arguments, strict=True)]
        known = [part for part in parts if part is not None]
        same_value = condition_set(ex.Comparison(ex.Variable(name), "==", ex.Variable(other_name)))
        if len(known) < len(parts) or same_value is None:
            return
        same = reduce(isl.Set.intersect, known, universe())
        other = same.complement()
        if _is_injective(self._kernel, ex.name_of(left)):
            other = other.subtract(same_value)
        yield same.intersect(same_value).union(other)

    def _names(self) -> list[str]:
        here, there = self._unknowns
        return [*here.names.values(), *(name + OTHER for name in there.names.values())]


@per_kernel
def _is_injective(kernel: Kernel, name: str) -> bool:
    variable = kernel.variables[name]
    if isinstance(variable, TemporaryVariable) and variable.initializer is not None:
        return np.unique(variable.initializer).size == variable.initializer.size
    return Injective(name) in kernel.claims
