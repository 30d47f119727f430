"""Loops that may be put on an axis of the hardware, as their own nest shows.

    for i: for j: a[i, j] = ...      whether i may be parallel, this nest says:
    for k: b[k] = a[k, 0]            a kernel of it alone is compared with itself, i on an axis

That step leaves all other nests as they are.  What they do comes before all of this one, or after
it, and that stays: if the nest is one loop still; or if its parts are in a row, what comes before
it comes before the first of them, and what comes after it after the last.  So the step can be
proved by the order of instances for the whole kernel if it can be for the nest.  The work for one
loop does not depend on how many nests there are.  Nor does that for a loop in others, which hold
more: nests in an iteration of these stand before and after each other in the same way.
"""

from __future__ import annotations

from collections.abc import Container

import islpy as isl

from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.dataflow.single_nests import nest_in_loops, single_nest, stands_as_before
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.rearrangement.legality import violation
from polygen.analysis.rearrangement.summation_order import reordered
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import Domain
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import HardwareTag

_SET = isl.dim_type.set


def is_plainly_parallel(kernel: Kernel, iname: str, tag: HardwareTag) -> bool:
    """Tell whether an iname may be put on an axis, as far as that shows in its nest alone.

    False says nothing: the whole kernel has to be looked at, or it is no loop.

    Parameters:
        kernel: the kernel.
        iname: an iname that is on no axis.
        tag: an axis that nothing is on.
    """
    inner = nest_in_loops(kernel, iname)
    if inner is not None and _shows_it(kernel, *inner, iname, tag):
        return True
    nest = single_nest(kernel, iname)
    return nest is not None and _shows_it(kernel, nest, 0, iname, tag)


def same_element_of(kernel: Kernel, iname: str, besides: Container[str] = ()) -> str | None:
    """Return an array of which each iteration writes the same elements; None if none shows it.

    Such a loop is on no axis: its iterations would write at once.  None says nothing.

    Parameters:
        kernel: the kernel.
        iname: a loop with more than one iteration.
        besides: arrays that are not looked at.
    """
    varying = _depending(kernel, iname)
    known = {*kernel.home_domains, *kernel.parameters}
    for insn in kernel.instructions:
        if iname not in insn.within_inames or not isinstance(insn, Assignment) or insn.atomicity:
            continue
        target = insn.assignee
        if not isinstance(target, ex.Subscript) or ex.name_of(target) in besides:
            continue
        if not _is_seen_by_all(kernel, ex.name_of(target)):
            continue
        chosen = NO_NAMES.union(*map(walk.free_variables, insn.predicates))
        used = NO_NAMES.union(*map(walk.free_variables, ex.index_tuple(target)))
        if used <= known and varying.isdisjoint(used | chosen) and chosen <= known:
            return ex.name_of(target)
    return None


def _is_seen_by_all(kernel: Kernel, name: str) -> bool:
    array = kernel.array(name)
    return not isinstance(array, TemporaryVariable) or array.address_space is AddressSpace.GLOBAL


def _depending(kernel: Kernel, iname: str) -> set[str]:
    """Return an iname, and those whose ranges it decides, with others, too."""
    found, size = {iname}, 0
    while len(found) > size:
        size = len(found)
        for domain in dict.fromkeys(kernel.home_domains.values()):
            if not found.isdisjoint(domain.parameters):
                found.update(domain.inames)
            if found.isdisjoint(domain.inames):
                continue
            found.update(*[names for names in _bounded_together(domain) if names & found])
    return found


def _bounded_together(domain: Domain) -> list[set[str]]:
    """Return the inames of each constraint of a domain."""
    places = list(enumerate(domain.inames))
    return [
        {name for place, name in places if constraint.involves_dims(_SET, place, 1)}
        for piece in domain.set.get_basic_sets()
        for constraint in piece.get_constraints()
    ]


def _shows_it(kernel: Kernel, nest: Kernel, depth: int, iname: str, tag: HardwareTag) -> bool:
    """Tell whether a nest shows that one of its inames may be put on an axis.

    Parameters:
        kernel: the kernel.
        nest: one of its nests, in the loops around it.
        depth: the number of these.
        iname: the iname.
        tag: the axis.
    """
    if iname in NO_NAMES.union(*(i.reduction_inames for i in nest.instructions)):
        return False
    tagged = nest.copy(tags={**nest.tags, iname: tag})
    if why_none_is_permitted(tagged) is not None or not _has_same_nests(nest, tagged, iname):
        return False
    if not stands_as_before(kernel, tagged, depth):
        return False
    if violation(nest, tagged, UNMOVED) is not None:
        return False
    rounding = not kernel.options.allow_reassociation
    return reordered(nest, tagged, UNMOVED, rounding=rounding) is None


def _has_same_nests(nest: Kernel, tagged: Kernel, iname: str) -> bool:
    """Tell whether the other loops have those outside of them that they had."""
    before, after = loops_outside(nest), loops_outside(tagged)
    return all(after.get(i) == before[i] - {iname} for i in before if i != iname)
