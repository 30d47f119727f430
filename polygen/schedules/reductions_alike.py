"""Lets reductions of one instruction run over one loop, where their loops have the same values.

y[i] = sum(j, a[i,j]*x[j])             y[i] = sum(j, a[i,j]*x[j])
     + sum(k, b[i,k]*x[k])        ->        + sum(j, b[i,j]*x[j])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations

from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents
from polygen.schedules.plan import Plan
from polygen.transforms.fusion.rename_iname import rename_iname


def reductions_alike(plan: Plan) -> None:
    """Give reductions that work items may share in one go the same loop."""
    for name in [insn.id for insn in plan.kernel.assignments]:
        insn = plan.kernel.assignment(name)  # loops of others may have been renamed
        for new, old in _pairs(plan.kernel, insn, plan.request.sizes):
            if {old, new} <= set(plan.kernel.inames):
                plan.take(
                    (name,),
                    f"one loop, '{new}', for the reductions over '{new}' and '{old}'",
                    "work items share them in one go",
                    partial(rename_iname, old_iname=old, new_iname=new, existing_ok=True),
                )


def _pairs(kernel: Kernel, insn: Assigning, sizes: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield loops of two reductions of an instruction that are expected to be equally long."""
    extents = Extents(kernel, sizes)
    loops = dict.fromkeys(r.inames[0] for r in insn.reductions if len(r.inames) == 1)
    for first, second in combinations(loops, 2):
        if extents.of(first) == extents.of(second):
            yield first, second
