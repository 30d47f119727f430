"""The program of a function: its kernels are scheduled for sizes, and run by an executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from polygen.errors import UserError
from polygen.ir.choices import Choice
from polygen.ir.kernel import Kernel
from polygen.jitting.kept_schedules import kept_schedule
from polygen.jitting.placement import accelerator, choose_place
from polygen.jitting.step_bars import WaitingBars
from polygen.python.function_source import FunctionSource
from polygen.python.program import Program, ProgramOptions
from polygen.python.region_kernels import magnitudes_of
from polygen.runtime.calls.kept_programs import build_once
from polygen.runtime.executor import Executor
from polygen.runtime.resident_arrays import CopyCount
from polygen.schedules.optimize import optimize


def program_of(
    source: FunctionSource,
    target: str,
    *,
    strict: bool = False,
    deterministic: bool = False,
    copied: CopyCount,
    bars: WaitingBars | None = None,
    contracts: bool = False,
) -> Program:
    """Return the program of a function, of which each call makes what it needs.

    Parameters:
        source: the function.
        target: where kernels run; ``"auto"`` for C, or a GPU where a forecast says so.
        strict: whether statements that would stay Python are refused.
        deterministic: whether each run has to give the same bits.
        copied: gets the bytes that a call copies to a device and back.
        bars: show how far loops are; None to run these whole.
        contracts: whether arrays that nobody reads after a kernel are temporaries of it.
    """
    device = accelerator() if target == "auto" else None

    def run(kernel: Kernel) -> Callable[[dict[str, Any]], object]:
        found = _runner(kernel, kernel.target or target, copied)
        return found if bars is None else bars.noted(found)

    options = ProgramOptions(
        "c" if target == "auto" else target,
        strict,
        deterministic,
        _scheduled,
        run,
        None if target == "c" else copied,
        None if device is None else (device.target, partial(choose_place, device)),
        None if bars is None else bars.watch,
        contracts,
    )
    return Program(source, options)


def _scheduled(kernel: Kernel, sizes: Mapping[str, int]) -> Kernel:
    return kept_schedule(kernel, sizes, magnitudes_of(kernel, sizes), _optimized)


def _optimized(kernel: Kernel, sizes: Mapping[str, int]) -> Kernel:
    try:
        return optimize(kernel, sizes=sizes)
    except UserError as error:  # the kernel runs as it is, and `explain` says why
        left = Choice(tuple(kernel.instructions_by_id), "no schedule", error.what, is_taken=False)
        return kernel.copy(choices=(left,))


def _runner(kernel: Kernel, target: str, copied: CopyCount) -> Callable[[dict[str, Any]], object]:
    executor = Executor(kernel, target, build=build_once, copied=copied)

    def run(arguments: dict[str, Any]) -> object:
        return executor.run(None, None, arguments)

    return run
