"""In which order reductions are added up, where that can be seen in their results.

Minima and maxima, and what is computed in integers, come out the same in any order; other sums and
products do not.  A reduction runs as loops, upward: so its order is that of the loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.access.instance_map import InstanceMap, mentioned
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.second_instance import in_other
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.pairs.instance_pairs import equal, less, renamed, witness
from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.kept_types import known_kinds
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of


@dataclass(frozen=True)
class Reordered:
    """A reduction that is added up in another order than before.

    Attributes:
        insn_id: the instruction.
        reduction: how it was before.
        inames: those that it runs over now; none, if it is there no more, or in other parts.
        point: two contributions of which the first comes first now, or may do so, and did not
            before: values of parameters and inames, those of the second with a suffix.
    """

    insn_id: str
    reduction: ex.Reduction
    inames: tuple[str, ...] = ()
    point: Mapping[str, int] | None = None


def reordered(
    old: Kernel, new: Kernel, instances: InstanceMap, *, rounding: bool
) -> Reordered | None:
    """Return a reduction that is added up in another order than before, or None.

    Parameters:
        old: the kernel before a step.
        new: the kernel after, which computes the same but for rounding.
        instances: which old instance each new one computes.
        rounding: whether it matters how results are rounded.
    """
    for insn in old.assignments:
        before = list(_sums(old, insn.id, rounding=rounding))
        after = list(_sums(new, insn.id, rounding=rounding))
        if not before:
            continue
        values = instances.of(insn.id)
        if len(before) != len(after):
            return Reordered(insn.id, before[0].reduction)
        for first, second in zip(before, after, strict=True):
            inames = frozenset(mentioned(first.inside, values, new.inames))
            if first.reduction.operation != second.reduction.operation or inames != second.inside:
                return Reordered(insn.id, first.reduction)
            bad = _disorder(first, second, values)
            if not bad.is_empty():
                changed = second.reduction.inames
                return Reordered(insn.id, first.reduction, changed, witness(bad))
    return None


@dataclass(frozen=True)
class _Sum:
    """A reduction whose order matters, in its place."""

    kernel: Kernel
    insn_id: str
    reduction: ex.Reduction
    around: frozenset[str]

    @property
    def inside(self) -> frozenset[str]:
        return self.around.union(self.reduction.inames)

    @property
    def loops(self) -> tuple[str, ...]:
        """Its inames that are loops, outermost first."""
        place = places(self.kernel).of[self.insn_id, self.inside]
        return tuple([str(p) for p in place if p in self.reduction.inames])


def _sums(kernel: Kernel, insn_id: str, *, rounding: bool) -> Iterator[_Sum]:
    """Yield the reductions of an instruction whose order matters, outermost first."""
    insn = kernel.instructions_by_id.get(insn_id)
    if insn is None:
        return
    if not rounding and all(facts_of(r.operation).regroups for r in insn.reductions):
        return

    def within(node: Expression, around: frozenset[str]) -> Iterator[_Sum]:
        if isinstance(node, ex.Reduction):
            regroups = facts_of(node.operation).regroups
            if not regroups or (rounding and not _is_exact(kernel, node)):
                yield _Sum(kernel, insn_id, node, around)
            around = around.union(node.inames)
        for part in walk.parts(node):
            yield from within(part, around)

    for node in insn.reads:
        yield from within(node, insn.within_inames)


def may_reorder(kernel: Kernel, reduction: ex.Reduction) -> bool:
    """Tell whether a step may change the order in which a reduction combines its values."""
    if not facts_of(reduction.operation).regroups:
        return False
    return kernel.options.allow_reassociation or _is_exact(kernel, reduction)


def _is_exact(kernel: Kernel, reduction: ex.Reduction) -> bool:
    """Tell whether a reduction is known to have the same value in any order."""
    facts = facts_of(reduction.operation)
    known = known_kinds(kernel)
    if not walk.free_variables(reduction) <= known.keys():
        return set(facts.operands) <= set(facts.exact)  # whatever its type is
    return reduction_types(reduction, known)[0].kind in facts.exact


def _disorder(before: _Sum, after: _Sum, values: Mapping[str, Expression]) -> isl.Set:
    """Return pairs of contributions of which the first may come first now, and did not before."""
    nothing = isl.Set("{ : 1 = 0 }")
    was, now = before.loops, after.loops
    if len(was) < len(before.reduction.inames):
        return nothing  # it had no order
    if was == now and values.keys().isdisjoint(before.inside):
        return nothing
    new = after.kernel
    domain = domain_of(new, after.inside).intersect(new.assumptions.flat)
    pairs = domain.intersect(renamed(domain, new.inames))
    pairs = reduce(isl.Set.intersect, map(equal, sorted(after.around)), pairs)
    unordered = [i for i in after.reduction.inames if i not in now]
    if unordered:
        pairs = reduce(isl.Set.intersect, map(equal, now), pairs)
        return reduce(isl.Set.union, [pairs.intersect(less(i)) for i in unordered])
    left = _lexicographic(pairs, now)
    for depth, loop in enumerate(was):
        earlier = [_compared(new, i, "==", values) for i in was[:depth]]
        earlier.append(_compared(new, loop, "<", values))
        left = left.subtract(reduce(isl.Set.intersect, earlier))
    return left


def _lexicographic(pairs: isl.Set, loops: tuple[str, ...]) -> isl.Set:
    """Return those of the pairs whose first comes first in these loops."""
    found = isl.Set("{ : 1 = 0 }")
    for depth, loop in enumerate(loops):
        first = reduce(isl.Set.intersect, map(equal, loops[:depth]), pairs)
        found = found.union(first.intersect(less(loop)))
    return found


def _compared(
    kernel: Kernel, iname: str, operator: str, values: Mapping[str, Expression]
) -> isl.Set:
    """Return the pairs of which the old values of an iname compare like this."""
    value = values.get(iname, ex.Variable(iname))
    condition = condition_set(ex.Comparison(value, operator, in_other(kernel, value)))
    if condition is None:
        raise InternalError(f"the old value of '{iname}' is not affine: {value!r}")
    return condition
