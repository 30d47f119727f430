"""Collects loops that add to one element into sums, which later stages share and vectorise.

    for i: s[0] = s[0] + x[i]*y[i]      ->      s[0] = s[0] + sum(i, x[i]*y[i])

So do products, minima, maxima and bits.  What else is in the loop keeps it, where that is legal.
"""

from __future__ import annotations

from functools import partial

from polygen.analysis.order.instance_order import order_of
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.schedules.own_loops import with_own_loops
from polygen.schedules.plan import Plan
from polygen.transforms.reductions.collect_reduction import collect_reduction, is_accumulation


def accumulations_collected(plan: Plan) -> None:
    """Make reductions of loops that update one element in each of their iterations."""
    for insn_id in list(plan.kernel.instructions_by_id):
        while (iname := _next(plan.kernel, insn_id)) is not None:
            what = f"a reduction over '{iname}'"
            why = "its values may be combined in any order"
            make = partial(_collected, insn_id=insn_id, iname=iname)
            if not plan.take([insn_id], what, why, make):
                break


def _next(kernel: Kernel, insn_id: str) -> str | None:
    """Return the innermost loop of an instruction that accumulates; None if none does."""
    if kernel.expanded is not kernel or not isinstance(kernel.instruction(insn_id), Assignment):
        return None
    loops = order_of(kernel).loops(insn_id)
    return next((i for i in reversed(loops) if is_accumulation(kernel, insn_id, i)), None)


def _collected(kernel: Kernel, *, insn_id: str, iname: str) -> Kernel:
    kernel, names = with_own_loops(kernel, insn_id, [iname])
    return collect_reduction(kernel, insn_id, names[iname])
