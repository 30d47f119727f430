"""Schedules kernels for grids of work items: GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.schedules.accumulations import accumulations_collected
from polygen.schedules.contracted_arrays import arrays_contracted
from polygen.schedules.dead_stores import dead_stores_dropped
from polygen.schedules.distributed_loops import loops_distributed
from polygen.schedules.fused_nests import nests_fused
from polygen.schedules.overlapped_tiles import time_in_overlapped_tiles
from polygen.schedules.plan import Plan
from polygen.schedules.products import products_in_tiles
from polygen.schedules.recomputed_arrays import arrays_recomputed
from polygen.schedules.reductions_alike import reductions_alike
from polygen.schedules.small_time_loops import small_time_loops
from polygen.schedules.stencils import stencils_in_registers
from polygen.schedules.streams import streams_at_once
from polygen.schedules.transpositions import transposed_in_tiles
from polygen.schedules.waves import in_waves
from polygen.schedules.work_items import nests_to_work_items
from polygen.tuning.launch_plan import with_launches
from polygen.tuning.model import Choice as Shape
from polygen.tuning.optimize_reductions import shared_reductions
from polygen.tuning.spread import spread
from polygen.tuning.substituted import substituted
from polygen.tuning.time_steps import with_time_steps

Stage: TypeAlias = Callable[[Plan], None]

_ITEMS = 256, 128, 512, 64  # of a group: the usual number first, and those to measure
_SHAPES = 8  # of groups: those that the model finds best, to measure


def reductions_shared(plan: Plan) -> None:
    """Let work items share reductions, and what is beside these."""
    request = plan.request
    reducing = [insn.id for insn in plan.kernel.assignments if insn.reductions]
    if reducing:
        plan.take(
            reducing,
            "groups of work items share reductions",
            "as many bytes are on their way as the bandwidth needs",
            lambda knl: shared_reductions(
                knl, request.limits, request.sizes, partial(_picked, plan=plan)
            ),
        )


def _picked(_: Kernel, ids: Sequence[str], best: Sequence[Shape], __: object, *, plan: Plan) -> int:
    """Return which shape of groups a plan takes for some reductions."""
    labels = [str(shape) for shape in best[:_SHAPES]]
    return plan.pick(f"groups that share {', '.join(ids)}", labels)


def values_substituted(plan: Plan) -> None:
    """Compute what is cheap where it is used."""
    if not _is_mapped(plan):
        plan.take(
            (),
            "temporaries are computed where they are used",
            "an array less is written and read, and a launch saved",
            lambda knl: substituted(knl, plan.request.sizes, with_scalars=False),
        )


def steps_of_time(plan: Plan) -> None:
    """Keep loops whose iterations need each other around the launches."""
    if _is_mapped(plan):
        return
    left = [insn for insn in plan.kernel.instructions if _is_left(plan, insn)]
    ids = [insn.id for insn in left if isinstance(insn, Assigning)]
    plan.take(
        ids,
        "loops of time stay around the launches",
        "an iteration needs the one before",
        lambda knl: with_time_steps(knl, ids),
    )


def loops_on_axes(plan: Plan) -> None:
    """Give the other loops to axes of the grid."""
    if _is_mapped(plan):
        return
    items = _ITEMS[plan.pick("work items of a group", list(map(str, _ITEMS)))]
    plan.take(
        [insn.id for insn in plan.kernel.instructions],
        "loops on axes of the grid",
        "neighbours in memory are work items side by side",
        lambda knl: spread(
            knl,
            plan.request.units,
            lambda names, why: plan.leave((), f"{names} on axes", why),
            threads=items,
        ),
    )


def launches_shared(plan: Plan) -> None:
    """Let nests whose groups have one shape share a launch."""
    if plan.has_own_launches:
        return
    plan.take(
        [insn.id for insn in plan.kernel.instructions],
        "launches for groups of one shape each",
        "work items of other shapes would idle",
        lambda knl: with_launches(knl, plan.request.sizes),
    )


STAGES: tuple[Stage, ...] = (
    dead_stores_dropped,  # what nothing reads
    accumulations_collected,  # loops that add to one element: sums
    loops_distributed,  # statements that are parallel, beside some that are not
    small_time_loops,  # steps of time in one group, where a launch would take longer than one
    time_in_overlapped_tiles,  # several steps of time in local memory, if that moves less
    nests_fused,  # nests side by side that share data, if their loops stay parallel
    arrays_contracted,  # temporaries that one iteration uses alone: scalars
    arrays_recomputed,  # those that are cheaper to compute again than to move
    products_in_tiles,  # contractions: tiles in registers
    reductions_alike,  # those of one statement over one loop
    reductions_shared,  # sums and what uses them, row by row
    nests_to_work_items,  # rows whose lengths are data, private values, loops of one item
    in_waves,  # where no loop is parallel: tiles, those of a wave at once
    values_substituted,  # element by element: where it is read
    steps_of_time,  # what comes one after the other
    transposed_in_tiles,  # rows of one array are columns of another
    stencils_in_registers,  # neighbours of one array
    streams_at_once,  # much memory, each element once
    loops_on_axes,  # what does not come one after the other
    launches_shared,  # what may be in one launch
)


def _is_mapped(plan: Plan) -> bool:
    """Tell whether an instruction that no stage is done with is on an axis."""
    kernel = plan.kernel
    used = NO_NAMES.union(*(i.within_inames for i in kernel.instructions if _is_left(plan, i)))
    return any(is_parallel(kernel.tags.get(iname)) for iname in used)


def _is_left(plan: Plan, insn: Instruction) -> bool:
    return insn.id not in plan.settled
