"""The loop domain that has the values of Python's ``range``.

An iname runs upward.  So a loop that counts down has an iname that counts its iterations:

    range(n - 1, -1, -2)    is    { [i]: 0 <= i and 2i < n }, with the value n - 1 - 2*i
"""

from __future__ import annotations

from functools import reduce

from polygen.analysis.integers.isl_affine import condition_set
from polygen.errors import InvalidArgument, NonAffineDomain
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, intersection, unflatten
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.source import caller_location


class LoopRange:
    """A loop from one bound to below, or above, another one.

    Parameters:
        iname: the name of its iname.
        lower, upper: the bounds, of which the second is left out; None for no upper one.
        step: how far values are apart.

    Attributes:
        iname: the name of its iname.
        domain: the values of that.
        value: the value of the loop, in terms of the iname.

    Raises:
        InvalidArgument: if `step` is 0, or no integer.
        NonAffineDomain: if a bound is not affine.
    """

    def __init__(self, iname: str, lower: Expression, upper: Expression | None, step: int) -> None:
        if type(step) is not int or step == 0:
            raise InvalidArgument(
                f"a loop has the step {step!r}",
                where=caller_location(),
                remedy="pass an integer that is not 0",
            )
        self.iname = iname
        index = ex.Variable(iname)
        self.value: Expression = index
        if step < 0:
            self.value = ex.sum_of(lower, ex.negated(_times(-step, index)))
        conditions = [ex.Comparison(0 if step < 0 else lower, "<=", index)]
        if upper is not None:
            ends = (upper, self.value) if step < 0 else (index, upper)
            conditions.append(ex.Comparison(ends[0], "<", ends[1]))
        if step > 1:
            ahead = ex.remainder_of(ex.sum_of(index, ex.negated(lower)), step)
            conditions.append(ex.Comparison(ahead, "==", 0))
        self.domain = _domain(iname, conditions)


def is_data(bound: Expression) -> bool:
    """Tell whether a bound is read from memory, or computed by a function, as the kernel runs."""
    if walk.classes(bound).isdisjoint((ex.Subscript, ex.Call)):
        return False
    return condition_set(ex.Comparison(bound, ">=", 0)) is None


def _times(factor: int, node: Expression) -> Expression:
    return node if factor == 1 else ex.product_of(factor, node)


def _domain(iname: str, conditions: list[ex.Comparison]) -> Domain:
    """Return the domain of the iname in which conditions hold."""
    sets = [condition_set(condition) for condition in conditions]
    known = [found for found in sets if found is not None]
    if len(known) < len(sets):
        raise NonAffineDomain(
            f"the loop '{iname}' has a bound that is not affine in sizes and inames",
            where=caller_location(),
            excerpt=" and ".join(map(show_expression, conditions[:2])),
            remedy="assign what varies to an integer temporary, and name that as the bound",
        )
    return Domain(unflatten(reduce(intersection, known), [iname]))
