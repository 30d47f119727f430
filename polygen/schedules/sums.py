"""Schedules reductions on processors: products of matrices apart from all others."""

from __future__ import annotations

from functools import partial

from polygen.errors import NotAProduct, UserError
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents
from polygen.schedules.plan import Plan
from polygen.tuning.optimize_reductions import optimize_reductions
from polygen.tuning.order_sums import order_sums
from polygen.tuning.pack_product import pack_product

_LARGE = 96**3  # multiplications: in fewer, packing takes as long as it saves
_VECTORS = None, 32, 64  # bytes; None for what the machine has
_PACKINGS = "packed", "packed, vectors of 32 bytes", "packed, vectors of 64 bytes", "not packed"
_SHARINGS = "threads and vectors", "in the order of memory", "as they are"
_PACKED = "tiles in registers, of packed operands"


def products_packed(plan: Plan) -> None:
    """Let large products of matrices be computed in tiles of packed operands."""
    for name in _reducing(plan.kernel):
        insn = plan.kernel.expanded.instruction(name)
        extents = Extents(plan.kernel, plan.request.sizes)
        count = extents.instances(insn.within_inames | insn.reduction_inames)
        if count < _LARGE:
            continue
        try:
            packed = pack_product(plan.kernel, name)
            picked = plan.pick(f"product '{name}'", _PACKINGS, count)
            if picked == len(_PACKINGS) - 1:
                continue
            if picked:
                packed = pack_product(plan.kernel, name, vector_bytes=_VECTORS[picked])
        except NotAProduct:
            continue
        except UserError as error:
            plan.leave([name], _PACKED, error.what)
            continue
        why = f"each element is used again: {count:.2g} products"
        plan.take([name], _PACKED, why, partial(_instead, packed))


def _instead(packed: Kernel, _: Kernel) -> Kernel:
    return packed


def sums_shared(plan: Plan) -> None:
    """Let threads and vectors share all other reductions."""
    request = plan.request
    reducing = _reducing(plan.kernel)
    if not reducing:
        return
    extents = Extents(plan.kernel, plan.request.sizes)
    nests = [plan.kernel.expanded.instruction(name) for name in reducing]
    work = sum(extents.instances(i.within_inames | i.reduction_inames) for i in nests)
    picked = plan.pick(f"sums of {', '.join(reducing)}", _SHARINGS, work)
    if picked == 0:
        plan.take(
            reducing,
            "reductions in threads and vectors",
            "along what lies side by side in memory",
            lambda knl: optimize_reductions(knl, request.limits, sizes=request.sizes),
        )
    elif picked == 1:
        plan.take(reducing, _SHARINGS[1], "it was faster", order_sums)


def _reducing(kernel: Kernel) -> list[str]:
    """Return the ids of the instructions that reduce, also by rules."""
    own = kernel.instructions_by_id
    return [i.id for i in kernel.expanded.assignments if i.reductions and i.id in own]
