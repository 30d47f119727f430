"""Tells NVIDIA's OpenCL how many registers a work item may have."""

from __future__ import annotations

from math import prod
from typing import Any

from polygen.targets.programs.program import Program

PLATFORM = "NVIDIA CUDA"
_OPTION = "-cl-nv-maxrregcount="
_LEAST, _MOST, _STEP = 16, 255, 8  # registers of a work item; they are given out in steps


def register_options(device: Any, program: Program) -> tuple[str, ...]:
    """Return the option that leaves registers for as many groups as the kernel's options say.

    Parameters:
        device: pyopencl's.
        program: what is compiled.
    """
    options = program.loop_program.options
    given = any(option.startswith(_OPTION) for option in options.build_options)
    if not options.resident_groups or given or device.platform.name != PLATFORM:
        return ()
    items = max(prod(function.local_size) for function in program.launches)
    registers = device.registers_per_block_nv // (options.resident_groups * items)
    return (f"{_OPTION}{min(_MOST, max(_LEAST, registers // _STEP * _STEP))}",)
