"""Finds scans that the work items of a group share."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.analysis.access.outermost_reductions import Outermost
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.wellformed.array_bounds import are_inside
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of
from polygen.ir.tags import LocalTag
from polygen.lower.scans import Scan, depends_on_loop, find_scan
from polygen.transforms.parallel_reductions.local_reductions import LocalReduction, along


def scan_of(
    kernel: Kernel,
    insn: Instruction,
    around: frozenset[str],
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
) -> Scan | None:
    """Return how a reduction is carried on, by each work item or by a group, if it is a scan.

    Parameters:
        kernel: its types are known, and it has no rules.
        insn: the instruction that it stands in.
        around: the inames of the loops and axes around it.
        reduction: the reduction.
        conditions: those under which it is computed.
    """
    if not depends_on_loop(kernel, around, reduction):
        return None
    loops = tuple([p for p in places(kernel).of[insn.id, around] if isinstance(p, str)])
    found = find_scan(kernel, around, loops, reduction, conditions)
    if isinstance(found, Scan):
        return found
    if around != insn.within_inames or not kernel.options.allow_reassociation:
        return None
    shared = scan_of_group(kernel, insn, reduction, [conditions])
    return None if shared is None else shared.scan


@dataclass(frozen=True)
class GroupScan:
    """The plan of a shared scan: along an axis, and through the loops around it.

    Attributes:
        scan: how it is carried from one iteration to the next, and one work item to the next.
        local: how the group shares it.
        conditions: those under which work items take new elements.
    """

    scan: Scan
    local: LocalReduction
    conditions: tuple[Expression, ...]

    @property
    def loops(self) -> frozenset[str]:
        """The loops through which it is carried."""
        return frozenset(self.scan.sweep) - {self.local.iname}


def reductions_of(insn: Instruction) -> dict[ex.Reduction, list[tuple[Expression, ...]]]:
    """Return the outermost reductions, each with the conditions that it is computed under."""
    if not insn.reduction_inames or any(map(walk.reductions, insn.predicates)):
        return {}
    found = Outermost(lambda node: (ex.Variable(""),) * facts_of(node.operation).width)
    insn.map_expressions(found.replace)
    all_conditions: dict[ex.Reduction, list[tuple[Expression, ...]]] = {}
    for reduction, conditions in found.accumulators:
        all_conditions.setdefault(reduction, []).append((*insn.predicates, *conditions))
    return all_conditions


def scan_of_group(
    kernel: Kernel,
    insn: Instruction,
    reduction: ex.Reduction,
    conditions: list[tuple[Expression, ...]],
) -> GroupScan | None:
    """Return how a reduction is a scan that a group shares, if it is one.

    Under conditions that are the same in all iterations; or under none, if nothing is touched then
    that is not there.
    """
    around = insn.within_inames
    local = [i for i in kernel.inames if i in around and isinstance(kernel.tags.get(i), LocalTag)]
    associates = facts_of(reduction.operation).associates
    if not (local and associates and depends_on_loop(kernel, around, reduction)):
        return None
    loops = tuple([part for part in places(kernel).of[insn.id, around] if isinstance(part, str)])
    for when in [*conditions, ()] if len(conditions) == 1 else [()]:
        if isinstance(find_scan(kernel, around, loops, reduction, when), Scan):
            return None  # each work item has one of its own
        for iname in local:
            scan = find_scan(kernel, around, (*loops, iname), reduction, when, insn)
            if isinstance(scan, Scan) and (
                when in conditions or _is_there(kernel, insn, reduction, scan)
            ):
                return GroupScan(scan, along(kernel, insn, iname), when)
    return None


def _is_there(kernel: Kernel, insn: Instruction, reduction: ex.Reduction, scan: Scan) -> bool:
    """Tell whether what a scan takes up is inside of its arrays, whatever is asked elsewhere."""
    value = walk.substitute(reduction.operand, {reduction.inames[0]: scan.value})
    name = kernel.new_name(insn.id)
    taken = Assignment(name, ex.Variable(name), value, insn.within_inames, frozenset())
    return are_inside(kernel.copy(instructions=(taken.copy(predicates=scan.conditions),)))
