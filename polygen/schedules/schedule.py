"""Schedules a whole kernel: the stages for its target, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import SupportsIndex, TypeAlias

from polygen.analysis.integers.proving import with_proofs
from polygen.errors import InvalidArgument, NoDevice, UserError
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.measured_device import caches_of_processor, threads_of_processor
from polygen.ir.choices import Choice
from polygen.ir.collection import without_collection
from polygen.ir.kernel import Kernel
from polygen.ir.target_facts import facts_of
from polygen.language.kernel_assembly import determined
from polygen.pipeline import Generated, generated, keep_code
from polygen.proof import without_suggestions
from polygen.recipes import replay
from polygen.runtime.devices import default_target
from polygen.schedules import grids, processors
from polygen.schedules.guessed_types import with_types
from polygen.schedules.plan import Plan, Request
from polygen.schedules.tuned import tuned
from polygen.source import caller_location
from polygen.transforms.loops.size_estimates import likely_sizes

Stage: TypeAlias = Callable[[Plan], None]

BUDGET = 10.0  # seconds
_ASSUMED = "H200"  # of GPUs, where there is none


def scheduled(
    kernel: Kernel,
    limits: Limits | None,
    sizes: Mapping[str, SupportsIndex],
    *,
    tune: bool,
    budget: float,
) -> Kernel:
    """Return a kernel as `polygen.optimize` does."""
    if not 0 < budget < inf:
        raise InvalidArgument(
            f"optimize was given budget={budget!r}, which is no time to measure in",
            where=caller_location(),
            remedy="pass a positive number of seconds: budget=30",
        )
    target = kernel.target or default_target()
    kernel = determined(kernel)
    typed = with_types(kernel.copy(target=target))
    request = request_for(typed, limits, sizes, tune=tune)
    with with_proofs():  # which steps are legal is found by trying them
        plan = tuned(typed, request, budget, planned) if tune else planned(typed, request)
        new = _of_the_same_types(kernel, plan, typed)
    if plan.code is not None:
        keep_code(new, plan.code)
    return new


@without_collection
def planned(typed: Kernel, request: Request) -> Plan:
    """Return the plan after all stages, for a kernel whose inputs have types."""
    plan = Plan(typed, request)
    stages: Sequence[Stage] = grids.STAGES if request.on_grid else processors.STAGES
    looked = _Looked()
    with without_suggestions():
        while stages:
            stages = _carried_out(plan, stages, looked)
    plan.code = looked.code(plan.kernel)
    return plan


def _carried_out(plan: Plan, stages: Sequence[Stage], looked: _Looked) -> Sequence[Stage]:
    """Carry out stages up to the first one that leaves no code; return those after it.

    Code is generated once, if all goes well: that takes longer than to choose.  Else the stage is
    found by bisection, and undone.

    Parameters:
        plan: the plan.
        stages: those that are left.
        looked: why there is no code, for kernels that were looked at.
    """
    at_first = _Snapshot(plan.kernel, tuple(plan.choices), frozenset(plan.settled))
    after: list[_Snapshot] = []
    for stage in stages:
        stage(plan)
        after.append(_Snapshot(plan.kernel, tuple(plan.choices), frozenset(plan.settled)))
    if plan.kernel is at_first.kernel or not looked.why_no_code(plan.kernel):
        return ()
    if looked.why_no_code(at_first.kernel):
        return ()  # there is none in any case
    good, bad = -1, len(after) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if looked.why_no_code(after[middle].kernel):
            bad = middle
        else:
            good = middle
    why = looked.why_no_code(after[bad].kernel)
    _undo(plan, after[good] if good >= 0 else at_first, after[bad], f"{why}")
    return stages[bad + 1 :]


@dataclass(frozen=True)
class _Snapshot:
    """A plan after a stage."""

    kernel: Kernel
    choices: tuple[Choice, ...]
    settled: frozenset[str]


class _Looked:
    """The code of kernels, or why there is none."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Kernel, Generated | str]] = {}  # by identity

    def why_no_code(self, kernel: Kernel) -> str | None:
        """Return why there is no code for a kernel; None if there is."""
        if id(kernel) not in self._found:
            self._found[id(kernel)] = kernel, _code_or_why_not(kernel)
        found = self._found[id(kernel)][1]
        return found if isinstance(found, str) else None

    def code(self, kernel: Kernel) -> Generated | None:
        """Return the code of a kernel, if there was a look at it."""
        _, found = self._found.get(id(kernel), (kernel, ""))
        return None if isinstance(found, str) else found


def _undo(plan: Plan, before: _Snapshot, after: _Snapshot, why: str) -> None:
    """Go back to where a plan was before a stage, and note what is not done."""
    plan.kernel = before.kernel
    plan.choices[:] = before.choices
    plan.settled = set(before.settled)
    for choice in after.choices[len(before.choices) :]:
        if choice.is_taken:
            plan.leave(choice.ids, choice.what, f"there would be no code: {why}")


def request_for(
    kernel: Kernel,
    limits: Limits | None,
    sizes: Mapping[str, SupportsIndex],
    *,
    tune: bool,
) -> Request:
    """Return what a schedule is made for."""
    on_grid = facts_of(kernel.target).has_grid
    given = {name: size.__index__() for name, size in sizes.items()}
    if limits is None:
        limits = _of_grid() if on_grid else _of_processor()
    units = limits.compute_units or (threads_of_processor() if not on_grid else 1)
    return Request(limits, units, likely_sizes(kernel) | given, on_grid, tune)


def _of_processor() -> Limits:
    near, shared = caches_of_processor()
    return Limits(2e10, 3e10, threads_of_processor(), local_bytes=near, cache_bytes=shared)


def _of_grid() -> Limits:
    try:
        return Limits.of_device()
    except NoDevice:
        return Limits.named(_ASSUMED)


def _code_or_why_not(kernel: Kernel) -> Generated | str:
    try:
        return generated(kernel)
    except UserError as error:
        return error.what


def _of_the_same_types(kernel: Kernel, plan: Plan, typed: Kernel) -> Kernel:
    """Return the kernel with the steps of a plan, for the types that were declared."""
    if plan.kernel is typed:
        new = kernel
    elif all(a == b for a, b in zip(kernel.arguments, typed.arguments, strict=True)):
        new = plan.kernel.copy(target=kernel.target)
    else:
        new = replay(kernel, plan.kernel.history[len(typed.history) :])
    return new.copy(choices=tuple(plan.choices))
