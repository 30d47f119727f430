"""Schedules scans on processors: parts, which threads share.

for i: b[i] = sum(j, a[j])       (j <= i)

One thread adds `a[i]` to what it had.  Several each need what comes before their part: they add up
parts first.  So each element is read twice, which several threads make up for.
"""

from __future__ import annotations

from functools import partial

from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents, Nest, is_mapped, nests_of
from polygen.schedules.plan import Plan
from polygen.transforms.parallel_reductions.split_scan import split_scan

_PART = 1 << 12  # iterations: what they read stays in a cache
_WORTH_IT = 1 << 17  # iterations: in fewer, waking threads takes as long
_SEVERAL = 3  # threads: two save nothing, for each element is read twice


def scans_in_parts(plan: Plan) -> None:
    """Divide long scans into parts, where several threads have nothing else to share."""
    if plan.request.units < _SEVERAL:
        return
    for nest in nests_of(plan.kernel):
        iname = nest.loops[0]
        if is_mapped(plan.kernel, nest) or plan.kernel.tags.get(iname) is not None:
            continue
        if _is_long(plan, nest, iname):
            plan.take(
                nest.ids,
                f"the scan along '{iname}' in parts of {_PART}",
                f"{plan.request.units} threads share the parts",
                partial(split_scan, iname=iname, length=_PART),
            )


def _is_long(plan: Plan, nest: Nest, iname: str) -> bool:
    is_scan = any(iname in scanned(plan.kernel, insn) for insn in nest.instructions)
    return is_scan and Extents(plan.kernel, plan.request.sizes).of(iname) >= _WORTH_IT


def scanned(kernel: Kernel, insn: Instruction) -> frozenset[str]:
    """Return the loops around an instruction along which a reduction of it goes on."""
    plain = kernel.expanded
    found = set[str]()
    for node in plain.instruction(insn.id).reductions:
        operand = walk.free_variables(node.operand)
        for iname in node.inames:
            home = plain.home_domains[iname]
            around = insn.within_inames.intersection((*home.inames, *home.parameters))
            if around and around.isdisjoint(operand):
                found |= around
    return frozenset(found)
