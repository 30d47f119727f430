"""Schedules kernels for grids of work items: GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.schedules.contracted_arrays import arrays_contracted
from polygen.schedules.dead_stores import dead_stores_dropped
from polygen.schedules.distributed_loops import loops_distributed
from polygen.schedules.fused_nests import nests_fused
from polygen.schedules.plan import Plan
from polygen.schedules.recomputed_arrays import arrays_recomputed
from polygen.tuning.launch_plan import with_launches
from polygen.tuning.optimize_reductions import optimize_reductions
from polygen.tuning.spread import spread
from polygen.tuning.substituted import substituted
from polygen.tuning.time_steps import with_time_steps

Stage: TypeAlias = Callable[[Plan], None]


def reductions_shared(plan: Plan) -> None:
    """Let work items share reductions, and what is beside these."""
    request = plan.request
    reducing = [insn.id for insn in plan.kernel.assignments if insn.reductions]
    if reducing:
        plan.take(
            reducing,
            "groups of work items share reductions",
            "as many bytes are on their way as the bandwidth needs",
            lambda knl: optimize_reductions(
                knl, request.limits, sizes=request.sizes, tune=request.tune
            ),
        )


def values_substituted(plan: Plan) -> None:
    """Compute what is cheap where it is used."""
    if not _is_mapped(plan.kernel):
        plan.take(
            (),
            "temporaries are computed where they are used",
            "an array less is written and read, and a launch saved",
            lambda knl: substituted(knl, plan.request.sizes, with_scalars=False),
        )


def steps_of_time(plan: Plan) -> None:
    """Keep loops whose iterations need each other around the launches."""
    if _is_mapped(plan.kernel):
        return
    ids = [insn.id for insn in plan.kernel.instructions if isinstance(insn, Assigning)]
    plan.take(
        ids,
        "loops of time stay around the launches",
        "an iteration needs the one before",
        lambda knl: with_time_steps(knl, ids),
    )


def loops_on_axes(plan: Plan) -> None:
    """Give the other loops to axes of the grid."""
    if _is_mapped(plan.kernel):
        return
    plan.take(
        [insn.id for insn in plan.kernel.instructions],
        "loops on axes of the grid",
        "neighbours in memory are work items side by side",
        lambda knl: spread(
            knl, plan.request.units, lambda names, why: plan.leave((), f"{names} on axes", why)
        ),
    )


def launches_shared(plan: Plan) -> None:
    """Let nests whose groups have one shape share a launch."""
    plan.take(
        [insn.id for insn in plan.kernel.instructions],
        "launches for groups of one shape each",
        "work items of other shapes would idle",
        lambda knl: with_launches(knl, plan.request.sizes),
    )


STAGES: tuple[Stage, ...] = (
    dead_stores_dropped,  # what nothing reads
    loops_distributed,  # statements that are parallel, beside some that are not
    nests_fused,  # nests side by side that share data, if their loops stay parallel
    arrays_contracted,  # temporaries that one iteration uses alone: scalars
    arrays_recomputed,  # those that are cheaper to compute again than to move
    reductions_shared,  # sums and what uses them, row by row
    values_substituted,  # element by element: where it is read
    steps_of_time,  # what comes one after the other
    loops_on_axes,  # what does not
    launches_shared,  # what may be in one launch
)


def _is_mapped(kernel: Kernel) -> bool:
    used = NO_NAMES.union(*(insn.within_inames for insn in kernel.instructions))
    return any(is_parallel(kernel.tags.get(iname)) for iname in used)
