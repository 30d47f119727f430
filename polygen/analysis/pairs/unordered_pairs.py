"""Pairs of instances whose order the kernel leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import permutations

import islpy as isl

from polygen.analysis.order.instance_order import order_of
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.pairs.instance_pairs import equal, greater, less
from polygen.ir.domain import universe
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.tags import is_on_axis, is_parallel


@dataclass(frozen=True)
class Loose:
    """Pairs of instances whose order is open.

    Attributes:
        equal: the inames in which both have the same value.
        less: an iname in which the first instance has the smaller value.  None if that does not
            matter: no loop that both are in, and no dependency, orders the two instructions.
        greater: an iname in which the first instance has the larger value: then it comes first if
            the loop of `less` is outside, and second if the loop of `greater` is.  None if the
            instances differ in inames on hardware axes only.
        ordered: pairs that are in an order nevertheless; None if there are none.
    """

    equal: tuple[str, ...]
    less: str | None = None
    greater: str | None = None
    ordered: isl.Set | None = None

    @property
    def pairs(self) -> isl.Set:
        """These pairs as a flat set, other constraints aside."""
        wanted = [equal(iname) for iname in self.equal]
        if self.less is not None:
            wanted.append(less(self.less))
        if self.greater is not None:
            wanted.append(greater(self.greater))
        if self.ordered is not None:
            wanted.append(self.ordered.complement())
        return reduce(isl.Set.intersect, wanted, universe())

    def on_axis(self, kernel: Kernel) -> bool:
        """Tell whether these are instances of one instruction that work items execute at once."""
        return self.greater is None and is_on_axis(kernel.tags.get(self.less or ""))


@per_kernel
def loose_pairs(kernel: Kernel, first: str, second: str) -> tuple[Loose, ...]:
    """Return the pairs of instances of two instructions whose order is open.

    Of two instances of one instruction that differ in hardware axes only, each pair is there
    once.
    """
    return tuple(_loose_pairs(kernel, first, second))


def _loose_pairs(kernel: Kernel, first: str, second: str) -> Iterator[Loose]:
    order, outside = order_of(kernel), loops_outside(kernel)
    shared = order.shared_loops(first, second)
    for a, b in permutations(shared, 2):
        if a in outside[b] or b in outside[a] or (first == second and a > b):
            continue
        around = outside[a] | outside[b]
        yield Loose(tuple(i for i in shared if i in around), a, b)
    if first == second:
        for iname in sorted(kernel.instruction(first).within_inames):
            if is_parallel(kernel.tags.get(iname)):
                yield Loose(shared, iname)
    elif not (order.depends(first, second) or order.depends(second, first)):
        yield Loose(shared, ordered=order.related_either_way(first, second))
