"""Checks, before a source is compiled, that an OpenCL device has the features it uses."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from polygen.errors import DeviceLacks
from polygen.lower.program import LoopProgram
from polygen.runtime.backends.opencl.opencl_driver import pyopencl
from polygen.source import caller_location
from polygen.targets.programs.program import Program

_WIDE = "cl_khr_fp64"
_FLOATS = "declare its arrays and scalars float32, and write numbers as in float32(0.1)"
_REGISTERS = "set_options(kernel, sub_group_size=0): sums are added up in local memory then"
_SIZES = "update numbers of 32 bits"
# For each extension: what it is, and what does without.
_KNOWN: Mapping[str, tuple[str, str]] = {
    _WIDE: ("numbers in double precision", _FLOATS),
    "cl_khr_int64_base_atomics": ("atomic updates of 64 bits", _SIZES),
    "cl_khr_int64_extended_atomics": ("atomic minima, maxima and bits of 64 bits", _SIZES),
    "cl_khr_subgroups": ("sub-groups of work items", _REGISTERS),
    "cl_khr_subgroup_shuffle": ("reads of other work items' registers", _REGISTERS),
}


def check_extensions(device: Any, program: Program) -> None:
    """Check that a device has what the text of a program uses.

    Parameters:
        device: pyopencl's.
        program: in OpenCL C.

    Raises:
        DeviceLacks: if it has not.
    """
    there = set(device.extensions.split())
    if _WIDE in program.extensions and device.double_fp_config:  # from OpenCL 1.2 on, no extension
        there.add(_WIDE)
    for name in sorted(program.extensions - there):
        what, remedy = _KNOWN[name]
        which = _of_double(program.loop_program) if name == _WIDE else ""
        raise DeviceLacks(
            f"device '{device.name}' has no {what} ({name}), which kernel "
            f"'{program.loop_program.name}' needs{which}",
            where=caller_location(),
            remedy=f"{remedy}; or run it on another device, as knl.executor('c') does",
        )


def _of_double(program: LoopProgram) -> str:
    """Return what in a program is in double precision, if a variable is."""
    for name, kind in program.dtypes.items():
        if isinstance(kind, np.dtype) and kind.name in ("float64", "complex128"):
            return f": '{name}' is of type {kind.name}"
    return ""


def check_sub_groups(device: Any, program: Program, kernel: Any, group: tuple[int, ...]) -> None:
    """Check that sub-groups of a device are as large as a program takes them to be, or multiples.

    A group that is one sub-group will do as well.

    Parameters:
        device: pyopencl's.
        program: in OpenCL C.
        kernel: one of its functions, as pyopencl has it.
        group: how many work items there are along each axis.

    Raises:
        DeviceLacks: if they are not.
    """
    if "cl_khr_subgroups" not in program.extensions:
        return
    asked = pyopencl().kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
    found = kernel.get_sub_group_info(device, asked, list(group))
    wanted = program.loop_program.options.sub_group_size
    if wanted and found % wanted and found < prod(group):
        raise DeviceLacks(
            f"device '{device.name}' has sub-groups of {found} work items in groups of {group}, "
            f"and kernel '{program.loop_program.name}' takes them to be of {wanted}",
            where=caller_location(),
            remedy=f"set_options(kernel, sub_group_size={found & -found})",
        )
