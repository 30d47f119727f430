"""Schedules a whole kernel: the stages for its target, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import SupportsIndex

from polygen.errors import InvalidArgument, NoDevice, UserError
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.measured_device import threads_of_processor
from polygen.ir.kernel import Kernel
from polygen.ir.target_facts import facts_of
from polygen.pipeline import generate_code
from polygen.recipes import replay
from polygen.runtime.devices import default_target
from polygen.schedules import grids, processors
from polygen.schedules.guessed_types import with_types
from polygen.schedules.plan import Plan, Request
from polygen.schedules.tuned import tuned
from polygen.source import caller_location
from polygen.transforms.loops.size_estimates import likely_sizes

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
    typed = with_types(kernel.copy(target=target))
    request = request_for(typed, limits, sizes, tune=tune)
    plan = tuned(typed, request, budget, _planned) if tune else _planned(typed, request)
    return _of_the_same_types(kernel, plan, typed)


def _planned(typed: Kernel, request: Request) -> Plan:
    """Return the plan after all stages, for a kernel whose inputs have types."""
    plan = Plan(typed, request)
    has_code = _has_code(typed)
    for stage in grids.STAGES if plan.request.on_grid else processors.STAGES:
        before, count = plan.kernel, len(plan.choices)
        stage(plan)
        if has_code and plan.kernel is not before and (why := _why_no_code(plan.kernel)):
            undone = [c for c in plan.choices[count:] if c.is_taken]
            del plan.choices[count:]
            plan.kernel = before
            for choice in undone:
                plan.leave(choice.ids, choice.what, f"there would be no code: {why}")
    return plan


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
        limits = _of_grid() if on_grid else Limits(2e10, 3e10, threads_of_processor())
    units = limits.compute_units or (threads_of_processor() if not on_grid else 1)
    return Request(limits, units, likely_sizes(kernel) | given, on_grid, tune)


def _of_grid() -> Limits:
    try:
        return Limits.of_device()
    except NoDevice:
        return Limits.named(_ASSUMED)


def _has_code(kernel: Kernel) -> bool:
    return _why_no_code(kernel) is None


def _why_no_code(kernel: Kernel) -> str | None:
    """Return why there is no code for a kernel; None if there is."""
    try:
        generate_code(kernel)
    except UserError as error:
        return error.what
    return None


def _of_the_same_types(kernel: Kernel, plan: Plan, typed: Kernel) -> Kernel:
    """Return the kernel with the steps of a plan, for the types that were declared."""
    if plan.kernel is typed:
        new = kernel
    elif all(a == b for a, b in zip(kernel.arguments, typed.arguments, strict=True)):
        new = plan.kernel.copy(target=kernel.target)
    else:
        new = replay(kernel, plan.kernel.history[len(typed.history) :])
    return new.copy(choices=tuple(plan.choices))
