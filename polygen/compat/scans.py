"""Scans that are asked for: Loo.py's ``realize_reduction(knl, force_scan=True)``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polygen as pg
from polygen.analysis.order.reduction_statements import places
from polygen.errors import NotAScan
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.lower.carried_scans import order_of_scan, why_no_scan
from polygen.lower.group_scans import reductions_of
from polygen.source import caller_location


def as_scans(kernel: pg.Kernel, ids: Any, outer: str | None) -> pg.Kernel:
    """Return a kernel whose reductions code generation carries from one iteration to the next.

    Parameters:
        kernel: the kernel.
        ids: the instructions whose reductions these are; None for all, of which the option
            ``force_scan`` has code generation make sure.
        outer: the iname of the loop through which they are carried, if it is given.

    Raises:
        NotAScan: if one cannot be carried.
    """
    for insn in matching(kernel, ids):
        expanded = kernel.expanded.instruction(insn.id)
        for reduction, all_conditions in reductions_of(expanded).items():
            for conditions in all_conditions:
                kernel = _as_scan(kernel, insn.id, reduction, conditions, outer)
    if ids is not None:
        return kernel
    return kernel.copy(options=replace(kernel.options, force_scan=True))


def _as_scan(
    kernel: pg.Kernel,
    insn_id: str,
    reduction: ex.Reduction,
    conditions: tuple[Expression, ...],
    outer: str | None,
) -> pg.Kernel:
    """Return the kernel with the loops around a reduction in an order in which it is a scan."""
    plain = kernel.expanded
    insn = plain.instruction(insn_id)
    loops = [p for p in places(plain).of[insn_id, insn.within_inames] if isinstance(p, str)]
    if len(loops) < len(insn.within_inames):
        return kernel  # types and sizes decide how work items share it
    order = order_of_scan(plain, insn, reduction, outer)
    if len(loops) > 1 and order != tuple(loops):
        kernel = pg.prioritize_loops(kernel, order)
    plain = kernel.expanded
    why_not = why_no_scan(plain, plain.instruction(insn_id), reduction, conditions)
    if why_not is None:
        return kernel
    raise NotAScan(
        f"'{show_expression(reduction)}' in instruction '{insn_id}' is no scan: {why_not}",
        where=caller_location(),
        excerpt=excerpt(kernel, insn_id),
        remedy="change the bounds; or leave out force_scan=, and it is computed anew",
    )
