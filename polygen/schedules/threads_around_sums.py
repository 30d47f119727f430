"""Gives loops around several sums to threads, before threads share the sums themselves.

for i                      # parallel: threads share it, and each adds up by itself
    s = sum(j, ...)
    m = max(j, ...)
    out[i] = s/m
"""

from __future__ import annotations

from polygen.schedules.nests import Extents, Nest, is_on_axes, nests_of
from polygen.schedules.plan import Plan
from polygen.schedules.threads import chosen_for_threads, share_loops

_EACH = 4  # iterations for each thread


def sums_in_threads(plan: Plan) -> None:
    """Let threads share loops in which there are sums beside other instructions."""
    if plan.request.units < 2:
        return
    extents = Extents(plan.kernel, plan.request.sizes)
    for nest in nests_of(plan.kernel):
        if is_on_axes(plan.kernel, nest) or not _adds_up_beside_others(nest):
            continue
        if nest.is_perfect and len(nest.loops) > 1:
            continue  # a plane of sums: threads share rows, and vectors the sums side by side
        chosen = chosen_for_threads(plan, nest, extents)
        if chosen is not None and extents.of(chosen) >= _EACH * plan.request.units:
            share_loops(plan, [(chosen, nest)])


def _adds_up_beside_others(nest: Nest) -> bool:
    reducing = [insn for insn in nest.instructions if insn.reductions]
    return bool(reducing) and len(nest.instructions) > 1
