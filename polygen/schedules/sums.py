"""Schedules reductions on processors: products of matrices apart from all others."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from math import prod

from polygen.errors import NotAProduct, PriorityIgnored, UserError
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.schedules.gathered_factors import with_gathered_factors
from polygen.schedules.nests import Extents, weight_of
from polygen.schedules.plan import Plan
from polygen.schedules.product_forms import as_product, may_be_product
from polygen.schedules.scans import scanned
from polygen.transforms.kernels.set_options import set_options
from polygen.tuning.blocked_sums import extent_of
from polygen.tuning.on_processors import shape_of
from polygen.tuning.optimize_reductions import shared_by_threads
from polygen.tuning.order_sums import order_sums
from polygen.tuning.pack_product import pack_product
from polygen.tuning.scattered import scattering
from polygen.tuning.sum_orders import orders_of

_LARGE = 32**3  # multiplications: in fewer, packing takes as long as it saves
_FILLED = 96**3  # multiplications: in fewer, tiles have to be full
_FILLS = 16  # rows, columns or terms: of fewer, tiles are empty for the most part
_VECTORS = None, 32, 64  # bytes; None for what the machine has
_PACKINGS = "packed", "packed, vectors of 32 bytes", "packed, vectors of 64 bytes", "not packed"
_SHARINGS = "threads and vectors", "in the order of memory", "as they are"
_SHARED = "reductions in threads and vectors"
_WORTH_IT = 100_000  # operations: fewer, and waking threads takes as long
_LONG = 64  # values: fewer are added up as fast one by one
_FEW = 16  # values: compilers write out that many iterations of a loop
_PACKED = "tiles in registers, of packed operands"


def products_packed(plan: Plan) -> None:
    """Let large products of matrices be computed in tiles of packed operands."""
    for name in _reducing(plan.kernel):
        insn = plan.kernel.expanded.instruction(name)
        extents = Extents(plan.kernel, plan.request.sizes)
        loops = insn.within_inames | insn.reduction_inames
        count = extents.instances(loops)
        if count < _LARGE or not may_be_product(insn):
            continue
        if count < _FILLED and min(map(extents.of, loops)) < _FILLS:
            continue
        try:
            packed = _packed(plan.kernel, name)
            picked = plan.pick(f"product '{name}'", _PACKINGS, count)
            if picked == len(_PACKINGS) - 1:
                continue
            if picked:
                packed = _packed(plan.kernel, name, _VECTORS[picked])
        except NotAProduct:
            continue
        except UserError as error:
            plan.leave([name], _PACKED, error.what)
            continue
        why = f"each element is used again: {count:.2g} products"
        plan.take([name], _PACKED, why, partial(_instead, packed))


def _packed(kernel: Kernel, name: str, vector_bytes: int | None = None) -> Kernel:
    """Return the kernel with a product of packed operands, gathered first if that is legal."""
    kernel, name = as_product(kernel, name)
    gathered = with_gathered_factors(kernel, name)
    try:
        return pack_product(gathered, name, vector_bytes=vector_bytes)
    except UserError:
        if gathered is kernel:
            raise
    return pack_product(kernel, name, vector_bytes=vector_bytes)


def _instead(packed: Kernel, _: Kernel) -> Kernel:
    return packed


def sums_shared(plan: Plan) -> None:
    """Let threads and vectors share all other reductions."""
    request = plan.request
    reducing = _reducing(plan.kernel)
    updating = [insn.id for insn in scattering(plan.kernel)] if request.units > 1 else []
    few = [name for name in reducing if _has_few_values(plan.kernel, name)]
    few += _rows_added(plan, [name for name in reducing if name not in few])
    reducing = [name for name in reducing if name in plan.kernel.instructions_by_id]
    ids = [name for name in [*reducing, *updating] if name not in few]
    work = _operations(plan, ids)
    if ids and work < _WORTH_IT:
        plan.leave(ids, _SHARED, f"there are {work} operations alone")
    elif ids:
        picked = plan.pick(f"sums of {', '.join(ids)}", _SHARINGS, work)
        if picked == 0:
            why = "along what lies side by side in memory"
            plan.take(ids, _SHARED, why, lambda knl: shared_by_threads(knl, request.sizes, few))
        elif picked == 1:
            plan.take(reducing, _SHARINGS[1], "it was faster", order_sums)
    _in_several_variables(plan)


def _rows_added(plan: Plan, names: Sequence[str]) -> list[str]:
    """Let products add rows to rows of results, if they would jump from row to row; return these.

    for k: c[i,j] += a[i,k]*b[k,j]      one factor lies along k, and the other one along j
    """
    plain = plan.kernel.expanded
    turned: list[str] = []
    for name in [name for name in names if _jumps_in_a_factor(plain, plain.instruction(name))]:
        why = "rows of a factor are added to a row of results"
        if plan.take([name], _SHARINGS[1], why, partial(_in_the_order_of_memory, name=name)):
            turned.append(name)
    return [*turned, *(i for i in _reducing(plan.kernel) if turned and i not in names)]


def _jumps_in_a_factor(kernel: Kernel, insn: Instruction) -> bool:
    """Tell whether a product that is no tile would go along one factor and across another."""
    if not may_be_product(insn) or shape_of(kernel, insn).is_across:
        return False
    orders = orders_of(kernel, insn)
    return bool(orders) and all(order.is_across for order in orders)


def _has_few_values(kernel: Kernel, name: str) -> bool:
    """Tell whether a reduction has so few values that compilers write out all of them.

    Then the loop around it is the innermost one, of which they make vectors.
    """
    insn = kernel.expanded.instruction(name)
    lengths = [extent_of(kernel.expanded, iname) for iname in insn.reduction_inames]
    known = [length for length in lengths if length is not None]
    return len(known) == len(lengths) and prod(known) <= _FEW


def _operations(plan: Plan, ids: Sequence[str]) -> int:
    """Return about how many operations some instructions take together."""
    extents, plain = Extents(plan.kernel, plan.request.sizes), plan.kernel.expanded
    insns = [plain.instruction(name) for name in ids]
    return sum(
        weight_of(insn) * extents.instances(insn.within_inames | insn.reduction_inames)
        for insn in insns
    )


def _in_several_variables(plan: Plan) -> None:
    """Let what is left as it is be added up in vectors, where loops are long."""
    options, extents = plan.kernel.options, Extents(plan.kernel, plan.request.sizes)
    insns = [plan.kernel.expanded.instruction(name) for name in _reducing(plan.kernel)]
    left = [
        insn.id
        for insn in insns
        if extents.instances(insn.reduction_inames) >= _LONG and not scanned(plan.kernel, insn)
    ]
    if left and options.allow_reassociation and not options.vectorize_sums:
        plan.take(
            left,
            "sums in vectors",
            "no addition waits for the one before",
            lambda knl: set_options(knl, vectorize_sums=True),
        )


def _reducing(kernel: Kernel) -> list[str]:
    """Return the ids of the instructions that reduce, also by rules."""
    own = kernel.instructions_by_id
    return [i.id for i in kernel.expanded.assignments if i.reductions and i.id in own]


def _in_the_order_of_memory(kernel: Kernel, *, name: str) -> Kernel:
    """Return the kernel with rows added to rows of results; as it is, if others are in their way.

    What else is in the loops of the results may keep these outside.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", PriorityIgnored)
        try:
            return order_sums(kernel, within=f"id:{name}")
        except PriorityIgnored:
            return kernel
