"""Scans: reductions that grow by one element from one iteration of the loops around to the next.

out[i] = sum(j, a[j])  over 0 <= j <= i    ->    acc_j = 0
                                                 acc_j = acc_j + a[i]      (within i)
                                                 out[i] = acc_j

The elements come in the order in which the reduction would have taken them: so every result is the
same, to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.domains import domain_of
from polygen.analysis.dataflow.read_sources import overlapping
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import set_condition
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.pairs.instance_pairs import conflict, equal, greater, less, renamed
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import flat_names, project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel


@dataclass(frozen=True)
class Scan:
    """The plan of a sequential scan: what an iteration passes on to the next.

    Attributes:
        sweep: the loops through which it is carried, outermost first.
        value: what the reduction's iname is at the element that is new.
        conditions: where there is a new element; none if there always is.
    """

    sweep: tuple[str, ...]
    value: Expression
    conditions: tuple[Expression, ...]


def find_scan(
    kernel: Kernel,
    around: frozenset[str],
    loops: tuple[str, ...],
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
    insn: Instruction | None = None,
) -> Scan | str:
    """Return how to carry a reduction through the innermost loops around it, or why not.

    Parameters:
        kernel: the kernel, with all its reductions.
        around: the inames of the loops and axes around the reduction.
        loops: those of them to carry it through, outermost first: the last ones of them.
        reduction: the reduction.
        conditions: those under which it is computed.
        insn: what it stands in, if it may take values that are written in these loops.
    """
    why_not = shape(kernel, reduction)
    if why_not is not None:
        return why_not
    for first in reversed(range(len(loops))):
        sweep = loops[first:]
        why_not = depends(kernel, sweep, reduction, conditions, insn)
        if why_not is not None:
            return why_not
        found = _carried(kernel, around, sweep, reduction.inames[0])
        if found is not None:
            return found
    return _NOT_ONE_MORE


_NOT_ONE_MORE = (
    "it is not so that each iteration of the innermost loops around it takes what the one before "
    "took, and then more"
)


def swept_if_inside(
    kernel: Kernel,
    around: frozenset[str],
    loops: tuple[str, ...],
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
) -> tuple[str, ...]:
    """Return the loops that would carry a reduction if they were inside of the others, or none.

    Parameters are those of `find_scan`.
    """
    names = names_of_bounds(kernel, reduction)
    inner = [iname for iname in loops if iname in names]
    outer = [iname for iname in loops if iname not in names]
    order = (*outer, *inner)
    if order == loops:
        return ()
    structure = loops_outside(kernel.copy(priorities=()))
    # The loop of another reduction is inside of those of the instruction.
    if not all(i in structure and structure[i].isdisjoint(inner) for i in outer):
        return ()
    found = find_scan(kernel, around, order, reduction, conditions)
    return () if isinstance(found, str) else found.sweep


def depends_on_loop(kernel: Kernel, around: frozenset[str], reduction: ex.Reduction) -> bool:
    """Tell whether how far a reduction runs depends on what is around it."""
    return not names_of_bounds(kernel, reduction).isdisjoint(around)


def names_of_bounds(kernel: Kernel, reduction: ex.Reduction) -> frozenset[str]:
    """Return the names that say how far a reduction runs."""
    homes = [kernel.home_domains[i] for i in reduction.inames]
    return frozenset(n for home in homes for n in (*home.inames, *home.parameters))


def shape(kernel: Kernel, reduction: ex.Reduction) -> str | None:
    """Return why no reduction of this form is a scan, or None."""
    if len(reduction.inames) > 1:
        return "it runs over several inames"
    if walk.reductions(reduction.operand):
        return "another reduction is inside of it"
    for insn in kernel.instructions:
        if not insn.within_inames.isdisjoint(reduction.inames):
            return f"instruction '{insn.id}' is in its loop, too"
    return None


def depends(
    kernel: Kernel,
    sweep: tuple[str, ...],
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
    insn: Instruction | None = None,
) -> str | None:
    """Return why what is reduced is not the same in all iterations of some loops, or None.

    Parameters:
        kernel: the kernel.
        sweep: the loops, outermost first; of the inner ones that is known.
        reduction: the reduction.
        conditions: those under which it is computed.
        insn: what it stands in, if it may take values that are written in these loops.
    """
    iname = sweep[0]
    operand = walk.free_variables(reduction.operand)
    if iname in operand:
        return f"what it reduces depends on '{iname}'"
    others = NO_NAMES.union(*map(walk.free_variables, conditions))
    if iname in others:
        return f"it is computed under a condition that depends on '{iname}'"
    bounds = domain_of(kernel, frozenset((*sweep, *reduction.inames)))
    others = others.union(flat_names(bounds))
    written = _written_within(kernel, iname)
    for name in sorted(operand | others):
        if name not in written:
            continue
        taken = insn if name not in others else None
        if taken is None or not is_settled(kernel, taken, sweep, reduction.inames[0], name):
            return (
                f"it depends on '{name}', which '{written[name]}' writes in the loop of '{iname}'"
            )
    return None


def is_settled(
    kernel: Kernel, insn: Instruction, sweep: tuple[str, ...], iname: str, name: str
) -> bool:
    """Tell whether elements that loops write are not written any more once they are taken.

    Parameters:
        kernel: the kernel.
        insn: what takes them, in a reduction.
        sweep: the loops, outermost first.
        iname: the reduction's.
        name: the array.
    """
    new = new_elements(kernel, insn.within_inames, sweep, iname)
    if new is None:
        return False
    reads = [a for a in touched(kernel, insn.id)[name] if not a.is_write and iname in a.inames]
    before = _all_before(kernel, insn)
    if not reads:
        return False
    for writer in kernel.instructions:
        if writer.within_inames.isdisjoint(sweep):
            continue
        own = touched(kernel, writer.id)
        found = [a for n in overlapping(kernel, name) for a in own.get(n, ()) if a.is_write]
        if not found:
            continue
        later = _later(insn, writer, sweep)
        if writer.id not in before or later is None:
            return False
        for read in reads:
            for write in found:
                pairs = conflict(kernel, read, write).pairs
                if not pairs.intersect(new).intersect(later).is_empty():
                    return False
    return True


def _all_before(kernel: Kernel, insn: Instruction) -> set[str]:
    """Return the ids of all that an instruction comes after where they share iterations."""
    found: set[str] = set()
    pending = list(insn.depends_on)
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += kernel.instruction(one).depends_on
    return found


def _later(insn: Instruction, writer: Instruction, sweep: tuple[str, ...]) -> isl.Set | None:
    """Return the pairs in which the writer is in a later iteration than what reads."""
    shared = [iname for iname in sweep if iname in writer.within_inames]
    if tuple(shared) != sweep[: len(shared)]:
        return None
    outer = (insn.within_inames & writer.within_inames).difference(sweep)
    pieces = [
        reduce(isl.Set.intersect, map(equal, (*outer, *shared[:depth])), less(iname))
        for depth, iname in enumerate(shared)
    ]
    return reduce(isl.Set.union, pieces)


def _written_within(kernel: Kernel, iname: str) -> dict[str, str]:
    """Return the variables that may change in the loop of an iname, each with a writer."""
    found: dict[str, str] = {}
    for insn in kernel.instructions:
        if iname in insn.within_inames:
            for name in map(ex.name_of, insn.assignees):
                found.update(dict.fromkeys(overlapping(kernel, name), insn.id))
    return found


def new_elements(
    kernel: Kernel, around: frozenset[str], sweep: tuple[str, ...], iname: str
) -> isl.Set | None:
    """Return what each iteration of some loops takes and none before it took.

    None, if an iteration does not take all that earlier ones took, or takes it in another order.
    """
    known = kernel.assumptions.flat
    taken = domain_of(kernel, around | {iname}).intersect(known)
    instances = domain_of(kernel, around).intersect(known)
    earlier = _earlier(sweep)
    before = project_out(renamed(taken, sweep).intersect(earlier), [i + OTHER for i in sweep])
    if not before.intersect(instances).is_subset(taken):
        return None
    new = taken.subtract(before).coalesce()
    both = new.intersect(renamed(new, (*sweep, iname))).intersect(earlier)
    if not both.intersect(less(iname)).is_empty():
        return None  # another order than that of the reduction
    return new


def _carried(
    kernel: Kernel, around: frozenset[str], sweep: tuple[str, ...], iname: str
) -> Scan | None:
    """Return how an iname grows by one value in each iteration of some loops, if it does."""
    new = new_elements(kernel, around, sweep, iname)
    return None if new is None else one_by_one(kernel, around, sweep, iname, new)


def one_by_one(
    kernel: Kernel, around: frozenset[str], sweep: tuple[str, ...], iname: str, new: isl.Set
) -> Scan | None:
    """Return how what is new grows by one value in each iteration, if it does."""
    value = _determined(new, iname)
    if value is None:
        return None
    instances = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    where = project_out(new, [iname]).gist(instances).coalesce()
    if where.plain_is_universe():
        return Scan(sweep, value, ())
    return Scan(sweep, value, (set_condition(where),))


def _earlier(sweep: tuple[str, ...]) -> isl.Set:
    """Return the pairs of iterations of which the second comes before the first."""
    pieces = [
        reduce(isl.Set.intersect, map(equal, sweep[:depth]), greater(iname))
        for depth, iname in enumerate(sweep)
    ]
    return reduce(isl.Set.union, pieces)


def _determined(points: isl.Set, iname: str) -> Expression | None:
    """Return what an iname is in terms of the others, if one equation says it."""
    for constraint in constraint_forms(points.affine_hull(), iname):
        form = constraint.form
        factor = form.terms.get(iname, 0)
        if constraint.is_equality and factor in (1, -1):
            rest = form - LinearForm(0, {iname: factor})
            if iname not in rest.names():
                return (rest * -factor).expression()
    return None
