"""NumPy arrays that are to be copied to a device: whether they can be, and where copies lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, unit
from polygen.runtime.arrays.array_facts import ArrayInfo, describe, rounded_up
from polygen.runtime.arrays.array_library import NUMPY
from polygen.runtime.arrays.distinct_elements import check_distinct
from polygen.runtime.arrays.expression_values import value_of
from polygen.runtime.arrays.memory_overlap import check_apart, raise_read_only
from polygen.runtime.arrays.outputs import is_fully_written, must_be_passed, written_arrays
from polygen.runtime.calls.arguments import Form

_REMEDY = "pass a copy of one of them: on a device, NumPy arrays that overlap would not"


def check_hosts(form: Form, args: Mapping[str, Any]) -> list[tuple[GlobalArg, bool]]:
    """Check the NumPy arrays among the arguments of a call, all of which are to be copied.

    Returns:
        What they are passed for, and whether their elements are needed on the device.

    Raises:
        ReadOnlyOutput: if one that is written is read-only.
        OverlappingArguments: if one that is written overlaps another: copies would not.
    """
    kernel = form.kernel
    written = written_arrays(kernel)
    on_host = [arg for arg in form.arrays if form.libraries[arg.name] is NUMPY]
    for arg in on_host:
        value = args[arg.name]
        # What is wrong with an array is said before anything is copied.
        info = describe(arg, value, NUMPY)
        if arg.name in written:
            check_distinct(kernel, info)  # copies would be
            if not value.flags.writeable:
                raise_read_only(arg.name)
            for other in on_host:
                if other.name != arg.name:
                    check_apart(arg.name, value, other.name, args[other.name], _REMEDY)
    return [(arg, needs_elements(kernel, arg.name)) for arg in on_host]


def needs_elements(kernel: Kernel, name: str) -> bool:
    """Tell whether the elements that an array has before a call are needed on the device."""
    return must_be_passed(kernel, name) or not is_fully_written(kernel, name)


def copied_place(arg: GlobalArg, value: Any, args: Mapping[str, Any]) -> ArrayInfo:
    """Return where the elements of a copy of a NumPy array are to lie."""
    given = describe(arg, value, NUMPY)
    strides = given.strides
    if arg.dim_tags is None:
        step, row_major = 1, [0] * len(given.shape)
        for axis in reversed(range(len(given.shape))):
            row_major[axis] = step
            step *= given.shape[axis]
        strides = tuple(row_major)
    info = ArrayInfo(arg.name, given.dtype, given.shape, strides)
    offset = max(_offset(arg, args), rounded_up(-info.reach[0], unit(arg)))
    return ArrayInfo(arg.name, given.dtype, given.shape, strides, offset, unit(arg))


def _offset(arg: GlobalArg, args: Mapping[str, Any]) -> int:
    """Return the offset that is declared; 0 if what it depends on is found from the array."""
    if isinstance(arg.offset, Auto) or not walk.free_variables(arg.offset) <= args.keys():
        return 0
    return value_of(arg.offset, args)
