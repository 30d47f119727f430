"""Schedules reductions on processors: products of matrices apart from all others."""

from __future__ import annotations

from functools import partial

from polygen.errors import NotAProduct
from polygen.schedules.nests import Extents
from polygen.schedules.plan import Plan
from polygen.tuning.optimize_reductions import optimize_reductions
from polygen.tuning.pack_product import pack_product

_LARGE = 96**3  # multiplications: in fewer, packing takes as long as it saves


def products_packed(plan: Plan) -> None:
    """Let large products of matrices be computed in tiles of packed operands."""
    for insn in plan.kernel.assignments:
        if not insn.reductions:
            continue
        extents = Extents(plan.kernel, plan.request.sizes)
        count = extents.instances(insn.within_inames | insn.reduction_inames)
        if count < _LARGE:
            continue
        try:
            pack_product(plan.kernel, insn.id)
        except NotAProduct:
            continue
        plan.take(
            [insn.id],
            "tiles in registers, of packed operands",
            f"each element is used again: {count:.2g} products",
            partial(pack_product, insn=insn.id),
        )


def sums_shared(plan: Plan) -> None:
    """Let threads and vectors share all other reductions."""
    request = plan.request
    reducing = [insn.id for insn in plan.kernel.assignments if insn.reductions]
    if reducing:
        plan.take(
            reducing,
            "reductions in threads and vectors",
            "along what lies side by side in memory",
            lambda knl: optimize_reductions(
                knl, request.limits, sizes=request.sizes, tune=request.tune
            ),
        )
